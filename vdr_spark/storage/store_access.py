"""How an object store is reached without Spark: by the platform's role or environment, or as Spark's session is set.

Hadoop, the Rust libraries (obstore, delta-rs) and fsspec each have names of their own for a key, an endpoint and a
region. What a session or a configuration says in Hadoop's names is learned here once per process and translated. Where
nothing is said, each library looks into the environment (AWS_ACCESS_KEY_ID, AWS_REGION, ...) and asks the machine for
its role. Keys are held in memory and written nowhere: no log line, no error, no `repr`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

SCHEMES = {"s3": "s3", "s3a": "s3", "s3n": "s3", "abfss": "azure", "abfs": "azure", "gs": "gcs"}
"""Stores that have a conditional put, by the names that Hadoop and others have for them."""

_PREFIX = "spark.hadoop."
_HADOOP = re.compile(r"fs\.(s3a|azure|gs)\.|google\.cloud\.auth\.")
_S3 = {
    "access.key": "aws_access_key_id",
    "secret.key": "aws_secret_access_key",
    "session.token": "aws_session_token",
    "endpoint.region": "aws_region",
}
_GCS = ("fs.gs.auth.service.account.json.keyfile", "google.cloud.auth.service.account.json.keyfile")
_FSSPEC_S3 = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "aws_session_token": "token"}
_ARROW_S3 = {
    "aws_access_key_id": "access_key",
    "aws_secret_access_key": "secret_key",
    "aws_session_token": "session_token",
    "aws_region": "region",
}
_learned: dict[str, str] = {}


def learn(settings: Mapping[str, str]) -> None:
    """Remember what settings of Spark or Hadoop say about reaching stores; later ones replace earlier ones."""
    plain = {key.removeprefix(_PREFIX): value for key, value in settings.items()}
    _learned.update({key: value for key, value in plain.items() if _HADOOP.match(key)})


def forget() -> None:
    """Forget what was learned."""
    _learned.clear()


def scheme_of(location: str) -> str | None:
    """Return which kind of store a URI names: s3, azure or gcs; None where it is none of them."""
    return SCHEMES.get(location.partition("://")[0]) if "://" in location else None


def hadoop_names(location: str) -> list[str]:
    """Return the settings of Hadoop's that say how a location is reached; none where it is in no store."""
    kind, server = scheme_of(location), urlsplit(location).netloc
    if kind == "s3":
        names = [*_S3, "endpoint", "path.style.access", "connection.ssl.enabled"]
        return [f"fs.s3a.{of_bucket}{name}" for of_bucket in ("", f"bucket.{server}.") for name in names]
    if kind == "azure":
        return ["fs.azure.account.key", f"fs.azure.account.key.{server.partition('@')[2]}"]
    return list(_GCS) if kind == "gcs" else []


def rust_options(location: str) -> dict[str, str]:
    """Return what obstore and delta-rs are told; empty where they find out by themselves."""
    kind = scheme_of(location)
    if kind == "s3":
        return _s3_options(urlsplit(location).netloc)
    if kind == "azure":
        account = urlsplit(location).netloc.partition("@")[2]
        key = _learned.get(f"fs.azure.account.key.{account}") or _learned.get("fs.azure.account.key")
        return {"azure_storage_account_key": key} if key else {}
    if kind == "gcs":
        file = next((_learned[name] for name in _GCS if name in _learned), None)
        return {"google_service_account": file} if file else {}
    return {}


def fsspec_options(location: str) -> dict[str, object]:
    """Return what fsspec is told of an S3 store; of others it finds out by itself."""
    if scheme_of(location) != "s3":
        return {}
    options = rust_options(location)
    found: dict[str, object] = {ours: options[name] for name, ours in _FSSPEC_S3.items() if name in options}
    client = {"endpoint_url": options.get("aws_endpoint"), "region_name": options.get("aws_region")}
    if said := {name: value for name, value in client.items() if value}:
        found["client_kwargs"] = said
    if options.get("aws_virtual_hosted_style_request") == "false":
        found["config_kwargs"] = {"s3": {"addressing_style": "path"}}
    return found


def arrow_options(location: str) -> tuple[tuple[str, str], ...]:
    """Return what pyarrow's client of S3 is told; nothing where it finds out by itself."""
    options = rust_options(location)
    found = {ours: options[name] for name, ours in _ARROW_S3.items() if name in options}
    endpoint = options.get("aws_endpoint") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        scheme, _, server = endpoint.rpartition("://")
        # There pyarrow puts the bucket into the path, which every server understands.
        found |= {"endpoint_override": server.rstrip("/"), "scheme": scheme or "https"}
    return tuple(sorted(found.items()))


def _s3_options(bucket: str) -> dict[str, str]:
    def said(name: str) -> str | None:
        return _learned.get(f"fs.s3a.bucket.{bucket}.{name}") or _learned.get(f"fs.s3a.{name}")

    found = {ours: value for name, ours in _S3.items() if (value := said(name))}
    endpoint = said("endpoint")
    if endpoint:
        plain = (said("connection.ssl.enabled") or "true").lower() == "false"
        found["aws_endpoint"] = endpoint if "://" in endpoint else f"{'http' if plain else 'https'}://{endpoint}"
    if (said("path.style.access") or "").lower() == "true":
        found["aws_virtual_hosted_style_request"] = "false"
    in_clear = endpoint and found["aws_endpoint"].startswith("http://")
    if in_clear or os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"):
        found["aws_allow_http"] = "true"
    return found
