"""A machine that lacks something gets one clear sentence."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import SparkConf
from pyspark.sql import SparkSession

from vdr_spark.config.settings import SparkSettings
from vdr_spark.errors import EnvironmentProblem, InvalidConfig
from vdr_spark.spark import session
from vdr_spark.spark_versions import OLDEST_JAVA


def fake_java(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir()
    java = folder / "bin/java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return folder


@pytest.mark.parametrize("version", ["1.7.0_80", "1.8.0_392", "11.0.2"])
def test_old_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, version)))
    if OLDEST_JAVA == 8 and version != "1.7.0_80":  # of Spark 3.5
        session._require_java()
        return
    with pytest.raises(EnvironmentProblem, match=rf"needs Java {OLDEST_JAVA} or newer, but .* is version (7|8|11)"):
        session._require_java()


def test_java_that_is_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (fake_java(tmp_path, "17") / "bin/java").write_text("not a program")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EnvironmentProblem, match="no Java that runs"):
        session._require_java()


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentProblem, match="no `java` on the PATH"):
        session._require_java()


def test_java_home_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EnvironmentProblem, match="has no bin/java"):
        session._require_java()


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (":: UNRESOLVED DEPENDENCIES ::", "could not be fetched from Maven"),
        ("::              FAILED DOWNLOADS            ::", "could not be fetched from Maven"),
        ("Killed", "did not start"),
    ],
)
def test_why_no_jvm(tmp_path: Path, log: str, words: str) -> None:
    path = tmp_path / "spark.log"
    path.write_text(log)
    assert words in session._why_no_jvm(path)


@pytest.mark.parametrize("encryption", [True, False])
def test_one_setting_encrypts_what_spark_writes_and_sends(encryption: bool) -> None:
    settings = SparkSettings(encryption=encryption)
    assert session._common_conf(settings)["spark.io.encryption.enabled"] == str(encryption).lower()
    trusting, alone = SparkConf(False).set("spark.authenticate", "true"), SparkConf(False)
    on_the_wire = {"spark.network.crypto.enabled": "true"} if encryption else {}
    assert session._wire_conf(settings, trusting) == on_the_wire
    assert session._wire_conf(settings, alone) == {}  # Spark would not start


def test_a_session_of_others_is_warned_about_once(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert session.side_channel_cautions(spark) == []
    theirs = {"spark.eventLog.enabled": "true", "spark.io.encryption.enabled": "false"}
    monkeypatch.setattr(type(spark.conf), "get", lambda _, key, default=None: theirs.get(key, default))
    monkeypatch.setattr(session, "_warned", set())
    for _ in range(2):
        session.warn_about_side_channels(spark)
    event_log, shuffle = caplog.records
    assert event_log.levelname == shuffle.levelname == "WARNING"
    assert "event log" in event_log.getMessage()
    assert "shuffle files are not encrypted" in shuffle.getMessage()


@pytest.mark.parametrize(
    ("settings", "clear"),
    [
        ({"spark.master": "yarn"}, True),
        ({"spark.master": "yarn", "spark.network.crypto.enabled": "true"}, False),
        ({"spark.master": "spark://host:7077", "spark.ssl.rpc.enabled": "true"}, False),
        ({"spark.master": "local[4]"}, False),
    ],
)
def test_keys_that_travel_in_the_clear_are_warned_about(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], clear: bool
) -> None:
    theirs = settings | {"spark.io.encryption.enabled": "true"}
    monkeypatch.setattr(session, "read_setting", lambda _, key, default=None: theirs.get(key, default))
    nobody: Any = None
    assert any("in the clear" in caution for caution in session.side_channel_cautions(nobody)) == clear


def test_an_existing_session_is_used(spark: SparkSession) -> None:
    assert session.spark_session() is spark
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_on_databricks_a_plain_path_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "17.3")
    conf = SimpleNamespace(get=lambda _key, _default: "dbfs:/")
    spark: Any = SimpleNamespace(_jsc=SimpleNamespace(hadoopConfiguration=lambda: conf))
    session.require_local_paths(spark, "/Volumes/a/b/c", "s3://bucket/ledger", "dbfs:/x")
    with pytest.raises(InvalidConfig, match="Spark takes /tmp/out for dbfs:/tmp/out"):
        session.require_local_paths(spark, "/tmp/out")


def test_a_plain_path_is_refused_where_spark_would_look_elsewhere() -> None:
    """As on a cluster whose default is HDFS: locks and what a killed run left would be looked for in another place."""
    conf = SimpleNamespace(get=lambda _key, _default: "hdfs://name:8020")
    spark: Any = SimpleNamespace(_jsc=SimpleNamespace(hadoopConfiguration=lambda: conf))
    session.require_local_paths(spark, "hdfs://name:8020/out", "s3://bucket/ledger")
    with pytest.raises(InvalidConfig, match="/out is a path without a store, which Spark takes for one in hdfs://name"):
        session.require_local_paths(spark, "s3://bucket/ledger", "/out")
