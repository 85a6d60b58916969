"""What tests do with the explorer's page, and what the library would say of what is on screen."""

from __future__ import annotations

import io
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from vdr_spark.explore.serve import Explorer
from vdr_spark.explore.shelf import shelf_of
from vdr_spark.grid import Box
from vdr_spark.query.wording import format_count
from vdr_spark.release.read import read_release
from vdr_spark.release.release import Release

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
FRAME = {"width": 940, "height": 720}  # in a cell of a notebook
PATIENCE_SECONDS = 90  # the first forecast imports statsmodels; a busy machine takes its time
PAINTED = "html[data-painted=yes]"
OpenPage = Callable[..., Any]


@contextmanager
def explorer_of(folder: str, release_id: str = "a-city", **options: Any) -> Iterator[Explorer]:
    release = read_release(folder, release_id, allow_withdrawn=options.pop("withdrawn_too", False))
    made = Explorer(shelf_of(release), **options)
    try:
        yield made
    finally:
        made.close()


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
