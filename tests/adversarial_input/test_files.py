"""Files that mean harm: how one person's look never changes how the others' are read."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.adversarial_input.pings import NO_NOISE, READERS, K, Small, counted, places, write
from tests.plans import grid_of
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import InvalidInput
from vdr_spark.pings.csv_headers import MAX_LINE_BYTES
from vdr_spark.pings.readers import read_pings
from vdr_spark.spark.settings import settings_of_spark
from vdr_spark.spark_versions import READS_WIDER

HEADER = "user_id,lat,lon,ts"


def lines(config: ReleaseConfig, user: str, cells: list[int]) -> list[str]:
    """Pings of a user in the middle of flat cells, as lines of text."""
    where = places(grid_of(config), cells)
    columns = (where[name].to_pylist() for name in ("lat", "lon", "ts"))
    return [f"{user},{lat},{lon},{ts.isoformat()}" for lat, lon, ts in zip(*columns, strict=True)]


def write_text(config: ReleaseConfig, name: str, content: list[str]) -> Path:
    folder = Path(config.input.path)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(line + "\n" for line in content))
    return folder / name


@pytest.mark.parametrize("name", ["a.csv", "z.csv"])
@pytest.mark.parametrize("header", ["user_id,lon,lat,ts", "lat,user_id,lon,ts", "anna,29.7604,-95.3698,2020-01-07"])
def test_a_header_that_differs_is_refused(spark: SparkSession, small_config: Small, name: str, header: str) -> None:
    """Whichever file Spark takes the names from: with this one's, the others' hundred pings would lie elsewhere."""
    config = small_config(*NO_NOISE, "privacy.k=1", "input.format=csv")
    others = [line for user in range(100) for line in lines(config, f"u{user}", [user])]
    write_text(config, "m.csv", [HEADER, *others])
    np.testing.assert_array_equal(counted(spark, config)[:101], [1] * 100 + [0])
    write_text(config, name, [header])
    with pytest.raises(InvalidInput, match="must begin with the same line") as refusal:
        read_pings(spark, config.input)
    for part in ("anna", "29.7", name):
        assert part not in str(refusal.value)


def test_the_same_header_in_every_file_is_read_once(spark: SparkSession, small_config: Small) -> None:
    """After blank lines too, and after the mark that some programs put before UTF-8."""
    config = small_config(*NO_NOISE, "input.format=csv")
    for user, header in enumerate((HEADER, f"\n \n{HEADER}", f"\ufeff{HEADER}", f"{HEADER}\r")):
        write_text(config, f"{user}.csv", [header, *lines(config, f"u{user}", [user])])
    write_text(config, "empty.csv", [])
    np.testing.assert_array_equal(counted(spark, config)[:5], [1, 1, 1, 1, 0])
    assert read_pings(spark, config.input).count() == 4


def write_folder(config: ReleaseConfig, folder: str, cells: list[int]) -> None:
    """Pings without an id, in a folder that is called after it, in the format of the configuration."""
    inside = Path(config.input.path) / folder
    inside.mkdir(parents=True, exist_ok=True)
    table = pa.table(places(grid_of(config), cells))
    if config.input.format == "csv":
        table.to_pandas().to_csv(inside / "part.csv", index=False)
    else:
        pq.write_table(table, inside / "part.parquet")


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_folders_are_users_to_the_letter(spark: SparkSession, small_config: Small, form: str) -> None:
    """Whether or not there is a folder that is no number."""
    config = small_config(*NO_NOISE, "privacy.k=1", f"input.format={form}")
    write_folder(config, "user_id=1", [3, 4])
    write_folder(config, "user_id=01", [3, 4])
    pings = read_pings(spark, config.input)
    assert dict(pings.dtypes)["user_id"] == "string"
    assert sorted({row.user_id for row in pings.collect()}) == ["01", "1"]
    assert counted(spark, config)[3:5].sum() == 2
    write_folder(config, "user_id=abc", [3, 4])
    assert counted(spark, config)[3:5].sum() == 3


def test_spark_keeps_its_own_opinion_of_folders(spark: SparkSession, small_config: Small) -> None:
    """The setting is ours while we open; the session may be somebody's notebook."""
    config = small_config()
    write_folder(config, "user_id=1", [3])
    read_pings(spark, config.input)
    assert dict(spark.read.parquet(config.input.path).dtypes)["user_id"] == "int"


