"""What the page is told, as JSON: the release, and the library's own answers about it, to the digit."""

from __future__ import annotations

import math
from dataclasses import asdict
from datetime import datetime
from typing import Any

import numpy as np

from vdr_spark.arrays import Floats
from vdr_spark.errors import InvalidQuery
from vdr_spark.explore.payload import factors
from vdr_spark.explore.shelf import Entry
from vdr_spark.grid import Box
from vdr_spark.query.coverage import cover_box
from vdr_spark.query.dense_hotspot import EXTENT_M, DenseHotspot
from vdr_spark.query.range_count import RangeCount
from vdr_spark.query.series import box_deviation
from vdr_spark.query.wording import format_count, format_length, format_moment
from vdr_spark.release.release import Release

Json = dict[str, Any]

MOST_CELLS = 100_000_000  # of one question: seconds, not minutes
MOST_HORIZON = 200  # slices ahead
EVEN = 0.5  # from which on a cell is likelier than not to hold a density
LEAST_DENSITY, MOST_DENSITY = 1.0, 1e12
_BRIGHT_PERCENTILE = 99.95  # what the colour scale reaches up to
_HOT_PERCENTILE = 99.5  # what a hot spot has at least, until a person says otherwise
_SCALE_FROM = 4  # every so many rows and columns are enough to choose a colour scale by


def describe(release: Release, entries: list[Entry], backdrop: bool) -> Json:
    """Return what a page has to know before it shows anything."""
    return {
        "release": _facts(release),
        "grid": _grid(release),
        "scale": _scale(release),
        "releases": [_listed(entry, release, entries) for entry in entries],
        "backdrop": backdrop,
        "first": first_slice(release),
    }


def _facts(release: Release) -> Json:
    withdrawal = release.withdrawal
    return {
        "id": release.release_id,
        "region": release.region or "",
        "dataset": release.dataset,
        "created": format_moment(release.created, release.zone),
        "model": release.model,
        "protected": release.protected,
        "withdrawn": None if withdrawal is None else withdrawal.banner,
        "promise": release.promise.parameters,
        "unit": release.promise.unit.whom,
        "deviations": has_deviations(release),
    }


def has_deviations(release: Release) -> bool:
    """Whether cells carry error bars; as good as free where a slice was read already."""
    first = first_slice(release)
    return release.part((slice(first, first + 1), slice(None), slice(None)))[1] is not None


def _grid(release: Release) -> Json:
    grid, zone = release.grid, release.zone
    height, width = grid.box.side_metres
    return {
        **asdict(grid.box),
        "side": grid.cells_per_side,
        "slices": grid.slices,
        "slice_seconds": grid.slice_seconds,
        "zone": zone.key,
        "starts": [grid.slice_start(number).astimezone(zone).isoformat() for number in range(grid.slices + 1)],
        "height_m": height,
        "width_m": width,
        "cell": " x ".join(format_length(side) for side in reversed(grid.cell_metres)),
        "factors": factors(grid.cells_per_side),
    }


def first_slice(release: Release) -> int:
    """Return the slice a page opens with: noon of the first day, or the first one where the period has no noon."""
    grid = release.grid
    noon = grid.start.astimezone(release.zone).replace(hour=12, minute=0, second=0, microsecond=0)
    return grid.slice_of(noon) if grid.start <= noon < grid.end else 0


def _scale(release: Release) -> Json:
    """Return what the brightest colour means and what makes a hot spot, by the eight slices around the first one."""
    around = first_slice(release) // 8 * 8
    counts, _ = release.part((slice(around, around + 8), slice(None), slice(None)))
    values = counts[:, ::_SCALE_FROM, ::_SCALE_FROM] if counts.shape[1] > 64 else counts
    top, hot = (float(np.percentile(values, share)) for share in (_BRIGHT_PERCENTILE, _HOT_PERCENTILE))
    largest = max(float(counts.max(initial=0.0)), 1e-6)
    return {
        "top": _round_up(top if top > 0 else largest),
        "hot": max(_round_up(hot if hot > 0 else largest), LEAST_DENSITY),
    }


def _round_up(value: float) -> float:
    """Return the next of 1, 1.5, 2, 3, 5, 7, 10, ... that is not below a positive value."""
    power = 10.0 ** math.floor(math.log10(value))
    step = next(step for step in (1, 1.5, 2, 3, 5, 7, 10) if value <= step * power * (1 + 1e-9))
    return float(f"{step * power:.6g}")


def _listed(entry: Entry, release: Release, entries: list[Entry]) -> Json:
    own = next((other.comparable for other in entries if other.release_id == release.release_id), ())
    listed = asdict(entry) | {"comparable": entry.comparable == own}
    return listed | {"created": entry.created[:16].replace("T", " ")}


