"""Every ping of the files is read once, in our types, by Spark or by the tasks themselves, with the same counts."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from vdr_spark.collect import parquet_splits
from vdr_spark.collect.bounding import Sample, SampleKey
from vdr_spark.collect.counting import count_bounded
from vdr_spark.collect.locate import locate
from vdr_spark.collect.packed_counts import sum_packed
from vdr_spark.collect.parquet_splits import Split, read_split, split_file
from vdr_spark.collect.source import DirectSource, Source, SparkSource, open_source
from vdr_spark.config.settings import InputSettings
from vdr_spark.errors import InvalidInput
from vdr_spark.grid import Box, Grid
from vdr_spark.spark_versions import to_arrow

GRID = Grid(Box(0, 0, 1, 1), 4, datetime(2020, 1, 1, tzinfo=UTC), 3600, 4)
KEY = SampleKey.seeded(2)
OURS = {name: name for name in ("user_id", "lat", "lon", "ts")}


def pings(rows: int = 600, ids: pa.DataType | None = None, seed: int = 0) -> pa.Table:
    """Some of them outside, some null, of users with few and with many pings."""
    random = np.random.default_rng(seed)
    users = pa.array(random.integers(0, 12, rows) ** 2 // 10).cast(ids or pa.int64())
    lat, lon = (pa.array(random.uniform(-0.1, 1.1, rows), mask=random.random(rows) < 0.05) for _ in range(2))
    us = int(GRID.start.timestamp()) * 1_000_000 + random.integers(-1000, 15_000, rows) * 1_000_000
    return pa.table({"user_id": users, "lat": lat, "lon": lon, "ts": pa.array(us).cast(pa.timestamp("us", "UTC"))})


def count(source: Source) -> dict[int, list[int]]:
    rows = to_arrow(count_bounded(source, [GRID], Sample(7, 6, KEY), KEY, 2)).to_batches()
    return {layer: counts.tolist() for layer, counts in sum_packed(rows, 16).items()}


def read_all(path: Path, id_type: str = "bigint", columns: dict[str, str] = OURS) -> pa.Table:
    split = Split(path.as_uri(), 0, path.stat().st_size)
    return pa.Table.from_batches(list(read_split(split, columns, id_type)))


def test_splits_read_each_row_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pings().set_column(0, "user_id", pa.array(range(600)))
    file = tmp_path / "many.parquet"
    pq.write_table(table, file, row_group_size=50)
    for size in (97, 1000, 4096, file.stat().st_size - 1, file.stat().st_size, 10**9):
        monkeypatch.setattr(parquet_splits, "_BYTES_PER_SPLIT", size)
        splits = list(split_file(file.as_uri()))
        read = [batch.column("user_id").to_pylist() for split in splits for batch in read_split(split, OURS, "bigint")]
        assert sorted(user for part in read for user in part) == list(range(600))
        if size == 4096:
            assert sum(bool(list(read_split(split, OURS, "bigint"))) for split in splits) > 1


def test_columns_come_out_in_our_names_and_types(tmp_path: Path) -> None:
    """Whatever the file keeps them as: INT96, milliseconds, single precision, short ids, dictionaries."""
    plain = pings(50)
    milliseconds = plain.column("ts").cast(pa.timestamp("ms", "UTC"))
    narrow = {"ts": milliseconds, "lat": plain.column("lat").cast(pa.float32())}
    forms = {
        "int96": (plain, {"use_deprecated_int96_timestamps": True}),
        "narrow": (pa.table({"user_id": plain.column("user_id").cast(pa.int32()), "lon": plain["lon"]} | narrow), {}),
        "zone": (plain.set_column(3, "ts", plain["ts"].cast(pa.timestamp("us", "America/Chicago"))), {}),
    }
    for name, (table, options) in forms.items():
        pq.write_table(table, tmp_path / f"{name}.parquet", **options)
        read = read_all(tmp_path / f"{name}.parquet")
        assert read.schema.types == [pa.int64(), pa.float64(), pa.float64(), pa.timestamp("us", "UTC")]
        assert read.column_names == list(OURS)
        assert read["user_id"].equals(plain["user_id"])
        assert read["ts"].equals(plain["ts"])
        assert read["lat"].equals(table["lat"].cast(pa.float64()))
    text = plain.set_column(0, "caid", plain["user_id"].cast(pa.string()).dictionary_encode())
    pq.write_table(text, tmp_path / "text.parquet")
    read = read_all(tmp_path / "text.parquet", "string", OURS | {"user_id": "caid"})
    assert read["user_id"].equals(plain["user_id"].cast(pa.string()))


def test_nanoseconds_are_rounded_down(tmp_path: Path) -> None:
    """Whole microseconds or not, after and before 1970, to the ends of what 64 bits hold."""
    numbers = [0, 1, 999, 1000, 1001, -1, -999, -1000, -1001, 2**63 - 1, -(2**63), None]
    ts = pa.array(numbers, pa.int64()).cast(pa.timestamp("ns", "UTC"))
    pq.write_table(pings(len(numbers)).set_column(3, "ts", ts), tmp_path / "ns.parquet")
    read = read_all(tmp_path / "ns.parquet")["ts"]
    assert read.type == pa.timestamp("us", "UTC")
    assert read.cast(pa.int64()).to_pylist() == [None if number is None else number // 1000 for number in numbers]


@pytest.mark.parametrize("year", [2020, 1960])
def test_nanoseconds_beside_microseconds_count_as_spark_counts_them(
    spark: SparkSession, tmp_path: Path, year: int
) -> None:
    """Each ping a nanosecond from the edge of a slice. Spark reads the two sorts only apart, tasks in any order."""
    grid = Grid(GRID.box, GRID.cells_per_side, datetime(year, 1, 1, tzinfo=UTC), 3600, 4)
    start = int(grid.start.timestamp()) * 10**9
    edges = [start + hour * 3600 * 10**9 for hour in (0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4)]
    near = [edge + off for edge in edges for off in (-1001, -1000, -1, 0, 1, 999)]
    ns = pings(len(near)).set_column(3, "ts", pa.array(near).cast(pa.timestamp("ns", "UTC")))
    ns = ns.set_column(1, "lat", pa.array([0.5] * len(near))).set_column(2, "lon", pa.array([0.5] * len(near)))
    us = ns.set_column(3, "ts", pa.array([number // 1000 for number in near]).cast(pa.timestamp("us", "UTC")))
    for name, tables in {"us first": (us, ns), "ns first": (ns, us), "us": (us,), "ns": (ns,)}.items():
        (tmp_path / name).mkdir()
        for number, table in enumerate(tables):
            pq.write_table(table, tmp_path / name / f"{number}.parquet")

    def open_as(name: str, reader: str) -> Source:
        return open_source(spark, InputSettings(path=str(tmp_path / name), reader=reader), [grid])

    def count_read(name: str) -> NDArray[np.int64]:
        """By slices, what the tasks read."""
        source = open_as(name, "auto")
        assert isinstance(source, DirectSource)
        batches = (batch for split in source.splits for batch in read_split(split, source.columns, source.id_type))
        cells = np.concatenate([locate(batch, [grid]).cell for batch in batches])
        return np.bincount(cells // 16, minlength=grid.slices)

    def count_by_spark(name: str) -> NDArray[np.int64]:
        rows = to_arrow(count_bounded(open_as(name, "spark"), [grid], Sample(10**6, 6, KEY), KEY, 2)).to_batches()
        found = sum_packed(rows, 16)
        return np.array([found[layer].sum() for layer in range(grid.slices)])

    np.testing.assert_array_equal(count_read("us"), [9, 15, 21, 15])
    np.testing.assert_array_equal(count_read("ns"), count_read("us"))
    for both in ("us first", "ns first"):
        np.testing.assert_array_equal(count_read(both), [18, 30, 42, 30])
        with pytest.raises(InvalidInput, match="nanoseconds in some files"):
            open_as(both, "spark")
    np.testing.assert_array_equal(count_by_spark("ns"), count_read("us"))


def test_naive_nanoseconds_go_through_spark(spark: SparkSession, tmp_path: Path) -> None:
    """As pandas writes them by default: wall clocks in input.timezone, here an hour before UTC's."""
    frame = pings(100).to_pandas()
    frame["ts"] = frame["ts"].astype("datetime64[ns, UTC]").dt.tz_convert("Europe/Berlin").dt.tz_localize(None)
    frame.to_parquet(tmp_path / "naive.parquet")
    pq.write_table(pings(100), tmp_path / "plain.parquet")
    naive = open_source(spark, InputSettings(path=str(tmp_path / "naive.parquet"), timezone="Europe/Berlin"), [GRID])
    assert isinstance(naive, SparkSource)
    assert count(naive) == count(open_source(spark, InputSettings(path=str(tmp_path / "plain.parquet")), [GRID]))


