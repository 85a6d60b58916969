"""The clusters of `make cluster-test`, and a checkout in which their environment was packed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.environments import workbench
from tests.engines.downloads import NotToBeHad


@contextmanager
def or_skip() -> Iterator[None]:
    """Skip what needs something that cannot be had here, with its sentence."""
    try:
        yield
    except NotToBeHad as problem:
        pytest.skip(str(problem))


@pytest.fixture(scope="session")
def bench() -> Path:
    with or_skip():
        return workbench()
