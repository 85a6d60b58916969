"""Every engine reads the tables as they are, and comes to the library's numbers, to the last digit."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from tests.engines.engines import TABLES, Engine, Published
from vdr_spark.storage.schemas import CELLS, PYRAMID, RELEASES, WITHDRAWALS

pytestmark = pytest.mark.engines
COMMENTS = {
    table.name: {name: said for name, _, said in table.columns} for table in (CELLS, PYRAMID, RELEASES, WITHDRAWALS)
}
SUM = "sum(CAST(count AS DOUBLE)) AS pings"


def of_release(engine: Engine, published: Published, table: str = "cells") -> str:
    """Return what follows the columns: a table, and the one release of it that is meant."""
    return f"FROM {engine.table(published, table)} WHERE release_id = '{published.release.release_id}'"


def exact_sum(counts: Any) -> float:
    """Add up in doubles, and make sure that no other order of adding could come to another number."""
    values = np.asarray(counts, np.float64)
    unit = 2.0 ** (np.frexp(values[values != 0])[1].min() - 12)
    assert (np.rint(values / unit) * unit == values).all()
    assert values.sum() / unit < 2**53
    return float(values.sum())


def test_rows_and_their_sum(engine: Engine, published: Published) -> None:
    rows = engine.ask(f"SELECT count(*) AS n, {SUM} {of_release(engine, published)}")
    assert rows == [[published.release.grid.size, exact_sum(published.release.counts)]]


def test_the_sum_of_a_box_and_a_time(engine: Engine, published: Published) -> None:
    """The box by the cells' centres, the time by the clock: as an analyst would ask."""
    grid, counts = published.release.grid, published.release.counts
    rows, columns, slices = (slice(size // 3, 2 * size // 3) for size in (*grid.shape[1:], grid.slices))
    lat, lon = grid.latitudes()[rows], grid.longitudes()[columns]
    start, end = grid.slice_start(slices.start), grid.slice_start(slices.stop)
    sql = f"SELECT {SUM} {of_release(engine, published)}"
    sql += f" AND lat BETWEEN {lat[0]!r} AND {lat[-1]!r} AND lon BETWEEN {lon[0]!r} AND {lon[-1]!r}"
    sql += f" AND slice_start >= {engine.at(start)} AND slice_start < {engine.at(end)}"
    assert engine.ask(sql) == [[exact_sum(counts[slices, rows, columns])]]


def test_times_are_the_same_instants(engine: Engine, published: Published) -> None:
    seconds = engine.seconds.format("slice_start")
    sql = f"SELECT slice, min({seconds}) AS first, max({seconds}) AS last {of_release(engine, published)}"
    grid = published.release.grid
    starts = [grid.slice_start(number).timestamp() for number in range(grid.slices)]
    assert engine.ask(f"{sql} GROUP BY slice ORDER BY slice") == [[n, at, at] for n, at in enumerate(starts)]


def test_every_cell_of_a_slice(engine: Engine, published: Published) -> None:
    """Counts and error bars to the last bit, and where they are."""
    release, number = published.release, published.release.grid.slices // 2
    corner = min(release.grid.cells_per_side, 20)
    sql = f"SELECT y, x, lat, lon, count, deviation {of_release(engine, published)}"
    rows = engine.ask(f"{sql} AND slice = {number} AND y < {corner} AND x < {corner} ORDER BY y, x")
    y, x, lat, lon, counts, deviations = (np.array(column) for column in zip(*rows, strict=True))
    assert len(rows) == corner**2
    assert (lat == release.grid.latitudes()[y]).all()
    assert (lon == release.grid.longitudes()[x]).all()
    assert (counts.astype(np.float32) == release.counts[number, y, x]).all()
    assert (deviations.astype(np.float32) == release.deviation[number, y, x]).all()


def test_the_row_of_a_release(engine: Engine, published: Published) -> None:
    release, grid = published.release, published.release.grid
    end = engine.seconds.format("period_end")
    columns = f"epsilon, k, protected, cells_per_side, {end} AS ends, noise_deviation, statement, sum_errors"
    (row,) = engine.ask(f"SELECT {columns} {of_release(engine, published, 'releases')}")
    assert row[:4] == [str(release.epsilon), release.k, True, grid.cells_per_side]
    assert row[4] == (grid.start + timedelta(seconds=grid.slice_seconds * grid.slices)).timestamp()
    assert row[5] == release.sum_errors.noise_deviation
    assert json.loads(row[6]) == release.statement
    assert structs(row[7]) == [list(vars(spread).values()) for spread in release.sum_errors.spreads]


def structs(value: Any) -> list[list[Any]]:
    """Return an array of structs as lists: it comes as text through Hive's protocol, as dictionaries or as tuples."""
    items = json.loads(value) if isinstance(value, str) else value
    return [list(item.values()) if isinstance(item, dict) else list(item) for item in items]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("engine", ["delta_rs", "spark_thrift", "trino"], indirect=True)  # the others show none
def test_columns_say_what_they_mean(engine: Engine, published: Published, table: str) -> None:
    assert engine.comments
    shown = engine.comments(published, table)
    assert {name: shown[name] for name in COMMENTS[table]} == COMMENTS[table]
