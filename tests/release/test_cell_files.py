"""Files of cells: the tensor to the last bit, statistics that are true, and few bytes read for a small question."""

import json
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

from vdr_spark.grid import Box, Grid
from vdr_spark.release.cell_files import write_cell_files
from vdr_spark.release.cell_layout import SCHEMA, TILE
from vdr_spark.storage.delta_files import NewFile
from vdr_spark.storage.tensor_file import Tensor

GRID = Grid(Box.around(29.76, -95.37, 20_000), TILE + 13, datetime(2020, 1, 7, 6, tzinfo=UTC), 10_800, 11)


def tensor_of(grid: Grid, deviations: bool = True) -> Tensor:
    rng = np.random.default_rng(0)
    counts, deviation = (rng.gamma(0.5, 10, grid.shape).astype(np.float32) for _ in range(2))
    return Tensor(counts, deviation if deviations else None)


def write(folder: Path, tensor: Tensor, grid: Grid = GRID) -> list[NewFile]:
    return write_cell_files(str(folder), "release_id=a", grid, tensor, protected=True)


@pytest.mark.parametrize("deviations", [True, False])
def test_they_hold_the_tensor_to_the_last_bit(tmp_path: Path, deviations: bool) -> None:
    tensor = tensor_of(GRID, deviations)
    files = write(tmp_path, tensor)
    table = pq.ParquetDataset([tmp_path / file.path for file in files], schema=SCHEMA, partitioning=None).read()
    assert table.schema == SCHEMA
    index = tuple(table.column(name).to_numpy() for name in ("slice", "y", "x"))
    assert len(table) == len(set(zip(*index, strict=True))) == GRID.size
    np.testing.assert_array_equal(table.column("count").to_numpy(), tensor.counts[index])
    np.testing.assert_array_equal(table.column("lat").to_numpy(), GRID.latitudes()[index[1]])
    np.testing.assert_array_equal(table.column("lon").to_numpy(), GRID.longitudes()[index[2]])
    assert {GRID.slice_start(t) for t in range(GRID.slices)} == set(table.column("slice_start").to_pylist())
    if tensor.deviation is None:
        assert table.column("deviation").null_count == GRID.size
    else:
        np.testing.assert_array_equal(table.column("deviation").to_numpy(), tensor.deviation[index])


@pytest.mark.parametrize("deviations", [True, False])
def test_statistics_are_what_an_independent_reader_finds(tmp_path: Path, deviations: bool) -> None:
    for file in write(tmp_path, tensor_of(GRID, deviations)):
        assert (tmp_path / file.path).stat().st_size == file.size
        told = json.loads(file.statistics)
        found = duckdb.execute(
            "SELECT count(*) AS n, "
            + ", ".join(f"min({of}), max({of}), count({of})" for of in told["nullCount"])
            + f" FROM read_parquet('{tmp_path / file.path}')"
        ).fetchone()
        assert found is not None
        assert told["numRecords"] == found[0]
        for place, name in enumerate(told["nullCount"]):
            least, most, valid = found[1 + 3 * place : 4 + 3 * place]
            assert told["nullCount"][name] == found[0] - valid
            if name in ("slice", "y", "x", "lat", "lon", "count", "deviation"):
                assert (told["minValues"].get(name), told["maxValues"].get(name)) == (least, most)
        assert told["minValues"]["slice_start"] == "2020-01-07T06:00:00.000Z"


def test_a_second_run_writes_the_same_files_over(tmp_path: Path) -> None:
    tensor = tensor_of(GRID)
    first = write(tmp_path, tensor)
    content = {file.path: (tmp_path / file.path).read_bytes() for file in first}
    again = write(tmp_path, tensor)
    assert [(file.path, file.statistics) for file in again] == [(file.path, file.statistics) for file in first]
    assert {file.path: (tmp_path / file.path).read_bytes() for file in again} == content
    assert sorted(path.name for path in (tmp_path / "release_id=a").iterdir()) == ["part-00000.zstd.parquet"]


# A square kilometre for a day, across tiles and days, at the paper's 576 x 576 cells, over six days.
LARGE = Grid(GRID.box, 576, GRID.start, 10_800, 48)
SIDE = round(1000 / LARGE.cell_metres[0])
WANTED = {"y": (100, 100 + SIDE), "x": (300, 300 + SIDE), "slice": (13, 21)}


@pytest.fixture(scope="module")
def large_files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("large")
    return [str(folder / file.path) for file in write(folder, Tensor(np.ones(LARGE.shape, np.float32)), LARGE)]


def test_a_square_kilometre_for_a_day_is_in_few_row_groups(large_files: list[str]) -> None:
    """The share of bytes in row groups that may hold such cells, as their statistics tell."""
    read = whole = 0
    for file in large_files:
        groups = pq.ParquetFile(file).metadata
        for number in range(groups.num_row_groups):
            group = groups.row_group(number)
            size = sum(group.column(place).total_compressed_size for place in range(group.num_columns))
            columns = {group.column(place).path_in_schema: group.column(place) for place in range(group.num_columns)}
            whole += size
            read += size * all(
                columns[name].statistics.min < high and columns[name].statistics.max >= low
                for name, (low, high) in WANTED.items()
            )
    assert 0 < read / whole < 0.03


def test_duckdb_says_that_it_reads_few_row_groups_of_it(large_files: list[str]) -> None:
    where = " AND ".join(f"{name} >= {low} AND {name} < {high}" for name, (low, high) in WANTED.items())
    with duckdb.connect() as connection:
        connection.execute("PRAGMA enable_profiling = 'no_output'")
        asked = connection.execute(f"SELECT sum(count) FROM read_parquet(?) WHERE {where}", [large_files])
        assert asked.fetchall() == [(8 * SIDE**2,)]
        scan = json.loads(connection.get_profiling_information("json"))["operator"][0]
    while scan["type"] != "TABLE_SCAN":
        (scan,) = scan["children"]
    assert 0 < scan["row_groups_scanned"] / scan["total_row_groups_to_scan"] < 0.03
