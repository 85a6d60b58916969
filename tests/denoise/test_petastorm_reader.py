"""Reading through Petastorm: every slice exactly once, whatever the files are called."""

import warnings
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vdr_spark.denoise import petastorm_reader as module
from vdr_spark.denoise.petastorm_compat import load_petastorm
from vdr_spark.denoise.petastorm_reader import read_slices
from vdr_spark.errors import InvalidInput, StageMissing
from vdr_spark.grid import Box, Grid

T, M = 7, 6
GRID = Grid(Box(0, 0, 1, 1), M, datetime(2024, 1, 1, tzinfo=UTC), 3600, T)
TENSOR = np.random.default_rng(0).integers(-50, 50, (T, M * M))


def write(
    path: Path, numbers: list[int | None], values: list | None = None, rows_per_group: int = 2, width: int | None = 2
) -> str:
    """A file as Spark writes it, with the slices of `TENSOR` unless other values are given."""
    values = [TENSOR[number].tolist() for number in numbers] if values is None else values
    packed = [row if row is None or isinstance(row, bytes) else np.array(row, "<i2").tobytes() for row in values]
    table = pa.table(
        {
            "slice": pa.array(numbers, pa.int32()),
            "counts": pa.array(packed, pa.binary()),
            "bytes_per_count": pa.array([width] * len(numbers), pa.int32()),
            "release_id": pa.array(["x"] * len(numbers), pa.string()),
        }
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=rows_per_group, compression="snappy")
    return str(path)


def expected() -> np.ndarray:
    return TENSOR.reshape(T, M, M)


def test_slices_come_in_order_from_files_in_any_order(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "part-0000.snappy.parquet", [6, 2, 0]),
        write(tmp_path / "part-0001.snappy.parquet", []),  # Spark leaves empty files behind
        write(tmp_path / "part-0002.snappy.parquet", [1, 5, 4, 3]),
    ]
    for order in (files, files[::-1], [files[1], files[0], files[2]]):
        tensor = read_slices(order, GRID)
        assert tensor.dtype == np.float32
        np.testing.assert_array_equal(tensor, expected())


@pytest.mark.parametrize("folder", ["draw_id=abc-1", "slice=3", "a b%20c", "what?#;&=", "draw_id=a%3Ab"])
@pytest.mark.parametrize("files", [1, 2])
def test_folder_names_say_nothing_about_the_data(tmp_path: Path, folder: str, files: int) -> None:
    where = tmp_path / folder
    paths = [write(where / "part-0.parquet", list(range(T)))]
    if files == 2:
        paths = [write(where / "p-0.parquet", [0, 1, 2]), write(where / "p-1.parquet", [3, 4, 5, 6])]
    np.testing.assert_array_equal(read_slices(paths, GRID), expected())
    for scheme in ("file://", "file:"):  # Spark's and Hadoop's spelling, percent-encoded
        uris = [scheme + quote(path) for path in paths]
        np.testing.assert_array_equal(read_slices(uris, GRID), expected())


def test_files_of_an_object_store_are_read(tmp_path: Path) -> None:
    local = write(tmp_path / "part-0.parquet", list(range(T)))
    store = fsspec.filesystem("memory")
    store.pipe_file("/bucket/draw_id=x/part 0.parquet", Path(local).read_bytes())
    try:
        tensor = read_slices(["memory://bucket/draw_id%3Dx/part%200.parquet"], GRID)
    finally:
        store.rm("/bucket", recursive=True)
    np.testing.assert_array_equal(tensor, expected())


