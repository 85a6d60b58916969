"""Progress of long work, without a word about data: how far, never how much.

The library reports to a `Progress`; the command line shows bars (`vdr_spark.cli.console`), notebooks and tests may
stay silent. `vdr_spark.spark.progress` follows what Spark does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Update = Callable[[float, str], None]
"""`update(done, note)`: how much is done, of the total that was announced, and a short remark."""


class Progress(Protocol):
    """Somebody who is told how far a piece of work has come."""

    def task(self, title: str, total: float | None, /) -> AbstractContextManager[Update]:
        """Announce a piece of work; None where its size is not known yet."""
        ...


class NullProgress:
    """A progress that reports to nobody."""

    @contextmanager
    def task(self, _title: str, _total: float | None) -> Iterator[Update]:
        """Take an update and do nothing with it."""
        yield lambda _done, _note: None