@pytest.mark.parametrize("folder", ["user_id=anna", "a=1", "day=1/user_id=anna"])
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_folder_beside_the_files_is_refused(spark: SparkSession, small_config: Small, form: str, folder: str) -> None:
    """Spark would take the folder for the whole table, and leave out everybody whose pings lie in the files."""
    config = small_config(*NO_NOISE, f"input.format={form}")
    write_folder(config, "", [3, 4])
    write_folder(config, folder, [5])
    with pytest.raises(InvalidInput, match=r"input\.path: either all files at .* lie in folders") as refusal:
        read_pings(spark, config.input)
    assert "anna" not in str(refusal.value)


def test_a_column_both_in_text_files_and_in_their_folders_is_refused(spark: SparkSession, small_config: Small) -> None:
    config = small_config(*NO_NOISE, "input.format=csv")
    Path(config.input.path, "user_id=anna").mkdir(parents=True)
    write_text(config, "user_id=anna/part.csv", [HEADER, *lines(config, "anna", [3])])
    for header in (True, False):
        with pytest.raises(InvalidInput, match="have a column in common; leave it out of the files"):
            read_pings(spark, config.input.model_copy(update={"header": header}))


LONG = {
    "30,000 columns": "," * 30_000,
    "as many as fit": "," * MAX_LINE_BYTES,
    "one too many": "," * (MAX_LINE_BYTES + 1),
    "three million": "," * 3_000_000,
    "one long id": "v" * 3_000_000,
    "a quote that is never closed": '"' + "v," * 1_000_000,
}


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
@pytest.mark.parametrize("header", [True, False])
def test_one_line_stops_nobody(
    spark: SparkSession, small_config: Small, header: bool, pack: Callable[[bytes], bytes]
) -> None:
    """However long it is and however many columns it has, the lines around it count as they do without it."""
    config = small_config(*NO_NOISE, "input.format=csv", f"input.header={header}")
    before, after = (lines(config, user, [3, 4]) for user in "uw")
    head = [HEADER] if header else []
    file = Path(config.input.path) / ("part.csv" if pack is bytes else "part.csv.gz")
    file.parent.mkdir()
    for name, line in LONG.items():
        file.write_bytes(pack("\n".join([*head, *before, line, *after, ""]).encode()))
        assert counted(spark, config)[2:6].tolist() == [0, 2, 2, 0], name


@pytest.mark.parametrize("size", [1 << 16, 100_000, 1 << 20])
def test_a_long_line_across_splits_takes_no_other_line_with_it(
    spark: SparkSession, small_config: Small, size: int
) -> None:
    """Hadoop reads a file in stretches, and each task finds by itself where the lines of its stretch begin."""
    config = small_config(*NO_NOISE, "input.format=csv")
    cells = list(range(500))
    for length in (MAX_LINE_BYTES, MAX_LINE_BYTES + 3, 3 << 20):
        others = [line for user in ("u", "w") for line in lines(config, user, cells)]
        write_text(config, "part.csv", [HEADER, *others[:500], "," * length, *others[500:]])
        with settings_of_spark(spark, {"spark.sql.files.maxPartitionBytes": str(size)}):
            read = [row.user_id for row in read_pings(spark, config.input).where("lat is not null").collect()]
        assert sorted(read) == ["u"] * 500 + ["w"] * 500


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_header_as_long_as_may_be(spark: SparkSession, small_config: Small, end: str) -> None:
    """It is compared and read, or it is refused: were it skipped, a person's row would be the header."""
    config = small_config(*NO_NOISE, "input.format=csv")
    long = "x" * (MAX_LINE_BYTES - len(HEADER) - 1) + "," + HEADER
    file = write_text(config, "part.csv", [])
    for header in (long, "\ufeff" + long[3:]):
        file.write_bytes(end.join([header, f"x,{lines(config, 'u', [3])[0]}"]).encode())
        assert read_pings(spark, config.input).count() == 1
    file.write_bytes(end.join(["x" + long, *lines(config, "u", [3])]).encode())
    with pytest.raises(InvalidInput, match="of at most 65536 bytes"):
        read_pings(spark, config.input)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("narrow", [pa.int8(), pa.uint8(), pa.int16(), pa.int32()], ids=str)
