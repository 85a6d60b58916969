"""What is on screen as lines to copy: Python that asks the library, SQL that asks the release's functions."""

from __future__ import annotations

from vdr_spark.errors import InvalidQuery
from vdr_spark.explore.answers import local
from vdr_spark.grid import Box
from vdr_spark.release.release import Release

Lines = dict[str, str]


def show_slice(release: Release, number: int) -> Lines:
    """Return lines that give the cells of a slice."""
    return {
        "python": f"{_open(release)}\npart = (slice({number}, {number + 1}), slice(None), slice(None))\n"
        "counts, deviations = release.part(part)",
        "sql": f"{_setup(release)}\nSELECT y, x, lat, lon, count, deviation FROM release_cells WHERE slice = {number};",
    }


def show_box(release: Release, box: Box, number: int) -> Lines:
    """Return lines that count the pings of a box in a slice."""
    start, end = (local(release, slice_).isoformat() for slice_ in (number, number + 1))
    edges = f"{box.south!r}, {box.west!r}, {box.north!r}, {box.east!r}"
    return {
        "python": (
            f"from datetime import datetime\n\n{_open(release, 'Box, read_release')}\nbox = Box({edges})\n"
            f'start, end = datetime.fromisoformat("{start}"), datetime.fromisoformat("{end}")\n'
            "print(release.range_count(box, start, end))"
        ),
        "sql": (
            f"{_setup(release)}\nSELECT * FROM range_count({edges},\n"
            f"  TIMESTAMPTZ '{start.replace('T', ' ')}', TIMESTAMPTZ '{end.replace('T', ' ')}');"
        ),
    }


def show_hotspot(release: Release, lat: float, lon: float, number: int, density: float) -> Lines:
    """Return lines that look for the nearest hot spot of a density."""
    order = f"abs(slice - {number}), power(lat - ({lat!r}), 2) + power(lon - ({lon!r}), 2)"
    return {
        "python": f"{_open(release)}\nprint(release.nearest_dense_hotspot({lat!r}, {lon!r}, {number}, {density!r}))",
        "sql": f"{_setup(release)}\n-- By the released count; the page and Python choose by probability.\n"
        f"SELECT * FROM hotspots({density!r}) ORDER BY {order} LIMIT 1;",
    }


def _open(release: Release, names: str = "read_release") -> str:
    if release.output is None or release.tables is not None:
        return f"# `release` is {release.release_id}, as you have it in Python"
    return f'from vdr_spark import {names}\n\nrelease = read_release({release.output!r}, "{release.release_id}")'


def _setup(release: Release) -> str:
    where = f'{release.output!r}, "{release.release_id}"' if release.output and release.tables is None else "..."
    return f"-- DuckDB, after register_duckdb(connection, {where}); for other engines: vdr sql show CONF"


def refuse_mixed(has_box: bool, has_place: bool) -> None:
    """Refuse lines for a box and a place at once."""
    if has_box and has_place:
        raise InvalidQuery("parameters must name a box or a place, not both; leave one out")
