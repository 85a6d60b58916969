"""The report in a real browser: it asks for nothing, fits a telephone, keeps nobody out, and shows its band."""

from pathlib import Path
from typing import Any

import pytest

from tests.report_page.conftest import HOSTILE, make_city
from vdr_spark.report_page import Contents, report_page

pytestmark = pytest.mark.browser


def write(folder: Path, **fields: object) -> str:
    path = folder / "report.html"
    path.write_text(report_page(Contents(make_city(**fields))))  # type: ignore[arg-type]
    return path.as_uri()


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_asks_for_nothing_and_fits(chromium: Any, tmp_path: Path, width: int, scheme: str) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    address = write(tmp_path, dataset=HOSTILE, region=HOSTILE)
    page.goto(address)
    assert [url for url in asked if not url.startswith("data:")] == [address]
    assert said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
    page.close()


def test_the_band_stays_on_the_screen(chromium: Any, tmp_path: Path) -> None:
    page = chromium.new_page(viewport={"width": 390, "height": 800})
    page.goto(write(tmp_path, protected=False))
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    page.wait_for_function("window.scrollY > 500")
    box = page.locator(".bands").bounding_box()
    assert box["y"] == 0
    assert box["width"] == 390
    assert page.locator(".bands").inner_text().startswith("UNPROTECTED")
    page.close()


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("protected", [True, False])
def test_axe_finds_nothing(chromium: Any, axe: str, tmp_path: Path, width: int, scheme: str, protected: bool) -> None:
    """The report forbids scripts, so that its policy is put aside for the one that looks."""
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(write(tmp_path, protected=protected))
    page.evaluate(axe)
    found = page.evaluate("axe.run()")["violations"]
    assert [(one["id"], one["impact"], [node["target"] for node in one["nodes"]][:4]) for one in found] == []
    context.close()


def test_all_of_it_is_printed(chromium: Any, tmp_path: Path) -> None:
    page = chromium.new_page()
    page.goto(write(tmp_path))
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.close()