def test_a_file_that_lacks_a_column_gives_nothing(tmp_path: Path) -> None:
    pq.write_table(pings(20).drop_columns(["lon"]), tmp_path / "less.parquet")
    split = Split((tmp_path / "less.parquet").as_uri(), 0, 10**9)
    assert list(read_split(split, OURS, "bigint")) == []


def test_names_may_differ_in_case_from_file_to_file(tmp_path: Path) -> None:
    file = tmp_path / "shouting.parquet"
    pq.write_table(pings().rename_columns(["USER_ID", "Lat", "lon", "ts"]), file)
    assert read_all(file).num_rows == 600


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("lat", pa.string()),
        ("ts", pa.int64()),
        ("ts", pa.timestamp("us")),
        ("user_id", pa.string()),
        ("user_id", pa.uint64()),  # though these ids would fit: whether a file is read depends on no row of it
    ],
)
def test_a_column_of_another_type_is_refused_not_converted(tmp_path: Path, column: str, kind: pa.DataType) -> None:
    """Seconds taken for microseconds would put people elsewhere, silently."""
    table, file = pings(), tmp_path / "odd.parquet"
    place = table.schema.get_field_index(column)
    pq.write_table(table.set_column(place, column, table[column].cast(kind)), file)
    with pytest.raises(RuntimeError, match="FAILED_READ_FILE"):
        read_all(file)


