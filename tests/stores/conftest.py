"""Servers, jars and pings that the tests of stores share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import SMALL
from tests.stores.processes import CONF, Place
from tests.stores.servers import NAMES, fetch_hadoop_aws, serving
from vdr_spark.config import load_config
from vdr_spark.storage import store_access


@pytest.fixture(scope="package")
def jars(delta_jars: str) -> list[str]:
    return [*json.loads(delta_jars.partition("=")[2]), *(str(jar) for jar in fetch_hadoop_aws())]


@pytest.fixture(scope="package")
def pings(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    from tests.plans import run_stage

    folder = tmp_path_factory.mktemp("generated")
    run_stage("synth", spark, load_config(CONF, [*SMALL, f"input.path={folder}/pings", f"output={folder}/out"]))
    return f"{folder}/pings"


@pytest.fixture(scope="package", params=NAMES)
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, pings: str, jars: list[str]
) -> Iterator[Place]:
    with serving(request.param, tmp_path_factory.mktemp("server")) as server:
        store_access.learn(server.hadoop)
        yield Place(server, pings, jars)
    store_access.forget()
