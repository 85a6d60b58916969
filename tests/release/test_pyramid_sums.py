"""Sums over squares and days: exact, with the error bars of the library, in files and through Spark's workers."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.release.hand_made import hand_made
from vdr_spark.errors import DamagedTable
from vdr_spark.grid import Box
from vdr_spark.pyramid import days_of
from vdr_spark.refine import round_as_told
from vdr_spark.release import pyramid_check
from vdr_spark.release.pyramid_check import Comparison
from vdr_spark.release.pyramid_files import write_pyramid_files
from vdr_spark.release.pyramid_rows import day_column, sum_rows
from vdr_spark.release.pyramid_sums import SCHEMA, sum_levels
from vdr_spark.release.release import Release
from vdr_spark.storage.tensor_file import Tensor, read_tensor, write_tensor
from vdr_spark.sum_errors import Spread, SumErrors, Total

SIDE, SLICES = 75, 19  # uneven edges; a slice before the first day, two days, two slices after
START = datetime(2020, 1, 6, 21, tzinfo=UTC)
SPREADS = tuple(Spread(side, slices, 0.1 * side / slices**0.1, 0.5 * side) for side in (1, 8, 64) for slices in (1, 19))


def make_release(deviations: bool = True, errors: bool = True, clumps: bool = True) -> Release:
    rng = np.random.default_rng(0)
    tensor = round_as_told(
        Tensor(
            rng.gamma(0.3, 20, (SLICES, SIDE, SIDE)).astype(np.float32),
            rng.gamma(2, 1, (SLICES, SIDE, SIDE)).astype(np.float32),
        )
    )
    spreads = SPREADS if clumps else tuple(replace(of, clump=0.0) for of in SPREADS)
    total = Total(float(tensor.counts.sum(dtype=np.float64)), 40.0)
    return hand_made(
        tensor.counts,
        tensor.deviation if deviations else None,
        box=Box(29.5, -95.6, 29.7, -95.3),
        start=START,
        release_id="a",
        sum_errors=SumErrors(3.0, spreads, 300.0, total) if errors else None,
    )


def write(folder: Path, release: Release) -> pa.Table:
    """Write the files of a release's pyramid and read all rows."""
    levels = list(sum_levels(release.counts, release.deviation, days_of(release.grid, UTC)))
    files = write_pyramid_files(str(folder), "release_id=a", release.grid, levels, release.sum_errors, True)
    return pq.ParquetDataset([folder / file.path for file in files], schema=SCHEMA, partitioning=None).read()


def box_of(release: Release, row: dict[str, object]) -> tuple[Box, slice, slice, slice]:
    grid, factor = release.grid, row["factor"]
    south, west = (row[name] * factor for name in ("y", "x"))  # type: ignore[operator]
    north, east = (min(edge + factor, SIDE) for edge in (south, west))
    box = Box(
        grid.box.south + south / grid.cells_per_lat,
        grid.box.west + west / grid.cells_per_lon,
        grid.box.south + north / grid.cells_per_lat,
        grid.box.west + east / grid.cells_per_lon,
    )
    slices = slice(row["slice"], row["slice"] + row["slices"])  # type: ignore[operator]
    return box, slices, slice(south, north), slice(west, east)


@pytest.mark.parametrize("kind", [{}, {"errors": False}, {"clumps": False}], ids=["all", "no errors", "no clumps"])
def test_a_row_is_what_range_count_says_of_its_square(tmp_path: Path, kind: dict[str, bool]) -> None:
    release = make_release(**kind)
    rows = write(tmp_path, release).to_pylist()
    for row in [rows[place] for place in np.random.default_rng(1).integers(0, len(rows), 200)]:
        box, slices, y, x = box_of(release, row)
        ends = (release.grid.slice_start(slices.start), release.grid.slice_start(slices.stop))
        answer = release.range_count(box, *ends)
        assert row["count"] == answer.count == release.counts[slices, y, x].sum(dtype=np.float64)
        assert row["deviation"] == pytest.approx(answer.deviation, rel=2.0**-8)
        assert release.deviation is not None
        assert row["variance"] == pytest.approx((release.deviation[slices, y, x].astype(float) ** 2).sum(), rel=1e-12)
        assert row["slice_start"] == ends[0]
        np.testing.assert_allclose((row["lat"], row["lon"]), box.centre, rtol=1e-12)


