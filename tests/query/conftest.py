"""Tiny releases whose answers can be worked out by hand."""

from collections.abc import Callable

import pytest

from tests.release.hand_made import hand_made
from vdr_spark.release.release import Release

MakeRelease = Callable[..., Release]


@pytest.fixture
def make_release() -> MakeRelease:
    """Builds a release over 0..1 degrees at the equator from 7 January 2020 on."""
    return hand_made
