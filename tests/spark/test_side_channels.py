"""What a session of others keeps beside the tables is said, once."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from vdr_spark.spark import side_channels


def test_a_session_of_others_is_warned_about_once(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert side_channels.side_channel_cautions(spark) == []
    theirs = {"spark.eventLog.enabled": "true", "spark.io.encryption.enabled": "false"}
    monkeypatch.setattr(type(spark.conf), "get", lambda _, key, default=None: theirs.get(key, default))
    monkeypatch.setattr(side_channels, "_warned", set())
    for _ in range(2):
        side_channels.warn_about_side_channels(spark)
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
    monkeypatch.setattr(side_channels, "read_setting", lambda _, key, default=None: theirs.get(key, default))
    nobody: Any = None
    assert any("in the clear" in caution for caution in side_channels.side_channel_cautions(nobody)) == clear
