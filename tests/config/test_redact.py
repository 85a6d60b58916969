"""What may be a credential is hidden, and what is none stays readable."""

import pytest

from vdr_spark.config.redact import HIDDEN, redact_settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.hadoop.fs.s3a.secret.key", "x"),
        ("spark.hadoop.fs.s3a.access.key", "x"),
        ("spark.hadoop.fs.azure.account.key.a.dfs.core.windows.net", "x"),
        ("spark.hadoop.fs.azure.sas.box.account", "x"),
        ("spark.ssl.keyStorePassword", "x"),
        ("spark.authenticate.secret", "x"),
        ("spark.driver.extraJavaOptions", "-Djavax.net.ssl.trustStorePassword=x"),
        ("spark.hadoop.fs.azure.account.oauth2.client.id", "x"),
    ],
)
def test_settings_of_spark(name: str, value: str) -> None:
    kept = redact_settings({"spark": {"conf": {name: value, "spark.executor.memory": "2g"}}})
    assert kept["spark"]["conf"] == {name: HIDDEN, "spark.executor.memory": "2g"}


@pytest.mark.parametrize(
    ("location", "kept"),
    [
        ("s3://id:secret@bucket/x", f"s3://{HIDDEN}@bucket/x"),
        ("https://a.blob.core.windows.net/x?sv=1&sig=abc", f"https://a.blob.core.windows.net/x?{HIDDEN}"),
        ("abfss://box@account.dfs.core.windows.net/x", "abfss://box@account.dfs.core.windows.net/x"),
        ("s3a://bucket/a b/c", "s3a://bucket/a b/c"),
        ("/data/who?=me", "/data/who?=me"),
    ],
)
def test_locations(location: str, kept: str) -> None:
    assert redact_settings({"output": location, "input": {"path": location}}) == {
        "output": kept,
        "input": {"path": kept},
    }