def test_no_files_means_that_collect_has_not_run() -> None:
    with pytest.raises(StageMissing, match="collect"):
        read_slices([], GRID)


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        ([0, 1, 2, 3, 4, 6], "must hold 7 rows.* holds 6"),
        ([0, 1, 2, 3, 4, 5, 6, 6], "must hold 7 rows.* holds 8"),
        ([0, 1, 2, 3, 4, 5, 5], "slice 5 twice"),  # 6 is missing: right number of rows, wrong slices
        ([0, 5, 1, 2, 5, 3, 4], "slice 5 twice"),  # in another row group
    ],
)
def test_a_missing_or_doubled_slice_is_refused(tmp_path: Path, numbers: list[int], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        read_slices([write(tmp_path / "part.parquet", numbers)], GRID)


def test_rows_that_petastorm_loses_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader is made to lose a file; nothing but the numbers of the slices can tell."""
    files = [write(tmp_path / "p-0.parquet", [0, 1, 2]), write(tmp_path / "p-1.parquet", [3, 4, 5, 6])]
    honest = module.make_batch_reader
    monkeypatch.setattr(module, "make_batch_reader", lambda urls, *a, **k: honest(urls[:1], *a, **k))
    with pytest.raises(InvalidInput, match="twice, so another one is missing"):
        read_slices(files, GRID)


@pytest.mark.parametrize("order", [("slice", "counts", "bytes_per_count"), ("counts", "bytes_per_count", "slice")])
def test_petastorm_s_order_of_columns_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: tuple[str, ...]
) -> None:
    """It comes from a set of strings, so it changes with the hash seed of the process."""
    unischema = load_petastorm()["petastorm.unischema"]
    monkeypatch.setattr(unischema, "match_unischema_fields", lambda schema, _: [schema.fields[c] for c in order])
    file = write(tmp_path / "part.parquet", list(range(T)))
    np.testing.assert_array_equal(read_slices([file], GRID), expected())


@pytest.mark.parametrize("number", [T, -1, None])
def test_a_slice_outside_the_grid_is_refused(tmp_path: Path, number: int | None) -> None:
    numbers = [0, 1, 2, 3, 4, 5, number]
    with pytest.raises(InvalidInput, match=r"the grid has 0 \.\. 6"):
        read_slices([write(tmp_path / "part.parquet", numbers, TENSOR.tolist())], GRID)


def spoilt(row: object) -> list:
    return [*TENSOR[:-1].tolist(), row]


@pytest.mark.parametrize(
    ("values", "width", "sentence"),
    [
        ([[1] * 35] * T, 2, "slice 0 of noisy_slices has 35 values.*6 x 6 = 36"),
        (spoilt([1] * 35), 2, "slice 6 of noisy_slices has 35 values"),
        (spoilt(None), 2, "slice 6 of noisy_slices is null"),
        (spoilt(b"x" * 71), 2, "slice 6 .* whole numbers"),
        (TENSOR.tolist(), 4, "slice 0 of noisy_slices has 18 values"),
        (TENSOR.tolist(), 3, "slice 0 .* whole numbers"),
        (TENSOR.tolist(), None, "slice 0 .* whole numbers"),
    ],
)
def test_spoilt_values_are_refused(tmp_path: Path, values: list, width: int | None, sentence: str) -> None:
    file = write(tmp_path / "part.parquet", list(range(T)), values, rows_per_group=T, width=width)
    with pytest.raises(InvalidInput, match=sentence):
        read_slices([file], GRID)


def test_counts_that_end_in_zero_bytes_are_read_whole(tmp_path: Path) -> None:
    """A reader that takes bytes for text drops them."""
    empty = [[0] * M * M] * T
    file = write(tmp_path / "part.parquet", list(range(T)), empty)
    np.testing.assert_array_equal(read_slices([file], GRID), np.zeros((T, M, M)))


def test_a_file_that_is_gone_or_damaged_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"not there: .*gone\.parquet"):
        read_slices([str(tmp_path / "gone.parquet")], GRID)
    half = tmp_path / "half.parquet"
    half.write_bytes(Path(write(tmp_path / "part.parquet", list(range(T)))).read_bytes()[:300])
    with pytest.raises(InvalidInput, match="damaged"):
        read_slices([str(half)], GRID)


def test_a_file_of_another_table_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"slice": range(T), "count": range(T)}), tmp_path / "part.parquet")
    with pytest.raises(InvalidInput, match="lacks the columns bytes_per_count, counts"):
        read_slices([str(tmp_path / "part.parquet")], GRID)


def test_petastorm_is_quiet_and_other_warnings_are_heard_afterwards(tmp_path: Path) -> None:
    file = write(tmp_path / "part.parquet", list(range(T)))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        read_slices([file], GRID)
        warnings.warn("still here", FutureWarning, stacklevel=1)
    assert [str(warning.message) for warning in heard if warning.category is FutureWarning] == ["still here"]
