"""Sums over H3 hexagons, with the error bars of sums: a coarser release in a grid that others count in too.

A cell belongs, whole, to the hexagon that holds its centre. So a hexagon's border is ragged by up to half a cell, which
is why hexagons smaller than cells are refused; and at the edge of the box hexagons are cut off, which `cells` shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import h3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vdr_spark.arrays import Floats, Image, Integers
from vdr_spark.errors import InvalidExport
from vdr_spark.export.arrow_cells import repeat_moment
from vdr_spark.export.csv_cells import open_csv, write_moment, write_statement
from vdr_spark.export.formats import statement_path
from vdr_spark.export.labels import labels_of
from vdr_spark.export.part import Part
from vdr_spark.progress import Update

_COLUMNS = [
    ("h3", pa.string()),
    ("slice", pa.int32()),
    ("slice_start", pa.timestamp("us", tz="UTC")),
    ("cells", pa.int32()),
    ("count", pa.float64()),
    ("deviation", pa.float64()),
]
Write = Callable[[pa.Table], object]


@dataclass(frozen=True)
class Hexagons:
    """Writes one row for each hexagon and slice, as CSV or Parquet by the path's ending."""

    resolution: int

    @property
    def endings(self) -> tuple[str, ...]:
        return ".csv", ".csv.gz", ".parquet"

    def companions(self, path: Path) -> list[Path]:
        return [] if path.suffix == ".parquet" else [statement_path(path)]

    def write(self, part: Part, paths: Sequence[Path], update: Update) -> None:
        """Assign the cells of a slice once, and add up slice by slice."""
        self._check_size(part)
        names, hexagons = _assign(part, self.resolution)
        for statement in paths[1:]:
            write_statement(part, statement)
        with _open(part, paths[0], self.resolution) as write:
            for done, number in enumerate(part.slices, start=1):
                write(_sums(part, number, names, hexagons))
                update(done * hexagons.size, part.name_slice(number))

    def _check_size(self, part: Part) -> None:
        height, width = part.release.grid.cell_metres
        metres = h3.average_hexagon_area(self.resolution, unit="m^2")
        if metres < height * width:
            raise InvalidExport(
                f"resolution must be one whose hexagons are larger than a cell of {width:.0f} m x {height:.0f} m, and "
                f"{self.resolution} has {metres:,.0f} square metres: most would hold no cell's centre; choose a "
                "smaller number"
            )


def _assign(part: Part, resolution: int) -> tuple[list[str], Integers]:
    """Return the hexagons by name, in order, and for each cell of a slice the place of its own among them. (R * C,)"""
    grid = part.release.grid
    lat = grid.latitudes()[part.rows.start : part.rows.stop].tolist()
    lon = grid.longitudes()[part.columns.start : part.columns.stop].tolist()
    names, places = np.unique([h3.latlng_to_cell(y, x, resolution) for y in lat for x in lon], return_inverse=True)
    return names.tolist(), places.astype(np.int64)


def _sums(part: Part, number: int, names: list[str], hexagons: Integers) -> pa.Table:
    """Return the rows of one slice."""
    tile = part.image(number)
    cells = np.bincount(hexagons).astype(np.float64)
    counts = _add_up(part.counts(tile), hexagons)
    columns = {
        "h3": pa.array(names),
        "slice": pa.array(np.full(len(names), number, dtype=np.int32)),
        "slice_start": repeat_moment(part.release.grid.slice_start(number), len(names)),
        "cells": pa.array(cells.astype(np.int32)),
        "count": pa.array(counts),
        "deviation": _deviations(part, part.deviation(tile), hexagons, cells, counts),
    }
    return pa.table(columns, schema=pa.schema(_COLUMNS))


def _deviations(part: Part, deviation: Image | None, hexagons: Integers, cells: Floats, counts: Floats) -> pa.Array:
    """Return one standard deviation of each sum: errors of cells that are alike add up (`vdr_spark.sum_errors`)."""
    if deviation is None:
        return pa.nulls(len(cells), pa.float64())
    variance = _add_up(np.square(deviation, dtype=np.float64), hexagons)
    if part.release.sum_errors is not None:
        variance = part.release.sum_errors.variance(cells, np.ones_like(cells), counts, variance)
    return pa.array(np.sqrt(variance))


def _add_up(values: Image | Floats, hexagons: Integers) -> Floats:
    return np.bincount(hexagons, weights=values.ravel()).astype(np.float64)


def _open(part: Part, path: Path, resolution: int) -> AbstractContextManager[Write]:
    return _open_parquet(part, path, resolution) if path.suffix == ".parquet" else _open_csv(path)


@contextmanager
def _open_parquet(part: Part, path: Path, resolution: int) -> Iterator[Write]:
    schema = pa.schema(_COLUMNS, metadata=labels_of(part) | {"h3_resolution": str(resolution)})
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        yield lambda table: writer.write_table(table.cast(schema))


@contextmanager
def _open_csv(path: Path) -> Iterator[Write]:
    place = [name for name, _ in _COLUMNS].index("slice_start")
    schema = pa.schema(_COLUMNS).set(place, pa.field("slice_start", pa.string()))
    with open_csv(path, schema) as write:
        yield lambda table: write(
            table.set_column(
                place,
                "slice_start",
                pa.repeat(write_moment(table["slice_start"][0].as_py()), len(table)),
            )
        )
