"""What the map shows: counts, errors, differences, a film, a backdrop."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.browser.explorer_page import FRAME, NARROW, WIDE, OpenPage, colours_of, drag, explorer_of, hash_of, until
from tests.explore.cities import city, publish
from vdr_spark.explore.serve import Explorer
from vdr_spark.grid import Box
from vdr_spark.query.wording import format_count
from vdr_spark.release.read import read_release

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("size", [WIDE, FRAME, NARROW], ids=["1440", "940", "390"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_loads_and_shows_a_map(explorer: Explorer, open_page: OpenPage, size: dict[str, int], scheme: str) -> None:
    page = open_page(explorer.url, size, scheme)
    assert colours_of(page) > 100
    assert page.locator("#moment").inner_text().split("\n")[0] == "Mon 6 Jan 2020"  # of Chicago: 7 January in UTC
    assert "America/Chicago" in page.locator("#moment").inner_text()
    assert "pings in 3 h" in page.locator("#legend-title").inner_text().lower()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")  # nothing hangs out at the side
    assert page.locator("#slider").bounding_box()["width"] >= 250  # wide enough to drag


def test_it_plays_and_stops(explorer: Explorer, open_page: OpenPage) -> None:
    page = open_page(explorer.url)
    first = page.locator("#slider").input_value()
    page.select_option("#speed", "8")
    page.click("#play")
    until(page, f"document.getElementById('slider').value !== '{first}'")
    until(page, "Number(document.getElementById('slider').value) >= 5")
    page.click("#play")
    stopped = page.locator("#slider").input_value()
    page.wait_for_timeout(500)
    assert page.locator("#slider").input_value() == stopped


def test_a_difference_between_two_times(folder: str, explorer: Explorer, open_page: OpenPage) -> None:
    page, release = open_page(explorer.url), read_release(folder)
    drag(page, (0.35, 0.3), (0.52, 0.66))
    page.click("#view-diff")
    page.select_option("#other-slice", "1")
    until(page, "document.getElementById('box-answer').innerText.includes('difference')")
    page.wait_for_timeout(500)
    view = hash_of(page)
    box, number = Box(*map(float, view["b"].split(","))), int(view["t"])
    counts = [
        release.range_count(box, release.grid.slice_start(t), release.grid.slice_start(t + 1)).count
        for t in (number, 1)
    ]
    change = counts[0] - counts[1]
    assert ("+" if change > 0 else "") + format_count(change) in page.locator("#box-answer").inner_text()


def test_relative_error_looks_otherwise(explorer: Explorer, open_page: OpenPage) -> None:
    page = open_page(explorer.url)
    before = page.locator("#density").screenshot()
    page.keyboard.press("2")
    until(page, "document.getElementById('legend-title').innerText.includes('share of the count')")
    page.wait_for_timeout(500)
    assert page.locator("#density").screenshot() != before


def test_two_releases_are_subtracted(tmp_path: Path, open_page: OpenPage) -> None:
    folder = publish(tmp_path, city(), city("b-city", seed=8))
    with explorer_of(folder) as explorer:
        page = open_page(explorer.url)
        drag(page, (0.35, 0.3), (0.52, 0.66))
        page.click("#view-diff")
        page.select_option("#other-release", "b-city")
        until(page, "document.getElementById('box-answer').innerText.includes('the other release')")


def test_a_backdrop_is_drawn(folder: str, tmp_path: Path, open_page: OpenPage) -> None:
    line = {"type": "LineString", "coordinates": [[-95.5, 29.6], [-95.3, 29.8]]}
    (tmp_path / "coast.geojson").write_text(json.dumps(line))
    with explorer_of(folder) as plain, explorer_of(folder, backdrop=tmp_path / "coast.geojson") as with_line:
        pictures = []
        for explorer in (plain, with_line):
            page = open_page(explorer.url)
            page.wait_for_timeout(500)
            pictures.append(page.locator("#density").screenshot())
        assert pictures[0] != pictures[1]