def count_box(release: Release, box: Box, number: int) -> Json:
    """Count the pings of a box in one slice, as `Release.range_count` does."""
    grid = release.grid
    return _counted(release.range_count(box, grid.slice_start(number), grid.slice_start(number + 1)))


def _counted(answer: RangeCount) -> Json:
    return {
        "count": answer.count,
        "deviation": answer.deviation,
        "count_text": format_count(answer.count),
        "deviation_text": None if answer.deviation is None else format_count(answer.deviation),
        "told_from_zero": not answer.cannot_be_told_from_zero,
        "cells": answer.cells,
        "area_km2": answer.area_km2,
        "start": answer.start.isoformat(),
        "end": answer.end.isoformat(),
        "sentence": str(answer),
    }


def tell_difference(one: Json, other: Json) -> Json:
    """Return a count minus another one, with the error bar that it has if their errors are independent."""
    count, deviation = one["count"] - other["count"], None
    if one["deviation"] is not None and other["deviation"] is not None:
        deviation = math.hypot(one["deviation"], other["deviation"])
    return {
        "count": count,
        "deviation": deviation,
        "count_text": ("+" if count > 0 else "") + format_count(count),
        "deviation_text": None if deviation is None else format_count(deviation),
        "told_from_zero": deviation is None or abs(count) >= 2 * deviation,
    }


def follow_box(release: Release, box: Box, horizon: int) -> Json:
    """Return a box's series with error bars, its forecast, and its count over the whole period."""
    rows, columns = cover_box(release.grid, box)
    refuse_huge(release.grid.slices * len(rows.shares) * len(columns.shares))
    ahead = release.forecast(box, horizon)
    return {
        "counts": _rounded(release.series(box)),
        "deviations": _rounded(box_deviation(release, box)),
        "forecast": {
            "starts": [start.isoformat() for start in ahead.starts],
            "mean": _rounded(ahead.mean),
            "lower": _rounded(ahead.lower),
            "upper": _rounded(ahead.upper),
            "method": ahead.method,
            "told_from_zero": ahead.told_from_zero,
            "sentence": str(ahead),
        },
        "whole": _counted(release.range_count(box)),
    }


def refuse_huge(cells: float) -> None:
    """Refuse a question about more cells than a person waits for."""
    if cells > MOST_CELLS:
        raise InvalidQuery(
            f"box must hold at most {MOST_CELLS:,} cells over all slices, not {cells:,.0f}; choose a smaller one"
        )


def find_hotspot(release: Release, lat: float, lon: float, number: int, density: float) -> Json:
    """Find the nearest hot spot of a density, with its probability, as `Release.nearest_dense_hotspot` does.

    One that is unlikely is marked as such, and the best of those with even odds is told beside it.
    """
    around = math.prod(
        min(2 * EXTENT_M / metres + 1, release.grid.cells_per_side) for metres in release.grid.cell_metres
    )
    refuse_huge(release.grid.slices * around)
    found = release.nearest_dense_hotspot(lat, lon, number, density)
    doubtful = found.probability is not None and found.probability < EVEN
    likelier = _find_even_odds(release, lat, lon, number, density) if doubtful else None
    return {
        **_cell(release, found),
        "probability_within": found.probability_within,
        "density_text": format_count(found.threshold),
        "extent_text": format_length(EXTENT_M),
        "doubtful": doubtful,
        "likelier": None if likelier is None else _cell(release, likelier),
        "sentence": str(found),
    }


def _find_even_odds(release: Release, lat: float, lon: float, number: int, density: float) -> DenseHotspot | None:
    try:
        return release.nearest_dense_hotspot(lat, lon, number, density, least_probability=EVEN)
    except InvalidQuery:  # there is no such cell
        return None


def _cell(release: Release, found: DenseHotspot) -> Json:
    grid = release.grid
    return {
        "lat": float(grid.latitudes()[found.row]),
        "lon": float(grid.longitudes()[found.column]),
        "slice": found.slice,
        "slices_away": found.slices_away,
        "distance_text": format_length(found.distance_m),
        "count_text": format_count(found.count),
        "deviation_text": None if found.deviation is None else format_count(found.deviation),
        "probability": found.probability,
        "start": local(release, found.slice).isoformat(),
    }


def _rounded(values: Floats | None) -> list[float] | None:
    """Return numbers for a chart: six digits are more than it shows."""
    return None if values is None else [float(f"{value:.6g}") for value in values]


def local(release: Release, number: int) -> datetime:
    """Return when a slice begins, in the release's zone."""
    return release.grid.slice_start(number).astimezone(release.zone)
