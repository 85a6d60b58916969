"""One reading in a fresh process: slices written as collect writes them, read by Petastorm, compared to the last bit.

Run by `environments.py` in each environment, and by hand: `python -m tests.matrix.read_by_petastorm`. It needs no
Spark, no PyTorch and no pytest. Prints the versions it ran with; exits with an assertion where a number differs.
"""

import sys
import tempfile
import types
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas  # noqa: F401  before Petastorm, so that what it brings along is no news
import pyarrow as pa
import pyarrow.parquet as pq

from vdr_spark.denoise.petastorm_reader import read_slices
from vdr_spark.grid import Box, Grid

T, M = 23, 40
FILES = 5  # the last is empty, as Spark leaves them
GRID = Grid(Box(0, 0, 1, 1), M, datetime(2024, 1, 1, tzinfo=UTC), 3600, T)
GONE = ("pyarrow.filesystem", "pyarrow.hdfs", "pyarrow.localfs", "distutils.version")
LIBRARIES = (pa, pa.lib, pq, np)


def write(folder: Path, tensor: np.ndarray) -> list[str]:
    """Write (T, M*M) numbers as a table `noisy_slices` in several files, each of several row groups."""
    order = np.random.default_rng(7).permutation(T)
    names = []
    for number, slices in enumerate([*np.array_split(order, FILES - 1), order[:0]]):
        table = pa.table(
            {
                "slice": pa.array(slices, pa.int32()),
                "counts": pa.array([tensor[number].astype("<i4").tobytes() for number in slices], pa.binary()),
                "bytes_per_count": pa.array([4] * len(slices), pa.int32()),
                "units_per_ping": pa.array([1] * len(slices), pa.int64()),
                "protected": pa.array([True] * len(slices), pa.bool_()),
                # Text is not in these files, but Petastorm asks NumPy for its type, and NumPy 2 calls it otherwise.
                "text": pa.array(["x"] * len(slices), pa.string()),
            }
        )
        names.append(str(folder / f"part-{number:05d}.snappy.parquet"))
        pq.write_table(table, names[-1], row_group_size=2, compression="snappy")
    return names


def others_see() -> tuple[object, ...]:
    """Return what other users of these libraries see of them."""
    modules = {name: id(sys.modules.get(name)) for name in GONE}
    return modules, [name for name in sys.modules if name.startswith("petastorm")], *map(_names, LIBRARIES)


def _names(module: types.ModuleType) -> dict[str, int]:
    return {name: id(value) for name, value in vars(module).items() if not isinstance(value, types.ModuleType)}


def check_reading() -> None:
    """Write, read and compare, and look whether others notice."""
    # Float32 holds these exactly; the largest and the smallest it can are among them.
    tensor = np.random.default_rng(0).integers(-(2**24), 2**24 + 1, (T, M * M))
    tensor[3, :2] = -(2**24), 2**24
    before = others_see()
    with tempfile.TemporaryDirectory() as folder:
        read = read_slices(write(Path(folder), tensor), GRID)
    assert read.dtype == np.float32, read.dtype
    assert read.tobytes() == tensor.astype(np.float32).reshape(T, M, M).tobytes(), "other numbers than were written"
    assert others_see() == before, "the stand-ins leaked"


def main() -> None:
    check_reading()
    assert not {"pyspark", "torch"} & set(sys.modules), "reading needs neither Spark nor PyTorch"
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    print(python, *(version(name) for name in ("pyarrow", "numpy", "pandas")))


if __name__ == "__main__":
    main()
