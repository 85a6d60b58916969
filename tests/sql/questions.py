"""A release to ask in SQL, and questions whose answers the library knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from tests.release.hand_made import hand_made
from vdr_spark.errors import InvalidQuery
from vdr_spark.grid import Box
from vdr_spark.query.series import box_deviation
from vdr_spark.refine import round_as_told
from vdr_spark.release.release import Release
from vdr_spark.sql.error_bars import QUANTILE
from vdr_spark.storage.tensor_file import Tensor
from vdr_spark.sum_errors import Spread, SumErrors, Total

Ask = Callable[[str], Sequence[Mapping[str, Any]]]
"""Runs `SELECT * FROM ...` and returns the rows."""

SIDE, SLICES = 75, 60  # uneven edges: two levels of squares are asked; days, and hours before and after them
START = datetime(2020, 3, 6, 3, tzinfo=UTC)  # 21:00 in Chicago; clocks change on the 8th


def make_release(deviations: bool = True, hours: int = 1, **fields: Any) -> Release:
    """A release with all that an answer may depend on, a change of clocks too."""
    rng = np.random.default_rng(0)
    shape = (SLICES, SIDE, SIDE)
    tensor = round_as_told(
        Tensor(rng.gamma(0.3, 20, shape).astype(np.float32), rng.gamma(2, 1, shape).astype(np.float32))
    )
    spreads = tuple(
        Spread(side, slices, 0.1 * side / slices**0.1, 0.5 * side * slices**0.3)
        for side in (1, 4, 16, 64)
        for slices in (1, 8, 60)
    )
    total = Total(float(tensor.counts.sum(dtype=np.float64)), 40.0)
    promise = {
        "release_id": "city-1",
        "sum_errors": SumErrors(3.0, spreads, 300.0, total),
        "statement": {"exact": {"timezone": "America/Chicago"}},
    }
    return hand_made(
        tensor.counts,
        tensor.deviation if deviations else None,
        slice_seconds=3600 * hours,
        box=Box(29.5, -95.6, 29.7, -95.3),
        start=START,
        **(promise | fields),
    )


def plain_errors(release: Release, kind: str) -> Release:
    """The same with errors of sums of another kind."""
    errors = release.sum_errors
    assert errors is not None
    kinds = {
        "not scaled": replace(errors, total=None),
        "no clumps": replace(errors, spreads=tuple(replace(of, clump=0.0) for of in errors.spreads)),
        "one size": replace(errors, spreads=errors.spreads[:1]),
        "one number of slices": replace(errors, spreads=tuple(of for of in errors.spreads if of.slices == 1)),
    }
    return replace(release, sum_errors=kinds[kind])


def cells_box(release: Release, south: float, west: float, north: float, east: float) -> Box:
    """A box by its edges in cells."""
    grid = release.grid
    return Box(
        grid.box.south + south / grid.cells_per_lat,
        grid.box.west + west / grid.cells_per_lon,
        grid.box.south + north / grid.cells_per_lat,
        grid.box.west + east / grid.cells_per_lon,
    )


def random_questions(release: Release, number: int) -> list[tuple[Box, datetime, datetime]]:
    """Boxes and periods of all sizes, half of them along the edges of cells and slices."""
    rng, length = np.random.default_rng(3), release.grid.slice_seconds
    found = []
    for place in range(number):
        edges = [np.sort(rng.uniform(0, size, 2)) for size in (SIDE, SIDE, SLICES)]
        if place % 2:
            edges = [np.array([np.floor(low), np.ceil(high)]) for low, high in edges]
        (south, north), (west, east), times = edges
        moments = [release.grid.start + timedelta(seconds=round(time * length)) for time in times]
        found.append((cells_box(release, south, west, north, east), *moments))
    found.append((release.grid.box, release.grid.start, release.grid.end))
    return found


def moment(when: datetime, kind: str = "TIMESTAMPTZ") -> str:
    return f"{kind} '{when.astimezone(UTC):%Y-%m-%d %H:%M:%S}+00:00'"


def box_text(box: Box) -> str:
    return ", ".join(repr(float(edge)) for edge in vars(box).values())


def check_range_counts(release: Release, ask: Ask, number: int, write_moment: Callable[[datetime], str]) -> None:
    """Compare range counts with the library's: to the last digit along edges of cells, else to nine digits."""
    for place, (box, start, end) in enumerate(random_questions(release, number)):
        expected = release.range_count(box, start, end)
        (row,) = ask(f"range_count({box_text(box)}, {write_moment(start)}, {write_moment(end)})")
        assert row["count"] == (expected.count if place % 2 else pytest.approx(expected.count, rel=1e-9))
        assert row["inside"] == pytest.approx(1, abs=1e-6)
        assert row["protected"] == release.protected
        if expected.deviation is None:
            assert row["deviation"] is row["low"] is row["high"] is None
            continue
        assert row["deviation"] == pytest.approx(expected.deviation, rel=1e-9)
        assert row["low"] == pytest.approx(max(expected.count - QUANTILE * expected.deviation, 0), rel=1e-9)
        assert row["high"] == pytest.approx(expected.count + QUANTILE * expected.deviation, rel=1e-9)


