"""Chromium, and the explorer's page and the report in it: `make browser-test`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.browser.explorer_page import CHROMIUM, PAINTED, PATIENCE_SECONDS, WIDE, OpenPage, explorer_of
from tests.explore.cities import city, publish
from vdr_spark.explore.serve import Explorer

AXE = Path(__file__).parents[2] / "explorer/node_modules/axe-core/axe.min.js"
# No graphics card is needed: SwiftShader draws on the processor.
FLAGS = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Debian's browser, or the one that is named, by Playwright."""
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


@pytest.fixture(scope="session")
def axe() -> str:
    """The script that looks for what keeps people out; run by `axe.run()`."""
    if not AXE.exists():
        pytest.fail("axe-core is missing; run `make browser-test`, which installs it")
    return AXE.read_text()


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


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return publish(tmp_path / "out", city())


@pytest.fixture
def explorer(folder: str) -> Iterator[Explorer]:
    with explorer_of(folder) as made:
        yield made
