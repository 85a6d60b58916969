"""Spark's settings on a platform that lets some of them alone."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import AnalysisException

from vdr_spark.config.settings import InputSettings
from vdr_spark.errors import InvalidInput
from vdr_spark.pings.readers import ALL_FILES_OR_NONE, _check_folders, require_all_files
from vdr_spark.spark.settings import read_setting, settings_of_spark

LACKING = frozenset(ALL_FILES_OR_NONE)


class Conf:
    """As serverless compute has it: what is not listed can be neither set nor seen."""

    def __init__(self, **values: str) -> None:
        self.values = values

    def get(self, key: str, _default: object = None) -> str:
        return self.values[self._known(key)]

    def set(self, key: str, value: str) -> None:
        self.values[self._known(key)] = value

    def unset(self, key: str) -> None:
        del self.values[self._known(key)]

    def _known(self, key: str) -> str:
        if key not in self.values:
            raise AnalysisException("[CONFIG_NOT_AVAILABLE] anna")
        return key


class Session:
    def __init__(self, **values: str) -> None:
        self.conf = Conf(**values)


def test_settings_are_changed_and_changed_back() -> None:
    spark: Any = Session(a="1", b="2")
    with settings_of_spark(spark, {"a": "3"}) as lacking:
        assert spark.conf.values == {"a": "3", "b": "2"}
        assert not lacking
    assert spark.conf.values == {"a": "1", "b": "2"}


def test_what_cannot_be_set_is_done_without_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    spark: Any = Session(a="1")
    for _ in range(2):
        with settings_of_spark(spark, {"a": "3", "batch": "8m"}) as lacking:
            assert lacking == {"batch"}
    assert spark.conf.values == {"a": "1"}
    (record,) = caplog.records
    assert "does not let batch be set" in record.getMessage()
    assert "anna" not in record.getMessage()


def test_what_is_as_wanted_need_not_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    spark: Any = Session(a="FALSE")
    monkeypatch.setattr(spark.conf, "set", lambda key, _: spark.conf._known(f"no {key}"))
    with settings_of_spark(spark, {"a": "false"}) as lacking:
        assert not lacking


def test_what_is_not_to_be_seen_has_the_default() -> None:
    spark: Any = Session(a="1")
    assert (read_setting(spark, "a"), read_setting(spark, "b"), read_setting(spark, "b", "2")) == ("1", None, "2")


@pytest.mark.parametrize("pings", [{"table": "a.b"}, {"dataframe": "a"}, {"path": "/a", "format": "delta"}])
def test_a_table_of_which_files_may_be_missing_is_refused(pings: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="ignoreCorruptFiles must be false"):
        require_all_files(InputSettings(**pings), LACKING)
    require_all_files(InputSettings(**pings), frozenset())


def test_plain_files_have_options_and_tables_can_be_vouched_for() -> None:
    require_all_files(InputSettings(path="/a"), LACKING)
    require_all_files(InputSettings(table="a.b", trust_plan=True), LACKING)


def test_folders_are_refused_where_their_names_cannot_be_text() -> None:
    files = ["file:/a/user_id=1/x.parquet", "file:/a/user_id=01/x.parquet"]
    _check_folders(files, "/a", told_apart=True)
    _check_folders(["file:/a/x.parquet"], "/a", told_apart=False)
    with pytest.raises(InvalidInput, match="would take 1 and 01 in their names for the same"):
        _check_folders(files, "/a", told_apart=False)