def check_edges_of_the_question(release: Release, ask: Ask, problem: type[Exception]) -> None:
    """No period, a box partly and wholly outside, and those turned round."""
    box = cells_box(release, 3.25, 10, 40, 41.5)
    (row,) = ask(f"range_count({box_text(box)})")
    assert row["count"] == pytest.approx(release.range_count(box).count, rel=1e-9)
    half_out = cells_box(release, -10, 0, 10, SIDE)
    (row,) = ask(f"range_count({box_text(half_out)})")
    assert row["count"] == release.range_count(cells_box(release, 0, 0, 10, SIDE)).count
    assert row["inside"] == pytest.approx(0.5)
    (row,) = ask(f"range_count({box_text(cells_box(release, -10, 0, -5, 5))})")
    assert (row["count"], row["deviation"], row["low"], row["inside"]) == (None, None, None, 0)
    assert ask(f"series({box_text(cells_box(release, -10, 0, -5, 5))})") == []
    turned = Box(box.north, box.west, box.south, box.east)
    with pytest.raises(InvalidQuery, match="south must be less than north"):
        release.range_count(turned)
    for question in (f"range_count({box_text(turned)})", f"series({box_text(turned)})"):
        with pytest.raises(problem, match=r"south must be less than north.* swap or correct"):
            ask(question)
    with pytest.raises(problem, match="nu must be a positive number"):
        ask("hotspots(0)")


def check_series(release: Release, ask: Ask, box: Box) -> None:
    counts, bars = release.series(box), box_deviation(release, box)
    rows = sorted(ask(f"series({box_text(box)})"), key=lambda row: row["slice"])
    assert [row["slice"] for row in rows] == list(range(release.grid.slices))
    np.testing.assert_allclose([row["count"] for row in rows], counts, rtol=1e-9)
    assert rows[7]["slice_start"].astimezone(UTC) == release.grid.slice_start(7)
    if bars is not None:
        np.testing.assert_allclose([row["deviation"] for row in rows], bars, rtol=1e-9)
        np.testing.assert_allclose([row["high"] for row in rows], counts + QUANTILE * bars, rtol=1e-9)


def check_hour_profile(release: Release, ask: Ask, box: Box) -> None:
    """Means by local hour, and their bars as `SumErrors` has them of as many slices."""
    counts, grid = release.series(box), release.grid
    hours = np.array([grid.slice_start(number).astimezone(release.zone).hour for number in range(grid.slices)])
    rows = {row["local_hour"]: row for row in ask(f"hour_profile({box_text(box)})")}
    assert set(rows) == set(hours)
    alone = [replace(release, sum_errors=None)]
    own = box_deviation(alone[0], box)
    for hour, row in rows.items():
        chosen = hours == hour
        assert row["slices"] == chosen.sum()
        assert row["count"] == pytest.approx(counts[chosen].mean(), rel=1e-9)
        if own is None:
            assert row["deviation"] is None
            continue
        assert release.sum_errors is not None
        area = np.prod([(high - low) for low, high in _sides(release, box)])
        number = int(chosen.sum())
        bar = release.sum_errors.deviation(area * number, number, counts[chosen].sum(), (own[chosen] ** 2).sum())
        assert row["deviation"] == pytest.approx(bar / number, rel=1e-9)


def _sides(release: Release, box: Box) -> list[tuple[float, float]]:
    grid = release.grid
    rows = tuple((edge - grid.box.south) * grid.cells_per_lat for edge in (box.south, box.north))
    columns = tuple((edge - grid.box.west) * grid.cells_per_lon for edge in (box.west, box.east))
    return [rows, columns]  # type: ignore[list-item]


def check_hotspots(release: Release, ask: Ask, nu: float) -> None:
    rows = ask(f"hotspots({nu})")
    found = {(row["slice"], row["y"], row["x"]): row for row in rows}
    assert set(found) == set(zip(*(axis.tolist() for axis in np.nonzero(release.counts >= nu)), strict=True))
    assert len(rows) == len(found) > 20
    for (number, y, x), row in found.items():
        assert row["count"] == release.counts[number, y, x]
        assert (row["lat"], row["lon"]) == (release.grid.latitudes()[y], release.grid.longitudes()[x])
        local = release.grid.slice_start(number).astimezone(release.zone)
        assert (row["local_date"], row["local_hour"]) == (local.date(), local.hour)
        if release.deviation is None:
            assert row["probability"] is None
        else:
            deviation = float(release.deviation[number, y, x])
            assert row["deviation"] == deviation
            assert row["probability"] == pytest.approx(norm.sf((nu - row["count"]) / deviation), abs=1e-13)
