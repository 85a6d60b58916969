"""Types are compared by what Spark makes of them, in the files' footers, and no row is looked at."""

from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vdr_spark.errors import InvalidInput
from vdr_spark.pings.parquet_schemas import compare_types, require_same_bits
from vdr_spark.pings.parquet_types import classify_column, find_column, open_parquet

ONE = pa.array([1])


def sort(folder: Path, values: pa.Array, **options: Any) -> str:
    pq.write_table(pa.table({"x": values}), folder / "x.parquet", **options)
    return classify_column(open_parquet(folder / "x.parquet"), "x")


def files(folder: Path, *values: pa.Array) -> list[str]:
    for number, column in enumerate(values):
        pq.write_table(pa.table({"x": column}), folder / f"anna{number}.parquet")
    return [(folder / f"anna{number}.parquet").as_uri() for number in range(len(values))]


def refusal(uris: list[str]) -> str:
    with pytest.raises(InvalidInput) as caught:
        compare_types(uris, ["x"], "the folder")
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert "anna" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("expected", "kinds"),
    [
        ("whole number", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32()]),
        ("uint64", [pa.uint64()]),
        ("number", [pa.float32(), pa.float64()]),
        ("text", [pa.string(), pa.large_string()]),
        ("instant", [pa.timestamp("ms", "UTC"), pa.timestamp("us", "UTC"), pa.timestamp("us", "Asia/Tokyo")]),
        ("instant in nanoseconds", [pa.timestamp("ns", "UTC")]),
        ("wall clock", [pa.timestamp("ms"), pa.timestamp("us")]),
        ("wall clock in nanoseconds", [pa.timestamp("ns")]),
    ],
)
def test_types_of_one_sort(tmp_path: Path, expected: str, kinds: list[pa.DataType]) -> None:
    assert {sort(tmp_path, ONE.cast(kind)) for kind in kinds} == {expected}


def test_how_values_are_packed_is_no_type(tmp_path: Path) -> None:
    assert sort(tmp_path, pa.array(["u"]).dictionary_encode()) == "text"
    assert sort(tmp_path, ONE.cast(pa.timestamp("us")), use_deprecated_int96_timestamps=True) == "instant"


def test_names_are_found_as_spark_finds_them(tmp_path: Path) -> None:
    pq.write_table(pa.table([ONE, ONE, ONE, ONE], names=["a", "A", "B", "c"]), tmp_path / "x.parquet")
    file = open_parquet(tmp_path / "x.parquet")
    assert [find_column(file, name) for name in ("a", "A", "b", "C", "d")] == ["a", "A", "B", "c", None]
    pq.write_table(pa.table([ONE, ONE], names=["aB", "Ab"]), tmp_path / "y.parquet")
    with pytest.raises(pa.ArrowInvalid):
        find_column(open_parquet(tmp_path / "y.parquet"), "ab")


def test_files_of_one_sort_pass(tmp_path: Path) -> None:
    assert compare_types([], ["x"], "the folder") == {"x": set()}
    both = files(tmp_path, ONE, ONE.cast(pa.int8()))
    assert compare_types(both, ["x", "missing"], "the folder") == {"x": {"whole number"}, "missing": set()}


def test_other_bits_are_refused_for_a_spark_that_would_cut_them_off(tmp_path: Path) -> None:
    for kinds in (("int8", "int32"), ("int32", "uint32"), ("int32", "int64"), ("float", "double")):
        both = files(tmp_path, *(ONE.cast(kind) for kind in kinds))
        with pytest.raises(InvalidInput, match=rf"other bits than in others \({', '.join(sorted(kinds))}\)") as caught:
            require_same_bits(both, ["x"], "the folder")
        assert "anna" not in str(caught.value)
    require_same_bits(files(tmp_path, ONE.cast("int8"), ONE.cast("int8")), ["x", "missing"], "the folder")
    require_same_bits(files(tmp_path, pa.array(["u"]), pa.array(["u"]).dictionary_encode()), ["x"], "the folder")


def test_files_of_two_sorts_are_refused(tmp_path: Path) -> None:
    said = refusal(files(tmp_path, ONE, ONE.cast(pa.string()), ONE))
    assert "column `x` of the folder has in some files other types than the other files' (text, whole number)" in said


@pytest.mark.parametrize(("zone", "sort"), [("UTC", "instant"), (None, "wall clock")])
def test_two_units_of_time_are_told_whatever_the_order_of_files(tmp_path: Path, zone: str | None, sort: str) -> None:
    both = files(tmp_path, ONE.cast(pa.timestamp("ns", zone)), ONE.cast(pa.timestamp("us", zone)))
    for uris in (both, both[::-1]):
        assert compare_types(uris, ["x"], "the folder") == {"x": {sort, f"{sort} in nanoseconds"}}


def test_nanoseconds_of_clocks_and_of_instants_are_two_sorts(tmp_path: Path) -> None:
    said = refusal(files(tmp_path, ONE.cast(pa.timestamp("ns", "UTC")), ONE.cast(pa.timestamp("ns"))))
    assert "(instant in nanoseconds, wall clock in nanoseconds)" in said


def test_a_damaged_file_is_left_to_whoever_reads_it(tmp_path: Path) -> None:
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 and no more")
    uris = [*files(tmp_path, ONE), (tmp_path / "torn.parquet").as_uri()]
    assert compare_types(uris, ["x"], "the folder") == {"x": {"whole number"}}


def test_a_file_that_the_driver_does_not_reach_is_a_sentence(tmp_path: Path) -> None:
    assert "cannot be read on the driver" in refusal([(tmp_path / "anna.parquet").as_uri()])
    assert "install fsspec's package" in refusal(["nowhere://bucket/anna.parquet"])


def test_files_in_an_object_store(tmp_path: Path) -> None:
    files(tmp_path, ONE, ONE.cast(pa.string()))
    store = fsspec.filesystem("memory")
    for number in range(2):
        store.pipe(f"/footers/anna 100% {number}.parquet", (tmp_path / f"anna{number}.parquet").read_bytes())
    uris = [f"memory://footers/anna%20100%25%20{number}.parquet" for number in range(2)]
    compare_types(uris[:1], ["x"], "the bucket")
    assert "(text, whole number)" in refusal(uris)
