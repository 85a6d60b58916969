"""Cells on disk: any part of them, the same as of the whole, with little else read."""

from datetime import UTC, datetime

import numpy as np
import pytest
from deltalake import DeltaTable, Field, Schema

from tests.release.test_cell_files import tensor_of
from vdr_spark.grid import Box, Grid
from vdr_spark.release import stored_cells
from vdr_spark.release.cell_files import write_cell_files
from vdr_spark.release.cell_source import EVERYTHING, Part
from vdr_spark.release.stored_cells import StoredCells
from vdr_spark.storage.delta_files import append_files_once
from vdr_spark.storage.schemas import CELLS
from vdr_spark.storage.tensor_file import Tensor

GRID = Grid(Box(0.0, 0.0, 1.0, 1.0), 150, datetime(2020, 1, 7, tzinfo=UTC), 3600, 20)
KINDS = {"STRING": "string", "INT": "integer", "TIMESTAMP": "timestamp", "DOUBLE": "double", "FLOAT": "float"}


@pytest.fixture(scope="module")
def tensor() -> Tensor:
    return tensor_of(GRID)


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory, tensor: Tensor) -> StoredCells:
    path = str(tmp_path_factory.mktemp("tables") / "cells")
    fields = [Field(name, KINDS.get(kind, kind.lower())) for name, kind, _ in CELLS.columns]
    DeltaTable.create(path, Schema(fields), partition_by=["release_id"])
    for name, scale in (("a", 1), ("b", 2)):
        scaled = Tensor(tensor.counts * np.float32(scale), tensor.deviation)
        append_files_once(
            path,
            CELLS,
            name,
            {"release_id": name},
            lambda name=name, scaled=scaled: write_cell_files(path, f"release_id={name}", GRID, scaled, True),
        )
    return StoredCells(path, "a", GRID)


PARTS: list[Part] = [
    EVERYTHING,
    (slice(3, 4), slice(None), slice(None)),
    (slice(7, 9), slice(60, 70), slice(0, 1)),
    (slice(None), slice(149, 150), slice(10, 140)),
    (slice(19, 20), slice(0, 64), slice(64, 128)),
]


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_that_of_the_whole(cells: StoredCells, tensor: Tensor, part: Part) -> None:
    counts, deviation = cells.read(part)
    np.testing.assert_array_equal(counts, tensor.counts[part])
    assert deviation is not None
    assert tensor.deviation is not None
    np.testing.assert_array_equal(deviation, tensor.deviation[part])


def test_a_small_part_reads_few_rows(cells: StoredCells, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    put = stored_cells.Window.put
    monkeypatch.setattr(
        stored_cells.Window, "put", lambda window, batch: (read.append(batch.num_rows), put(window, batch))[1]
    )
    cells.read((slice(0, 1), slice(5, 6), slice(5, 6)))
    assert sum(read) == 64 * 64 * 8  # one block
