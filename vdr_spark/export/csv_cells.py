"""CSV, one row a cell, compressed where the path ends in .gz; the statement lies beside it, as JSON.

A number is written with as many digits as it takes to read the same number back.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

from vdr_spark.export.arrow_cells import cell_columns
from vdr_spark.export.formats import statement_path
from vdr_spark.export.labels import labels_as_json
from vdr_spark.export.part import Part, Tile
from vdr_spark.progress import Update
from vdr_spark.storage.files import as_json

_LEVEL = 4  # of compression: 9, which Arrow would take, saved 5 % and took over four times as long
Write = Callable[[pa.Table], object]
_COLUMNS = [
    ("slice", pa.int32()),
    ("slice_start", pa.string()),
    ("y", pa.int32()),
    ("x", pa.int32()),
    ("lat", pa.float64()),
    ("lon", pa.float64()),
    ("count", pa.float32()),
    ("deviation", pa.float32()),
]


class CsvCells:
    """Writes `cells.csv` or `cells.csv.gz`, and `cells.statement.json`."""

    @property
    def endings(self) -> tuple[str, ...]:
        return ".csv", ".csv.gz"

    def companions(self, path: Path) -> list[Path]:
        return [statement_path(path)]

    def write(self, part: Part, paths: Sequence[Path], update: Update) -> None:
        """Write slice by slice."""
        write_statement(part, paths[1])
        schema = pa.schema(_COLUMNS)
        with open_csv(paths[0], schema) as write:
            for done, number in enumerate(part.slices, start=1):
                tile = part.image(number)
                write(pa.table(_columns(part, tile), schema=schema))
                update(done * tile.size, part.name_slice(number))


def _columns(part: Part, tile: Tile) -> dict[str, pa.Array]:
    """Return the columns of a cell, with the place of its centre and the start of its slice in words."""
    grid, columns = part.release.grid, cell_columns(part, tile)
    return columns | {
        "slice_start": pa.repeat(write_moment(grid.slice_start(tile.number)), tile.size),
        "lat": pa.array(np.repeat(grid.latitudes()[tile.rows.start : tile.rows.stop], len(tile.columns))),
        "lon": pa.array(np.tile(grid.longitudes()[tile.columns.start : tile.columns.stop], len(tile.rows))),
    }


def write_moment(moment: datetime) -> str:
    """Return a moment in UTC, as ISO 8601 has it: 2020-01-07T09:00:00Z."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def write_statement(part: Part, path: Path) -> None:
    """Write what the file says of itself, which CSV has no place for."""
    path.write_text(as_json(labels_as_json(part)) + "\n", encoding="utf-8")


@contextmanager
def open_csv(path: Path, schema: pa.Schema) -> Iterator[Write]:
    """Open a file for tables of a schema, with a header. No value of ours needs quotes, and none has them."""
    options = pc.WriteOptions(include_header=False, quoting_style="none")
    with gzip.open(path, "wb", _LEVEL) if path.suffix == ".gz" else open(path, "wb") as stream:
        stream.write((",".join(schema.names) + "\n").encode())
        with pc.CSVWriter(stream, schema, write_options=options) as writer:
            yield writer.write_table
