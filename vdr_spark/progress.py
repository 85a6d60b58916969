"""Progress of long work, without a word about data: how far, never how much.

The library reports to a `Progress`; the command line draws bars (`vdr_spark.cli.console`), notebooks and tests may
stay silent. Spark work is followed by asking Spark how many of its tasks are done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Update = Callable[[float, str], None]
"""`update(done, note)`: how much is done, of the total that was announced, and a short remark."""

_POLL_SECONDS = 0.3


class Progress(Protocol):
    def task(self, title: str, total: float | None, /) -> AbstractContextManager[Update]:
        """Announce a piece of work; None where its size is not known yet."""
        ...


class Silent:
    """Reports to nobody."""

    @contextmanager
    def task(self, _title: str, _total: float | None) -> Iterator[Update]:
        yield lambda _done, _note: None


@contextmanager
def spark_task(spark: SparkSession, progress: Progress, title: str) -> Iterator[None]:
    """Follow whatever Spark does inside the block, by the share of its tasks that are done."""
    ended = threading.Event()
    with progress.task(title, 1.0) as update:
        watcher = threading.Thread(target=_watch, args=(spark, update, ended), daemon=True)
        watcher.start()
        try:
            yield
            update(1.0, "")
        finally:
            ended.set()
            watcher.join()


def _watch(spark: SparkSession, update: Update, ended: threading.Event) -> None:
    context = getattr(spark, "sparkContext", None)  # Spark Connect has none: the bar then just waits
    seen: dict[int, tuple[int, int]] = {}
    share = 0.0
    while context is not None and not ended.wait(_POLL_SECONDS):
        tracker = context.statusTracker()
        for number in tracker.getActiveStageIds():
            stage = tracker.getStageInfo(number)
            if stage is not None and stage.numTasks:
                seen[number] = (stage.numCompletedTasks, stage.numTasks)
        if seen:
            done, total = (sum(values) for values in zip(*seen.values(), strict=True))
            # Later stages are not known yet: the bar never claims to be full, and does not go back when one begins.
            share = max(share, min(0.97, done / total))
            update(share, f"Spark stage {len(seen)}")
