"""What a stream may follow; `tests/faults/test_series.py` runs one and kills it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.series.configurations import weekly_series
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import InvalidConfig
from vdr_spark.series.stream import require_stream


def test_only_delta_tables_say_what_came(tmp_path: Path) -> None:
    settings = weekly_series(tmp_path, window="2020-W02")
    with pytest.raises(InvalidConfig, match="input must be a Delta table"):
        require_stream(ReleaseConfig(**settings))
    for place in ({"path": str(tmp_path / "table"), "format": "delta"}, {"table": "main.mobility.pings"}):
        require_stream(ReleaseConfig(**settings | {"input": place}))


def test_one_release_follows_nothing(tmp_path: Path) -> None:
    settled = ReleaseConfig(**weekly_series(tmp_path, window="2020-W02")).model_dump()
    with pytest.raises(InvalidConfig, match="series: is missing"):
        require_stream(ReleaseConfig(**settled | {"series": None, "window": None}))
