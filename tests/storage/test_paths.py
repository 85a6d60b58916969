"""What a location means: whatever names a store is no path of this machine, with one slash or with two."""

from pathlib import Path

import pytest

from vdr_spark.errors import InvalidConfig
from vdr_spark.plan import make_plan
from vdr_spark.storage import paths
from vdr_spark.storage.files import exists, read_text, write_text
from vdr_spark.storage.locks import exclusive
from vdr_spark.storage.paths import absolute, decode_uri, file_path, holds_locks, is_local, name_for_ids, resolve


@pytest.fixture
def databricks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder under which /Volumes is mounted, as on serverless compute; on a cluster /dbfs is there as well."""
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "17.3")
    monkeypatch.setattr(paths, "_root", str(tmp_path))
    (tmp_path / "Volumes").mkdir()
    return tmp_path


@pytest.mark.parametrize("elsewhere", ["s3://b/x", "s3a://b/x", "hdfs:/x", "hdfs:///x", "abfss://c@a/x"])
def test_a_store_elsewhere_is_not_local(elsewhere: str) -> None:
    assert not is_local(elsewhere)
    assert not holds_locks(elsewhere)
    assert absolute(elsewhere) == elsewhere


@pytest.mark.parametrize(
    ("here", "plain"), [("/a/b", "/a/b"), ("file:///a/b", "/a/b"), ("file:/a/b", "/a/b"), ("/a:/b", "/a:/b")]
)
def test_a_path_of_this_machine_is_plain(here: str, plain: str) -> None:
    assert absolute(here) == plain
    assert is_local(absolute(here))
    assert holds_locks(absolute(here))


def test_a_relative_path_means_the_same_from_anywhere(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))
    assert absolute("a/b") == f"{tmp_path}/a/b"


@pytest.mark.parametrize("act", [absolute, resolve, exists])
@pytest.mark.parametrize("location", ["dbfs:/x", "dbfs:/Volumes/a/b/c", "dbfs:///x"])
def test_databricks_own_file_system_is_refused_elsewhere(
    act: object, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidConfig, match="this is not Databricks"):
        act(location)  # type: ignore[operator]
    assert not list(tmp_path.iterdir())


def test_a_path_called_volumes_is_a_path_elsewhere() -> None:
    assert absolute("/Volumes/a") == file_path("/Volumes/a") == "/Volumes/a"
    assert holds_locks("/Volumes/a")


@pytest.mark.parametrize(
    ("written", "by_spark", "by_python"),
    [
        ("/Volumes/a/b/c", "/Volumes/a/b/c", "/Volumes/a/b/c"),
        ("dbfs:/Volumes/a/b/c", "/Volumes/a/b/c", "/Volumes/a/b/c"),
        ("dbfs:///Volumes/a/b/c", "/Volumes/a/b/c", "/Volumes/a/b/c"),
        ("dbfs:/x/y", "dbfs:/x/y", "/dbfs/x/y"),
        ("/dbfs/x/y", "dbfs:/x/y", "/dbfs/x/y"),
        ("file:/Volumes/a/b/c", "/Volumes/a/b/c", "/Volumes/a/b/c"),
    ],
)
def test_a_place_on_databricks_has_two_names(databricks: Path, written: str, by_spark: str, by_python: str) -> None:
    (databricks / "dbfs").mkdir()
    assert absolute(written) == absolute(absolute(written)) == by_spark
    assert file_path(absolute(written)) == f"{databricks}{by_python}"
    assert not holds_locks(absolute(written))


def test_files_of_a_volume_are_written_where_it_is_mounted(databricks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (working := databricks / "elsewhere").mkdir()
    monkeypatch.chdir(working)
    write_text("dbfs:/Volumes/a/b/c/x.txt", "words")
    assert read_text("/Volumes/a/b/c/x.txt") == (databricks / "Volumes/a/b/c/x.txt").read_text() == "words"
    with exclusive("dbfs:/x/y.lock"), exclusive("/Volumes/a/b/c/y.lock"):  # nothing that a lock would keep out
        assert not list(working.iterdir())


def test_dbfs_without_its_mount_is_refused(databricks: Path) -> None:
    with pytest.raises(InvalidConfig, match="/dbfs/ is not mounted here"):
        exists("dbfs:/x")
    assert {entry.name for entry in databricks.iterdir()} == {"Volumes"}


def test_a_volume_is_no_disk_whose_locks_hold(databricks: Path, small_config: object) -> None:  # noqa: ARG001
    plan = make_plan(small_config("output=/Volumes/a/b/c", "ledger=/Volumes/a/b/ledger"))  # type: ignore[operator]
    with pytest.raises(InvalidConfig, match="single_writer: true"):
        plan.require_exclusion()
    make_plan(small_config("output=/Volumes/a/b/c", "single_writer=true")).require_exclusion()  # type: ignore[operator]


@pytest.mark.parametrize("location", ["/a/b", "s3://b/x", "dbfs:/Volumes/a", "dbfs:/x", "/dbfs/x"])
def test_ids_know_a_place_as_it_is_written(databricks: Path, location: str) -> None:  # noqa: ARG001
    assert name_for_ids(location) == location


def test_what_spark_encodes_is_decoded() -> None:
    assert decode_uri("file:///a/100%25%20b") == decode_uri("file:/a/100%25%20b") == "/a/100% b"
    assert decode_uri("s3://b/a%20b") == "s3://b/a b"