def test_short_ids_in_one_file_shorten_nobodys(
    spark: SparkSession, small_config: Small, narrow: pa.DataType, reader: str
) -> None:
    """Spark takes the types from the first file by name; 256 users would share the lowest byte of their ids."""
    config = small_config(*NO_NOISE, f"input.reader={reader}")
    write(config, "a", user_id=pa.array([1], narrow), **places(grid_of(config), [100]))
    wide = pa.int64() if narrow == pa.int32() else pa.int32()
    ids = np.repeat(1 + (np.arange(20) << (32 if wide == pa.int64() else 16)), 9)
    write(config, "b", user_id=pa.array(ids, wide), **places(grid_of(config), np.repeat(np.arange(20), 9)))
    if READS_WIDER:
        np.testing.assert_array_equal(counted(spark, config)[1:20], K)
    else:
        with pytest.raises(InvalidInput, match=r"column `user_id` of .* has in some files other bits than in others"):
            counted(spark, config)


@pytest.mark.parametrize("name", ["a", "z"])
@pytest.mark.parametrize("other", [pa.timestamp("us"), pa.timestamp("ns"), pa.int64(), pa.string()], ids=str)
def test_times_of_another_sort_in_one_file_are_refused(
    spark: SparkSession, small_config: Small, other: pa.DataType, name: str
) -> None:
    """Whichever file Spark takes the types from: with a wall clock's, everybody's instants would be read as Tokyo's."""
    config = small_config(*NO_NOISE, "input.timezone=Asia/Tokyo")
    theirs, hers = places(grid_of(config), range(100)), places(grid_of(config), [100])
    write(config, "m", user_id=pa.array(map(str, range(100))), **theirs)
    write(config, name, user_id=pa.array(["anna"]), **hers | {"ts": hers["ts"].cast(other, safe=False)})
    with pytest.raises(InvalidInput, match=r"column `ts` of .* has in some files other types") as refusal:
        read_pings(spark, config.input)
    assert "anna" not in str(refusal.value)


def test_nanoseconds_first_do_not_make_numbers_of_others_times(spark: SparkSession, small_config: Small) -> None:
    """Spark would take all times for numbers, and tell the unit of each by its size: 19 January 1970 is now in 2020."""
    config = small_config(*NO_NOISE)
    where = places(grid_of(config), [3])
    seconds = pa.array([int(grid_of(config).start.timestamp()) * 1000]).cast(pa.timestamp("us", "UTC"))
    write(config, "m", user_id=pa.array(["u"]), **where | {"ts": seconds})
    assert counted(spark, config).sum() == 0
    write(config, "z", user_id=pa.array(["v"]), **where | {"ts": where["ts"].cast(pa.timestamp("ns", "UTC"))})
    assert counted(spark, config).sum() == 1
    write(config, "a", user_id=pa.array(["v"]), **where | {"ts": where["ts"].cast(pa.timestamp("ns", "UTC"))})
    assert counted(spark, config).sum() == 2
    with pytest.raises(InvalidInput, match=r"nanoseconds in some files and not in others \(instant, instant in nano"):
        read_pings(spark, config.input)
