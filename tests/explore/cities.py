"""Small cities for the explorer, in memory and in tables, without Spark."""

from pathlib import Path

import numpy as np

from tests.release.hand_made import hand_made
from tests.release.published import withdraw, write_tables
from vdr_spark.explore.guard import Guard
from vdr_spark.explore.routes import Response, Site
from vdr_spark.explore.shelf import OneRelease, Shelf, shelf_of
from vdr_spark.grid import Box
from vdr_spark.release.read import read_release
from vdr_spark.release.release import Release

PORT, TOKEN = 4321, "a-token"
HEADERS = {"host": f"127.0.0.1:{PORT}"}
BOX = Box(29.6, -95.5, 29.8, -95.3)


def city(name: str = "a-city", slices: int = 16, side: int = 12, seed: int = 3, **fields: object) -> Release:
    """A release with a centre and a day's rhythm; counts are multiples of a quarter, as released ones are of less."""
    rng = np.random.default_rng(seed)
    y, x = np.indices((side, side)) / side
    rhythm = 1.2 + np.sin(np.arange(slices) / 4 * np.pi)
    counts = (
        400 * np.exp(-8 * np.hypot(y - 0.6, x - 0.4)) * rhythm[:, None, None] * rng.gamma(4, 0.25, (slices, side, side))
    )
    counts = np.round(4 * counts) / 4
    about = {"release_id": name, "statement": {"exact": {"timezone": "America/Chicago"}}, "box": BOX} | fields
    return hand_made(counts, about.pop("deviation", np.sqrt(counts + 2)), **about)  # type: ignore[arg-type]


def publish(folder: Path, *releases: Release, withdrawn: tuple[str, ...] = ()) -> str:
    """Write releases into tables, withdraw some, and return the folder."""
    write_tables(folder, *releases)
    for name in withdrawn:
        withdraw(folder, name)
    return str(folder)


def site(shelf: Shelf | Release, **fields: object) -> Site:
    shelf = OneRelease(shelf) if isinstance(shelf, Release) else shelf
    return Site(shelf, Guard(PORT, TOKEN), **fields)  # type: ignore[arg-type]


def site_of(folder: str, release_id: str, withdrawn_too: bool = False) -> Site:
    return site(shelf_of(read_release(folder, release_id, allow_withdrawn=withdrawn_too)))


def get(site: Site, path: str, **headers: str) -> Response:
    """Ask as the page does."""
    return site.respond("GET", f"/{TOKEN}/{path}", HEADERS | headers)
