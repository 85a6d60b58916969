"""The page in Chromium: `make browser-test`."""

from __future__ import annotations

import io
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from tests.explore.cities import city, publish
from tests.release.published import withdraw
from vdr_spark.explore.serve import Explorer
from vdr_spark.explore.shelf import shelf_of
from vdr_spark.grid import Box
from vdr_spark.query.wording import format_count
from vdr_spark.release.read import read_release
from vdr_spark.release.release import Release

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
AXE = ROOT / "explorer/node_modules/axe-core/axe.min.js"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
# No graphics card is needed: SwiftShader draws on the processor.
FLAGS = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"]
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
PATIENCE_SECONDS = 90  # the first forecast imports statsmodels; a busy machine takes its time
PAINTED = "html[data-painted=yes]"
OpenPage = Callable[..., Any]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.fail("playwright is missing; run `make browser-test`, which installs it")
    if CHROMIUM is None:
        pytest.fail("Chromium is missing; install it (Debian: apt-get install chromium), or name it: CHROMIUM=/path")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Any) -> Iterator[OpenPage]:
    """Opens a page in a window of its own; what went wrong in it fails the test."""
    contexts, wrong = [], []

    def open_it(address: str, size: dict[str, int] = WIDE, scheme: str = "light", wait: str | None = PAINTED) -> Any:
        context = chromium.new_context(viewport=size, color_scheme=scheme)
        context.set_default_timeout(PATIENCE_SECONDS * 1000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda problem: wrong.append(str(problem)))
        page.on("request", lambda request: _only_ours(request.url, wrong))
        page.on("console", lambda told: wrong.append(told.text) if "Content Security Policy" in told.text else None)
        page.goto(address)
        if wait:
            page.wait_for_selector(wait)
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert not wrong


def _only_ours(address: str, wrong: list[str]) -> None:
    if urlsplit(address).hostname not in ("127.0.0.1", None):
        wrong.append(f"asked {address}")


@contextmanager
def explorer_of(folder: str, release_id: str = "a-city", **options: Any) -> Iterator[Explorer]:
    release = read_release(folder, release_id, allow_withdrawn=options.pop("withdrawn_too", False))
    made = Explorer(shelf_of(release), **options)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return publish(tmp_path / "out", city())


@pytest.fixture
def explorer(folder: str) -> Iterator[Explorer]:
    with explorer_of(folder) as made:
        yield made


def drag(page: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag a box over the map, between shares of its width and height."""
    place = page.locator("#density").bounding_box()
    corners = [(place["x"] + x * place["width"], place["y"] + y * place["height"]) for x, y in (start, end)]
    page.mouse.move(*corners[0])
    page.mouse.down()
    page.mouse.move(*corners[1], steps=4)
    page.mouse.up()
    page.wait_for_selector("#box-now")


def until(page: Any, condition: str) -> None:
    """Wait for a condition; Playwright's own way of waiting is an `eval`, which the page's policy forbids."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, f"never: {condition}"
        page.wait_for_timeout(50)


def hash_of(page: Any) -> dict[str, str]:
    page.wait_for_timeout(300)  # the address is written a moment later
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).fragment).items()}


def library_says(release: Release, page: Any) -> str:
    """The answer about the box in the page's address, as the page should write it."""
    view = hash_of(page)
    number = int(view["t"])
    box = Box(*map(float, view["b"].split(",")))
    answer = release.range_count(box, release.grid.slice_start(number), release.grid.slice_start(number + 1))
    assert answer.deviation is not None
    return f"{format_count(answer.count)} ± {format_count(answer.deviation)} pings"


def box_says(page: Any) -> str:
    return str(page.locator("#box-now .number").inner_text())


def colours_of(page: Any) -> int:
    """How many colours the map has, of what is seen of it."""
    from PIL import Image

    picture = Image.open(io.BytesIO(page.locator("#density").screenshot())).convert("RGB")
    return len(np.unique(np.asarray(picture).reshape(-1, 3), axis=0))


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1440", "390"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_loads_and_shows_a_map(explorer: Explorer, open_page: OpenPage, size: dict[str, int], scheme: str) -> None:
    page = open_page(explorer.url, size, scheme)
    assert colours_of(page) > 100
    assert page.locator("#moment").inner_text().split("\n")[0] == "Mon 6 Jan 2020"  # of Chicago: 7 January in UTC
    assert "America/Chicago" in page.locator("#moment").inner_text()
    assert "pings in 3 h" in page.locator("#legend-title").inner_text().lower()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")  # nothing hangs out at the side


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