def test_each_level_holds_the_whole_release(tmp_path: Path) -> None:
    release = make_release()
    write(tmp_path, release)
    found = duckdb.execute(
        "SELECT factor, slices, count(*), sum(count), count(DISTINCT (slice, y, x)) "
        f"FROM read_parquet('{tmp_path}/release_id=a/*.parquet') GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    total, days = release.counts.sum(dtype=np.float64), release.counts[1:17].sum(dtype=np.float64)
    assert [row[:2] for row in found] == [(1, 8)] + [(2**n, slices) for n in range(1, 7) for slices in (1, 8)]
    for factor, slices, rows, pings, distinct in found:
        assert pings == (days if slices == 8 else total)
        assert rows == distinct == (2 if slices == 8 else SLICES) * int(np.ceil(SIDE / factor)) ** 2


def test_without_deviations_there_are_no_bars(tmp_path: Path) -> None:
    table = write(tmp_path, make_release(deviations=False))
    assert table.column("variance").null_count == table.column("deviation").null_count == len(table)


def test_statistics_are_what_an_independent_reader_finds(tmp_path: Path) -> None:
    release = make_release()
    levels = list(sum_levels(release.counts, release.deviation, days_of(release.grid, UTC)))
    for file in write_pyramid_files(str(tmp_path), "release_id=a", release.grid, levels, release.sum_errors, True):
        told, path = json.loads(file.statistics), tmp_path / file.path
        for name in ("factor", "slices", "slice", "y", "x", "lat", "lon", "count", "variance", "deviation"):
            found = duckdb.execute(f"SELECT min({name}), max({name}), count(*) FROM '{path}'").fetchone()
            assert found == (told["minValues"][name], told["maxValues"][name], told["numRecords"])


@pytest.mark.parametrize("deviations", [True, False])
def test_workers_of_spark_write_the_same_rows(tmp_path: Path, deviations: bool) -> None:
    release = make_release(deviations)
    expected = write(tmp_path, release)
    write_tensor(f"{tmp_path}/refined.parquet", Tensor(release.counts, release.deviation))
    assert read_tensor(f"{tmp_path}/refined.parquet", SIDE).counts.shape == release.counts.shape
    batches = pq.ParquetFile(tmp_path / "refined.parquet").iter_batches(5, columns=["slice", "counts", "deviation"])
    expand = sum_rows(release.grid, "a", days_of(release.grid, UTC), release.sum_errors, True)
    found = pa.Table.from_batches(expand(batches))
    assert set(found.column("release_id").to_pylist()) == {"a"}
    order = [(name, "ascending") for name in ("factor", "slices", "slice", "y", "x")]
    for name in SCHEMA.names:
        if name != "variance":
            assert found.sort_by(order).column(name).equals(expected.sort_by(order).column(name)), name
    if deviations:
        np.testing.assert_allclose(
            *(table.sort_by(order).column("variance").to_numpy() for table in (found, expected)), rtol=1e-12
        )


def test_the_column_of_days_keeps_a_day_together() -> None:
    release = make_release()
    column = day_column(days_of(release.grid, UTC))
    found = duckdb.execute(f"SELECT {column} FROM range({SLICES}) AS numbers(slice)").fetchall()
    assert [row[0] for row in found] == [0, *[1] * 8, *[9] * 8, 17, 18]
    assert day_column([]) == "slice"


def spoil(table: pa.Table, name: str, change: Callable[[np.ndarray], None]) -> pa.Table:
    values = table.column(name).to_numpy().copy()
    change(values)
    return table.set_column(table.schema.get_field_index(name), SCHEMA.field(name), pa.array(values))


def test_the_check_finds_what_is_wrong_missing_or_twice(tmp_path: Path) -> None:
    release = make_release()
    table = write(tmp_path, release)
    levels = list(sum_levels(release.counts, release.deviation, days_of(release.grid, UTC)))

    def holds(rows: pa.Table) -> bool:
        comparison = Comparison(levels)
        return comparison.holds(rows.to_batches()) and comparison.complete

    def nudge(values: np.ndarray) -> None:
        values[7] = np.nextafter(values[7], np.inf)

    def move(values: np.ndarray) -> None:
        values[7] += 1000

    assert holds(table)
    assert not holds(spoil(table, "count", nudge))
    for name in ("factor", "slices", "slice", "y", "x"):
        assert not holds(spoil(table, name, move)), name
    assert not holds(table.slice(1))
    assert not holds(pa.concat_tables([table, table.slice(0, 1)]))
    assert "must hold each sum of release a once" in str(pyramid_check._refusal("t", "a"))
    assert isinstance(pyramid_check._refusal("t", "a"), DamagedTable)
