"""Hadoop's words for a store, in those of the libraries that reach it without Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from vdr_spark.storage import store_access
from vdr_spark.storage.store_access import arrow_options, fsspec_options, hadoop_names, learn, rust_options, scheme_of


@pytest.fixture(autouse=True)
def nothing_learned(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    store_access.forget()
    yield
    store_access.forget()


def test_s3_as_the_session_is_set() -> None:
    learn(
        {
            "spark.hadoop.fs.s3a.access.key": "a",
            "fs.s3a.secret.key": "b",
            "spark.hadoop.fs.s3a.endpoint": "127.0.0.1:9000",
            "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.endpoint.region": "eu-west-1",
            "spark.sql.shuffle.partitions": "3",
        }
    )
    assert rust_options("s3a://bucket/x") == {
        "aws_access_key_id": "a",
        "aws_secret_access_key": "b",
        "aws_region": "eu-west-1",
        "aws_endpoint": "http://127.0.0.1:9000",
        "aws_virtual_hosted_style_request": "false",
        "aws_allow_http": "true",
    }
    assert fsspec_options("s3://bucket/x") == {
        "key": "a",
        "secret": "b",
        "client_kwargs": {"endpoint_url": "http://127.0.0.1:9000", "region_name": "eu-west-1"},
        "config_kwargs": {"s3": {"addressing_style": "path"}},
    }


def test_a_bucket_may_have_settings_of_its_own() -> None:
    learn({"fs.s3a.access.key": "all", "fs.s3a.bucket.books.access.key": "one", "fs.s3a.endpoint": "s3.example.org"})
    assert rust_options("s3a://books/x")["aws_access_key_id"] == "one"
    assert rust_options("s3a://other/x")["aws_access_key_id"] == "all"
    assert rust_options("s3a://other/x")["aws_endpoint"] == "https://s3.example.org"
    assert "fs.s3a.bucket.books.access.key" in hadoop_names("s3a://books/x")


def test_azure_and_google() -> None:
    learn({"fs.azure.account.key.a.dfs.core.windows.net": "k", "fs.gs.auth.service.account.json.keyfile": "/f.json"})
    assert rust_options("abfss://c@a.dfs.core.windows.net/x") == {"azure_storage_account_key": "k"}
    assert rust_options("abfss://c@b.dfs.core.windows.net/x") == {}
    assert rust_options("gs://bucket/x") == {"google_service_account": "/f.json"}


@pytest.mark.parametrize("location", ["/a/b", "hdfs://name/x", "dbfs:/x", "memory://x", "file:///x"])
def test_elsewhere_nothing_is_said(location: str) -> None:
    learn({"fs.s3a.access.key": "a"})
    assert scheme_of(location) is None
    assert (rust_options(location), fsspec_options(location), hadoop_names(location)) == ({}, {}, [])


def test_where_nothing_is_said_the_environment_and_the_role_decide() -> None:
    assert rust_options("s3a://bucket/x") == {}


def test_pyarrow_is_told_what_hadoop_was_told() -> None:
    assert arrow_options("s3a://bucket/x") == ()
    learn({"spark.hadoop.fs.s3a.access.key": "me", "fs.s3a.secret.key": "hush", "fs.s3a.endpoint.region": "eu-west-1"})
    learn({"fs.s3a.bucket.bucket.access.key": "mine", "fs.s3a.endpoint": "http://127.0.0.1:9000/"})
    assert dict(arrow_options("s3a://bucket/x")) == {
        "access_key": "mine",
        "secret_key": "hush",
        "region": "eu-west-1",
        "endpoint_override": "127.0.0.1:9000",
        "scheme": "http",
    }
    assert dict(arrow_options("s3://other/x"))["access_key"] == "me"
