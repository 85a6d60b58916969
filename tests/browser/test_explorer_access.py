"""By keys alone, by a screen reader, and by nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.explorer_page import NARROW, WIDE, OpenPage, box_says, drag, explorer_of, hash_of, library_says
from tests.explore.cities import city, publish
from vdr_spark.explore.serve import Explorer
from vdr_spark.release.read import read_release

pytestmark = pytest.mark.browser


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1440", "390"])
def test_axe_finds_nothing_serious(
    tmp_path: Path, open_page: OpenPage, axe: str, scheme: str, size: dict[str, int]
) -> None:
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
        page.evaluate(axe)
        found = page.evaluate("axe.run()")["violations"]
        told = [(one["id"], one["impact"], [node["target"] for node in one["nodes"]][:4]) for one in found]
        assert [one for one in told if one[1] in ("serious", "critical")] == []


def test_another_page_cannot_use_it(explorer: Explorer, open_page: OpenPage) -> None:
    stranger = open_page("data:text/html,<title>stranger</title>", wait=None)
    script = "address => fetch(address).then(() => 'read', () => 'refused')"
    assert stranger.evaluate(script, explorer.url + "api/meta") == "refused"
