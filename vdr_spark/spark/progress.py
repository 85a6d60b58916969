"""Progress of Spark's work, by asking Spark how many of its tasks are done."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from vdr_spark.progress import Progress, Update
from vdr_spark.spark.remote import is_remote

_POLL_SECONDS = 0.3
_LARGEST_SHARE = 0.97  # later stages are not known yet: the bar never claims to be full


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
    context = None if is_remote(spark) else spark.sparkContext  # a remote session has none: the bar then just waits
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
            share = max(share, min(_LARGEST_SHARE, done / total))  # it does not go back when a stage begins
            update(share, f"Spark stage {len(seen)}")
