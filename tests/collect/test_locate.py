"""Pings get the cell that the grid gives them, and what is no ping of the domain is left out."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from vdr_spark.collect.locate import Located, locate
from vdr_spark.grid import Box, Grid

START = datetime(2020, 1, 1, tzinfo=UTC)
NEAR = Grid(Box(10, 20, 11, 22), 5, START, 3600, 4)
FAR = Grid(Box(-3, 22, -1, 23), 5, START, 3600, 4)
GRIDS = [NEAR, FAR]
INSIDE = ("u", 10.5, 21.0, START)


def batch_of(*pings: tuple[object, ...], unit: str = "us", zone: str = "UTC") -> pa.RecordBatch:
    user, lat, lon, ts = zip(*pings, strict=True)
    kinds = (pa.string(), pa.float64(), pa.float64(), pa.timestamp(unit, zone))
    columns = [pa.array(column, kind) for column, kind in zip((user, lat, lon, ts), kinds, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=["user_id", "lat", "lon", "ts"])


def users_of(located: Located) -> list[str]:
    return list(located.user.to_pylist())


hours = st.floats(-1, 5).map(lambda hours: START + timedelta(hours=hours))
degrees = st.one_of(st.floats(-4, 12), st.floats(10, 11), st.sampled_from([10.0, 11.0, -3.0, -1.0, float("nan")]))
eastings = st.one_of(st.floats(19, 24), st.sampled_from([20.0, 22.0, 23.0, float("inf"), float("-inf")]))


@given(st.lists(st.tuples(st.just("u"), degrees, eastings, hours), min_size=1, max_size=30))
def test_cells_are_those_of_the_grids_one_after_the_other(pings: list[tuple[str, float, float, datetime]]) -> None:
    expected = []
    for _, lat, lon, ts in pings:
        us = np.array([(ts - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)])
        near, far = (int(grid.cell_of(np.array([lat]), np.array([lon]), us)[0]) for grid in GRIDS)
        expected += [near] if near >= 0 else [NEAR.size + far] if far >= 0 else []
    assert locate(batch_of(*pings), GRIDS).cell.tolist() == expected


def test_what_is_no_ping_of_the_domain_is_left_out() -> None:
    pings = [
        INSIDE,
        (None, 10.5, 21.0, START),
        ("no latitude", None, 21.0, START),
        ("no longitude", 10.5, None, START),
        ("no time", 10.5, 21.0, None),
        ("nan", float("nan"), 21.0, START),
        ("infinite", 10.5, float("inf"), START),
        ("northern edge", 11.0, 21.0, START),
        ("eastern edge", 10.5, 22.0, START),
        ("too early", 10.5, 21.0, START - timedelta(microseconds=1)),
        ("the end", 10.5, 21.0, NEAR.end),
        ("long ago", 10.5, 21.0, datetime(1, 1, 1, tzinfo=UTC)),
        ("last moment", 10.5, 21.0, NEAR.end - timedelta(microseconds=1)),
        ("corner", 10.0, 20.0, START),
        ("other grid", -3.0, 22.0, START),
    ]
    located = locate(batch_of(*pings), GRIDS)
    assert users_of(located) == ["u", "last moment", "corner", "other grid"]
    assert len(located) == 4
    assert all(len(bits) == 4 for bits in located.content)


def test_what_is_left_out_takes_nothing_of_the_others_along() -> None:
    """User, cell and content stay in step when rows before them go."""
    pings = [("gone", 50.0, 0.0, START), ("a", 10.1, 20.1, START), (None, 10.5, 21.0, START), ("b", 10.9, 21.9, START)]
    located = locate(batch_of(*pings), GRIDS)
    lat, lon, ts = located.content
    assert users_of(located) == ["a", "b"]
    assert lat.view(np.float64).tolist() == [10.1, 10.9]
    assert lon.view(np.float64).tolist() == [20.1, 21.9]
    assert ts.tolist() == [int(START.timestamp() * 1e6)] * 2
    assert located.cell.tolist() == [0, 24]


def test_a_batch_without_pings_is_empty() -> None:
    assert len(locate(batch_of(INSIDE).slice(0, 0), GRIDS)) == 0
    assert len(locate(batch_of((None, None, None, None)), GRIDS)) == 0


def test_time_units_zones_and_slices_of_batches_do_not_matter() -> None:
    pings = [("x", 10.2, 20.2, START), ("y", 10.5, 21.0, START + timedelta(hours=2)), INSIDE]
    plain = locate(batch_of(*pings).slice(1), GRIDS)
    other = locate(batch_of(*pings, unit="ms", zone="America/Chicago").slice(1), GRIDS)
    assert plain.cell.tolist() == other.cell.tolist() == [62, 12]
    assert all((a == b).all() for a, b in zip(plain.content, other.content, strict=True))
