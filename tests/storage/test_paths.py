"""What a location means: whatever names a store is no path of this machine, with one slash or with two."""

import pytest

from vdr_spark.storage.paths import absolute, is_local


@pytest.mark.parametrize("elsewhere", ["s3://b/x", "s3a://b/x", "hdfs:/x", "hdfs:///x", "dbfs:/mnt/x", "abfss://c@a/x"])
def test_a_store_elsewhere_is_not_local(elsewhere: str) -> None:
    assert not is_local(elsewhere)
    assert absolute(elsewhere) == elsewhere


@pytest.mark.parametrize(
    ("here", "plain"), [("/a/b", "/a/b"), ("file:///a/b", "/a/b"), ("file:/a/b", "/a/b"), ("/a:/b", "/a:/b")]
)
def test_a_path_of_this_machine_is_plain(here: str, plain: str) -> None:
    assert absolute(here) == plain
    assert is_local(absolute(here))


def test_a_relative_path_means_the_same_from_anywhere(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))
    assert absolute("a/b") == f"{tmp_path}/a/b"
