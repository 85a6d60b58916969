"""Boxes and hot spots on the page beside the answers of the library; what is copied."""

from __future__ import annotations

import json
from contextlib import closing

import numpy as np
import pytest

from tests.browser.explorer_page import NARROW, OpenPage, box_says, drag, hash_of, library_says, until
from tests.explore.cities import BOX
from tests.release.hand_made import hand_made
from vdr_spark.explore.serve import Explorer
from vdr_spark.explore.shelf import shelf_of
from vdr_spark.grid import Box
from vdr_spark.query.wording import format_count
from vdr_spark.release.read import read_release

pytestmark = pytest.mark.browser


def test_a_dragged_box_says_what_the_library_says(folder: str, explorer: Explorer, open_page: OpenPage) -> None:
    page, release = open_page(explorer.url), read_release(folder)
    drag(page, (0.35, 0.3), (0.52, 0.66))
    assert box_says(page) == library_says(release, page)
    page.wait_for_selector("#chart svg")
    whole = release.range_count(Box(*map(float, hash_of(page)["b"].split(","))))
    assert format_count(whole.count) in page.locator("#box-answer").inner_text()
    before = box_says(page)
    page.click("#forth")
    until(page, f"document.querySelector('#box-now .number').innerText !== {json.dumps(before)}")
    assert box_says(page) == library_says(release, page)


def test_edges_can_be_typed_and_bad_ones_are_told(folder: str, explorer: Explorer, open_page: OpenPage) -> None:
    page, release = open_page(explorer.url), read_release(folder)
    page.click("#box-card summary >> text=Edges")
    for name, value in (("south", "29.65"), ("west", "-95.45"), ("north", "29.75"), ("east", "-95.35")):
        page.fill(f"#edges [name={name}]", value)
    page.click("#edges button")
    page.wait_for_selector("#box-now")
    assert box_says(page) == library_says(release, page)
    page.fill("#edges [name=north]", "45")
    page.click("#edges button")
    page.wait_for_selector("#notice:has-text('north must lie inside')")


def test_a_click_finds_the_nearest_hot_spot(folder: str, explorer: Explorer, open_page: OpenPage) -> None:
    page, release = open_page(explorer.url), read_release(folder)
    place = page.locator("#density").bounding_box()
    page.mouse.click(place["x"] + 0.45 * place["width"], place["y"] + 0.5 * place["height"])
    page.wait_for_selector("#hot-answer meter")
    view = hash_of(page)
    lat, lon = map(float, view["p"].split(","))
    answer = release.nearest_dense_hotspot(lat, lon, int(view["t"]), float(view["d"]))
    assert answer.probability is not None
    said = page.locator("#hot-answer").inner_text()
    assert f"{100 * answer.probability:.0f} % likely" in said
    assert f"{answer.lat:.5f}, {answer.lon:.5f}" in said


def test_an_unlikely_hot_spot_says_so_beside_one_of_even_odds(open_page: OpenPage) -> None:
    counts = np.full((6, 12, 12), 60.0)
    counts[5, 6, 8] = 150
    release = hand_made(counts, np.where(counts > 100, 10.0, 40.0), box=BOX)
    lat, lon = release.grid.latitudes()[6], release.grid.longitudes()[6]
    with closing(Explorer(shelf_of(release))) as explorer:
        page = open_page(f"{explorer.url}#t=0&p={lat:.6f},{lon:.6f}&d=120")
        page.wait_for_selector("#hot-answer h3")
        said = page.locator("#hot-answer").inner_text()
        assert "a guess" in said
        assert "Perhaps nearer, less likely than not" in said
        assert said.index("150") < said.index("a guess")  # a place to go to stands first
        assert page.locator("#overlay .guess").count() == 1
        assert page.locator("#overlay .hot:not(.guess)").count() == 1
        page.click("#hot-answer >> text=Go there")
        until(page, "document.getElementById('slider').value !== '0'")


def test_a_link_brings_the_view_back(folder: str, explorer: Explorer, open_page: OpenPage) -> None:
    page, release = open_page(explorer.url), read_release(folder)
    page.click("#forth")
    page.click("#view-error")
    page.select_option("#factor", "2")
    page.click("#zoom-in")
    drag(page, (0.4, 0.4), (0.6, 0.6))
    page.click("#copy-link")
    link = page.locator("#copied").input_value()
    again = open_page(link)
    again.wait_for_selector("#box-now")
    assert hash_of(again) == hash_of(page)
    assert box_says(again) == box_says(page) == library_says(release, again)
    assert again.locator("#view-error").get_attribute("aria-pressed") == "true"


def test_python_to_copy_runs(explorer: Explorer, open_page: OpenPage, capsys: pytest.CaptureFixture[str]) -> None:
    page = open_page(explorer.url)
    drag(page, (0.35, 0.3), (0.52, 0.66))
    page.click("#copy-python")
    until(page, "document.getElementById('copied').value.includes('range_count')")
    exec(page.locator("#copied").input_value(), {})
    assert box_says(page).split(" ")[0] in capsys.readouterr().out


def test_two_windows_at_once(folder: str, explorer: Explorer, open_page: OpenPage) -> None:
    release = read_release(folder)
    pages = [open_page(explorer.url), open_page(explorer.url, NARROW)]
    for page in pages:
        page.click("#play")
    for page, corner in zip(pages, (0.6, 0.7), strict=True):
        drag(page, (0.35, 0.3), (0.5, corner))
    for page in pages:
        page.wait_for_timeout(500)
        assert box_says(page) == library_says(release, page)
    assert hash_of(pages[0])["b"] != hash_of(pages[1])["b"]