@pytest.mark.parametrize("damage", ["truncated", "overwritten", "missing"])
def test_a_damaged_file_is_named_and_nothing_of_it_is_told(tmp_path: Path, damage: str) -> None:
    secret = "anna-the-secret-id"
    file = tmp_path / "part.parquet"
    table = pings(500).set_column(0, "user_id", pa.array([secret] * 500))
    pq.write_table(table, file, compression="none", use_dictionary=False)
    content = file.read_bytes()
    if damage == "truncated":
        file.write_bytes(content[: len(content) // 2])
    elif damage == "overwritten":
        file.write_bytes(content[:4] + secret.encode() * 40 + content[4 + 40 * len(secret) :])
    else:
        file.unlink()
    with pytest.raises(RuntimeError, match="FAILED_READ_FILE") as caught:
        list(read_split(Split(file.as_uri(), 0, 10**9), OURS, "string"))
    assert str(caught.value) == f"FAILED_READ_FILE {file.as_uri()}"
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("ids", [pa.int64(), pa.int32(), pa.string()], ids=str)
def test_both_ways_of_reading_count_the_same(spark: SparkSession, tmp_path: Path, ids: pa.DataType) -> None:
    folder = tmp_path / "a folder, 100% #ü"
    folder.mkdir()
    pq.write_table(pings(ids=ids), folder / "part=1.parquet", row_group_size=100)
    pq.write_table(pings(ids=ids, seed=1), folder / "part-2.parquet", use_deprecated_int96_timestamps=True)
    direct, by_spark = (
        open_source(spark, InputSettings(path=str(folder), reader=reader), [GRID]) for reader in ("auto", "spark")
    )
    assert isinstance(direct, DirectSource)
    assert isinstance(by_spark, SparkSource)
    assert direct.id_type == by_spark.id_type == ("string" if ids == pa.string() else "bigint")
    counts = count(direct)
    assert counts == count(by_spark)
    assert sum(map(sum, counts.values())) > 50


@pytest.mark.skipif(pyspark.__version__ < "4", reason="Spark 3.5 knows no collations")
def test_text_with_a_collation_is_text(spark: SparkSession, tmp_path: Path) -> None:
    """Taken for numbers, `1` and `01` would be one user."""
    rows = "values ('1', 0.1), ('01', 0.1), (' 1', 0.1), ('a', 0.1), ('A', 0.1)"
    ids = f"select col1 collate UTF8_LCASE user_id, double(col2) lat, double(col2) lon from {rows}"
    spark.sql(f"select *, timestamp'2020-01-01 00:10:00' ts from ({ids})").write.parquet(str(tmp_path / "pings"))
    for reader in ("auto", "spark"):
        source = open_source(spark, InputSettings(path=str(tmp_path / "pings"), reader=reader), [GRID])
        assert source.id_type == "string"
        one_each = to_arrow(count_bounded(source, [GRID], Sample(1, 6, KEY), KEY, 2)).to_batches()
        assert sum_packed(one_each, 16)[0].sum() == 5


def as_delta(spark: SparkSession, folder: Path, table: pa.Table) -> InputSettings:
    spark.createDataFrame(table.to_pandas()).write.format("delta").save(str(folder))
    return InputSettings(path=str(folder), format="delta")


def as_csv(_: SparkSession, folder: Path, table: pa.Table) -> InputSettings:
    folder.mkdir()
    table.to_pandas().to_csv(folder / "part.csv", index=False)
    return InputSettings(path=str(folder), format="csv")


def as_user_folders(_: SparkSession, folder: Path, table: pa.Table) -> InputSettings:
    pq.write_to_dataset(table, folder, partition_cols=["user_id"])
    return InputSettings(path=str(folder))


def as_wall_clocks(_: SparkSession, folder: Path, table: pa.Table) -> InputSettings:
    folder.mkdir()
    pq.write_table(table.set_column(3, "ts", table["ts"].cast(pa.timestamp("us"))), folder / "part.parquet")
    return InputSettings(path=str(folder), timezone="UTC")


def as_text_degrees(_: SparkSession, folder: Path, table: pa.Table) -> InputSettings:
    folder.mkdir()
    pq.write_table(table.set_column(1, "lat", table["lat"].cast(pa.string())), folder / "part.parquet")
    return InputSettings(path=str(folder))


@pytest.mark.parametrize("written", [as_csv, as_user_folders, as_wall_clocks, as_text_degrees])
def test_what_needs_spark_goes_through_spark(
    spark: SparkSession, tmp_path: Path, written: Callable[[SparkSession, Path, pa.Table], InputSettings]
) -> None:
    """With the counts of the same pings in plain Parquet, but for the type of ids, which decides what is kept."""
    table = pings(ids=pa.string() if written in (as_csv, as_user_folders) else pa.int64())
    settings = written(spark, tmp_path / "input", table)
    source = open_source(spark, settings, [GRID])
    assert isinstance(source, SparkSource)
    pq.write_table(table, tmp_path / "plain.parquet")
    plain = open_source(spark, InputSettings(path=str(tmp_path / "plain.parquet")), [GRID])
    assert isinstance(plain, DirectSource)
    assert count(source) == count(plain)
    with pytest.raises(InvalidInput, match=r"input\.reader: `direct` needs plain Parquet files .* Set it to `auto`"):
        open_source(spark, settings.model_copy(update={"reader": "direct"}), [GRID])


def test_a_dataframe_counts_as_its_files_do(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pings(), tmp_path / "plain.parquet")
    plain = open_source(spark, InputSettings(path=str(tmp_path / "plain.parquet")), [GRID])
    frame = spark.read.parquet(str(tmp_path / "plain.parquet")).withColumnRenamed("user_id", "who")
    settings = InputSettings(dataframe="trips", columns={"user_id": "who"})
    source = open_source(spark, settings, [GRID], frame)
    assert isinstance(source, SparkSource)
    assert count(source) == count(plain)


def test_a_delta_table_is_read_by_its_live_files(spark: SparkSession, tmp_path: Path) -> None:
    """With the counts that Spark comes to; of rows that were deleted the old files are still there."""
    settings = as_delta(spark, tmp_path / "a table, 100% #ü", pings())
    spark.sql(f"DELETE FROM delta.`{settings.path}` WHERE user_id >= 1")
    assert sum(map(sum, count(open_source(spark, settings, [GRID])).values())) == 7
    spark.createDataFrame(pings(seed=1).to_pandas()).write.format("delta").mode("append").save(settings.path)
    direct, by_spark = (
        open_source(spark, settings.model_copy(update={"reader": reader}), [GRID]) for reader in ("auto", "spark")
    )
    assert isinstance(direct, DirectSource)
    assert isinstance(by_spark, SparkSource)
    assert count(direct) == count(by_spark)


@pytest.mark.parametrize(
    "feature",
    [
        "'delta.enableDeletionVectors' = 'true'",
        # Delta 3 raises the protocol by itself for the first, and wants to be told for this one.
        "'delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5'",
    ],
)
def test_a_delta_table_that_is_more_than_its_files_goes_through_spark(
    spark: SparkSession, tmp_path: Path, feature: str
) -> None:
    settings = as_delta(spark, tmp_path / "table", pings())
    spark.sql(f"ALTER TABLE delta.`{settings.path}` SET TBLPROPERTIES ({feature})")
    spark.sql(f"DELETE FROM delta.`{settings.path}` WHERE user_id >= 1")
    source = open_source(spark, settings, [GRID])
    assert isinstance(source, SparkSource)
    assert sum(map(sum, count(source).values())) == 7
    with pytest.raises(InvalidInput, match="`direct` needs plain Parquet files"):
        open_source(spark, settings.model_copy(update={"reader": "direct"}), [GRID])


def test_a_delta_table_in_folders_of_users_goes_through_spark(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame(pings().to_pandas())
    frame.write.format("delta").partitionBy("user_id").save(str(tmp_path / "table"))
    settings = InputSettings(path=str(tmp_path / "table"), format="delta")
    assert isinstance(open_source(spark, settings, [GRID]), SparkSource)


def test_a_folder_of_no_pings_gives_no_counts(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pings().slice(0, 0), tmp_path / "empty.parquet")
    for reader in ("direct", "spark"):
        assert count(open_source(spark, InputSettings(path=str(tmp_path), reader=reader), [GRID])) == {}
