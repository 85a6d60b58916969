"""Odd releases: one slice, no error bars, two regions, unprotected, withdrawn or deleted under the page."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from tests.browser.explorer_page import (
    NARROW,
    WIDE,
    OpenPage,
    box_says,
    colours_of,
    drag,
    explorer_of,
    hash_of,
    library_says,
    until,
)
from tests.explore.cities import city, publish
from tests.release.published import withdraw
from vdr_spark.explore.serve import Explorer
from vdr_spark.grid import Box
from vdr_spark.release.read import read_release

pytestmark = pytest.mark.browser


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
