"""A machine that lacks something gets one clear sentence."""

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import SparkConf
from pyspark.sql import SparkSession

from vdr_spark.config.settings import SparkSettings
from vdr_spark.errors import InvalidConfig
from vdr_spark.spark import session


@pytest.mark.parametrize("encryption", [True, False])
def test_one_setting_encrypts_what_spark_writes_and_sends(encryption: bool) -> None:
    settings = SparkSettings(encryption=encryption)
    assert session._common_conf(settings)["spark.io.encryption.enabled"] == str(encryption).lower()
    trusting, alone = SparkConf(False).set("spark.authenticate", "true"), SparkConf(False)
    on_the_wire = {"spark.network.crypto.enabled": "true"} if encryption else {}
    assert session._wire_conf(settings, trusting) == on_the_wire
    assert session._wire_conf(settings, alone) == {}  # Spark would not start


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
