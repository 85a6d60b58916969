"""A square kilometre for a day reads little of the table, by the engines' own account."""

from __future__ import annotations

import pytest

from tests.engines.engines import Engine, Published
from tests.engines.test_engines import SUM, exact_sum, of_release

pytestmark = pytest.mark.engines


@pytest.mark.parametrize("engine", ["duckdb", "spark_thrift", "trino"], indirect=True)  # those that say what they read
def test_a_square_kilometre_for_a_day(engine: Engine, at_path: Published) -> None:
    assert engine.bytes_read
    release, grid = at_path.release, at_path.release.grid
    side = round(1000 / grid.cell_metres[0])
    first = grid.cells_per_side // 2 - side // 2
    y = x = slice(first, first + side)
    day = slice(4, 4 + 86_400 // grid.slice_seconds)  # across two blocks of slices
    box = [f"{name} BETWEEN {axis.start} AND {axis.stop - 1}" for name, axis in zip("yx", (y, x), strict=True)]
    start, end = grid.slice_start(day.start), grid.slice_start(day.stop)
    time = [f"slice_start >= {engine.at(start)}", f"slice_start < {engine.at(end)}"]
    sql = f"SELECT {SUM} {of_release(engine, at_path)} AND {' AND '.join(box + time)}"
    assert engine.ask(sql) == [[exact_sum(release.counts[day, y, x])]]
    size = sum(file.stat().st_size for file in at_path.tables.glob("cells/*/*.parquet"))
    share = engine.bytes_read(sql) / size
    print(f"{engine.name} says that it read {share:.2%}")  # for docs/engines.md: pytest -rP
    assert 0 < share <= 0.03
    assert engine.bytes_read(f"SELECT {SUM}, sum(lat) AS lat {of_release(engine, at_path)}") / size > 0.5