def test_keys_alone_are_enough(folder: str, explorer: Explorer, open_page: OpenPage) -> None:
    page, release = open_page(explorer.url), read_release(folder)
    page.focus("#density")
    for key in ("ArrowLeft", "ArrowUp", "b", *["Shift+ArrowRight"] * 3, *["Shift+ArrowDown"] * 3, "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector("#box-now")
    assert box_says(page) == library_says(release, page)
    assert page.locator("#said").inner_text().startswith("About ")  # what a screen reader says
    page.keyboard.press(".")
    page.wait_for_timeout(300)
    before = int(hash_of(page)["t"])
    page.keyboard.press(",")
    assert int(hash_of(page)["t"]) == before - 1


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


def test_one_slice_is_enough(tmp_path: Path, open_page: OpenPage) -> None:
    with explorer_of(publish(tmp_path, city(slices=1))) as explorer:
        page = open_page(explorer.url)
        assert page.locator("#play").is_disabled()
        drag(page, (0.35, 0.3), (0.52, 0.66))
        assert box_says(page) == library_says(read_release(str(tmp_path)), page)
        page.wait_for_selector("#chart svg circle")


def test_a_release_without_error_bars_is_shown(tmp_path: Path, open_page: OpenPage) -> None:
    with explorer_of(publish(tmp_path, city(deviation=None))) as explorer:
        page = open_page(explorer.url)
        assert page.locator("#view-error").is_disabled()
        drag(page, (0.35, 0.3), (0.52, 0.66))
        assert "±" not in box_says(page)


def test_two_regions(tmp_path: Path, open_page: OpenPage) -> None:
    there = Box(30.0, -96.0, 30.2, -95.8)
    folder = publish(tmp_path, city(region="north"), city("b-city", region="south", box=there, seed=8))
    with explorer_of(folder) as explorer:
        page = open_page(explorer.url)
        drag(page, (0.35, 0.3), (0.52, 0.66))
        page.select_option("#release", "b-city")
        until(page, "document.title.startsWith('b-city')")
        drag(page, (0.35, 0.3), (0.52, 0.66))
        assert 30.0 < float(hash_of(page)["b"].split(",")[0]) < 30.2
        assert box_says(page) == library_says(read_release(folder, "b-city"), page)
        page.click("#view-diff")
        assert page.locator("#other-release option").count() == 1  # what lies elsewhere cannot be subtracted


def test_two_releases_are_subtracted(tmp_path: Path, open_page: OpenPage) -> None:
    folder = publish(tmp_path, city(), city("b-city", seed=8))
    with explorer_of(folder) as explorer:
        page = open_page(explorer.url)
        drag(page, (0.35, 0.3), (0.52, 0.66))
        page.click("#view-diff")
        page.select_option("#other-release", "b-city")
        until(page, "document.getElementById('box-answer').innerText.includes('the other release')")


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1440", "390"])
def test_an_unprotected_release_has_a_red_band(tmp_path: Path, open_page: OpenPage, size: dict[str, int]) -> None:
    with explorer_of(publish(tmp_path, city(protected=False))) as explorer:
        page = open_page(explorer.url, size)
        band = page.locator("#bands .alarm")
        place = band.bounding_box()
        assert place["y"] == 0
        assert place["width"] >= size["width"] - 20
        assert place["height"] >= 40
        assert band.evaluate("band => getComputedStyle(band).backgroundColor") == "rgb(193, 18, 31)"
        assert "UNPROTECTED" in band.inner_text()
        assert page.title().startswith("UNPROTECTED")


def test_a_withdrawn_release_is_marked_for_a_steward(tmp_path: Path, open_page: OpenPage) -> None:
    folder = publish(tmp_path, city(), withdrawn=("a-city",))
    with explorer_of(folder, withdrawn_too=True) as explorer:
        page = open_page(explorer.url)
        assert page.locator("#bands .alarm").inner_text().startswith("WITHDRAWN on 2020-03-01")


def test_a_release_that_is_withdrawn_under_it_leaves_the_screen(tmp_path: Path, open_page: OpenPage) -> None:
    folder = publish(tmp_path, city(), city("b-city", seed=8))
    with explorer_of(folder) as explorer:
        page = open_page(explorer.url)
        drag(page, (0.35, 0.3), (0.52, 0.66))
        withdraw(tmp_path, "a-city")
        time.sleep(2.1)
        page.click("#forth")
        page.wait_for_selector("#message:has-text('was withdrawn')")
        assert page.locator("#box-now").count() == 0
        page.select_option("#release", "b-city")  # what is left can still be looked at
        page.wait_for_selector("#message", state="hidden")
        assert colours_of(page) > 100


def test_a_release_that_is_deleted_under_it_is_told(folder: str, explorer: Explorer, open_page: OpenPage) -> None:
    page = open_page(explorer.url)
    shutil.rmtree(folder)
    time.sleep(2.1)
    page.click("#play")
    page.wait_for_selector("#message:has-text('published')")


def test_a_server_that_was_ended_is_told(folder: str, open_page: OpenPage) -> None:
    with explorer_of(folder) as explorer:
        page = open_page(explorer.url)
    page.click("#tool-box")
    page.click("#copy-python")
    page.wait_for_selector("#notice:has-text('does not answer')")


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


def test_another_page_cannot_use_it(explorer: Explorer, open_page: OpenPage) -> None:
    stranger = open_page("data:text/html,<title>stranger</title>", wait=None)
    script = "address => fetch(address).then(() => 'read', () => 'refused')"
    assert stranger.evaluate(script, explorer.url + "api/meta") == "refused"


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1440", "390"])
def test_axe_finds_nothing_serious(tmp_path: Path, open_page: OpenPage, scheme: str, size: dict[str, int]) -> None:
    if not AXE.exists():
        pytest.fail("axe-core is missing; run `make browser-test`, which installs it")
    with explorer_of(publish(tmp_path, city(protected=False), city("b-city", seed=8))) as explorer:
        page = open_page(explorer.url, size, scheme)
        drag(page, (0.35, 0.3), (0.52, 0.66))
        page.wait_for_selector("#chart svg")
        place = page.locator("#density").bounding_box()
        page.mouse.click(place["x"] + 0.45 * place["width"], place["y"] + 0.5 * place["height"])
        page.wait_for_selector("#hot-answer meter")
        page.click("#view-diff")
        page.click("#copy-sql")
        page.click("#chart summary")
        page.click("#about summary")
        page.evaluate(AXE.read_text())
        found = page.evaluate("axe.run()")["violations"]
        told = [(one["id"], one["impact"], [node["target"] for node in one["nodes"]][:4]) for one in found]
        assert [one for one in told if one[1] in ("serious", "critical")] == []
