"""Progress of Spark's work, by asking Spark how many of its tasks are done."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from vdr_spark.progress import Progress, Update
from vdr_spark.spark.remote import is_remote

_POLL_SECONDS = 0.3
_LARGEST_SHARE = 0.97  # later stages are not known yet: the bar never claims to be full


@contextmanager
def spark_task(spark: SparkSession, progress: Progress, title: str, expected: int = 0) -> Iterator[None]:
    """Follow whatever Spark does inside the block, by the share of its tasks that are done.

    Spark tells of a stage when it begins, so the whole is not known before the end. `expected` is how many tasks there
    will be at least: without it, a first stage of one task would look like nearly everything.
    """
    ended = threading.Event()
    with progress.task(title, 1.0) as update:
        watcher = threading.Thread(target=_watch, args=(spark, update, ended, expected), daemon=True)
        watcher.start()
        try:
            yield
            update(1.0, "")
        finally:
            ended.set()
            watcher.join()


def _watch(spark: SparkSession, update: Update, ended: threading.Event, expected: int) -> None:
    context = None if is_remote(spark) else spark.sparkContext  # a remote session has none: the bar then just waits
    seen: dict[int, tuple[int, int]] = {}
    share = 0.0
    while context is not None and not ended.wait(_POLL_SECONDS):
        tracker = context.statusTracker()
        for number in {*seen, *tracker.getActiveStageIds()}:  # one that has ended since the last look, too
            stage = tracker.getStageInfo(number)
            if stage is not None and stage.numTasks:
                seen[number] = (stage.numCompletedTasks, stage.numTasks)
        if seen:
            share = max(share, share_done(seen.values(), expected))  # it does not go back when a stage begins
            update(share, f"Spark stage {len(seen)}")


def share_done(stages: Collection[tuple[int, int]], expected: int) -> float:
    """Return the share of tasks that are done, of those that are known or expected, by (done, all) of each stage."""
    done, known = sum(of[0] for of in stages), sum(of[1] for of in stages)
    return min(_LARGEST_SHARE, done / max(known, expected))
