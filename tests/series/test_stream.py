"""What a stream may follow; `tests/faults/test_series.py` runs one and kills it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.series.configurations import weekly_series
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import ExitCode, InvalidConfig
from vdr_spark.series import stream
from vdr_spark.series.stream import follow, require_stream
from vdr_spark.spark import remote


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


class FakeQuery:
    """A query of one batch, and of Spark's ways: a batch that ends by what is no `Exception` gives it no answer."""

    stopped = False

    def __init__(self) -> None:
        self.writeStream = self

    def foreachBatch(self, on_batch: Callable[[Any, int], None]) -> FakeQuery:
        self._on_batch = on_batch
        return self

    def option(self, *_: str) -> FakeQuery:
        return self

    def trigger(self, availableNow: bool) -> FakeQuery:
        assert availableNow
        return self

    def start(self) -> FakeQuery:
        return self

    def awaitTermination(self) -> None:
        try:
            self._on_batch(None, 0)
        except Exception as problem:
            raise RuntimeError("Spark's own words") from problem
        except BaseException as end:
            pytest.fail(f"Spark would wait for ever: {end!r}")

    def stop(self) -> None:
        self.stopped = True


@pytest.mark.parametrize("end", [SystemExit(ExitCode.UNREAD), InvalidConfig("not so")])
def test_what_ends_a_release_ends_the_stream_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: BaseException
) -> None:
    """Else a command whose output nobody reads any more would hang: it ends by `SystemExit` in the midst of a batch."""
    query = FakeQuery()
    monkeypatch.setattr(stream, "_open", lambda *_: query)
    monkeypatch.setattr(remote, "is_remote", lambda *_: False)
    settings = weekly_series(tmp_path, window="2020-W02") | {"input": {"table": "main.mobility.pings"}}

    def release_due() -> None:
        raise end

    with pytest.raises(type(end)) as caught:
        follow(None, ReleaseConfig(**settings), release_due)  # type: ignore[arg-type]
    assert caught.value is end
    assert query.stopped
