"""A growing Delta table of pings as a stream that wakes a series: when something came, what is due is released.

The stream's checkpoint says how far the table was read; nothing else rests on it. Which windows are due is the clock's
to say, never the pings' (no watermark: one phone with a wrong clock would close a window), which of them were released
is the ledger's and the register's. So a batch that is played again after a crash releases nothing twice, and a window
that becomes due while nothing comes is released all the same. The rows of a batch are not looked at: a window reads its
pings from the table, as every release does, and no count of a batch is computed that a log could show.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import InvalidConfig, VdrError
from vdr_spark.plan import make_plan
from vdr_spark.storage.paths import resolve

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def require_stream(config: ReleaseConfig) -> None:
    """Refuse what is no series, or whose pings are in no Delta table: other files do not say what came when."""
    if config.series is None:
        raise InvalidConfig("series: is missing; only a series of windows can follow a table that grows")
    is_delta = config.input.table is not None or config.input.format == "delta"
    if not is_delta:
        raise InvalidConfig(
            f"input must be a Delta table, by `table`, or by `path` and `format: delta`, for a stream to follow it, "
            f"not {config.input.location}. For other files run vdr release CONF --until today by a schedule"
        )


def follow(spark: SparkSession, config: ReleaseConfig, release_due: Callable[[], None]) -> None:
    """Read up to the table's end, and call `release_due` for each batch that came, or once where none did.

    A batch counts as read only when the call has returned.
    """
    from vdr_spark.spark.remote import is_remote

    if is_remote(spark):
        raise InvalidConfig(
            "a stream must run where its driver is, and this session is one of Spark Connect; run vdr release CONF "
            "--until today by a schedule there"
        )
    woken, problems = [], list[BaseException]()

    def on_batch(_rows: DataFrame, number: int) -> None:
        woken.append(number)
        try:
            release_due()
        except VdrError as problem:
            problems.append(problem)  # its sentence would be lost in Spark's
            raise
        except SystemExit as end:
            # As when whoever read the output has left. To Spark it would be no answer at all, which it waits for.
            problems.append(end)
            raise RuntimeError("the command has ended") from end

    _read_to_the_end(_open(spark, config), config, on_batch, problems)
    if not woken:
        release_due()


def _read_to_the_end(
    stream: DataFrame,
    config: ReleaseConfig,
    on_batch: Callable[[DataFrame, int], None],
    problems: list[BaseException],
) -> None:
    assert config.series is not None
    checkpoint = make_plan(config).output.series(str(config.series.name)).checkpoint
    writer = stream.writeStream.foreachBatch(on_batch).option("checkpointLocation", checkpoint)
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    except Exception:
        if problems:
            raise problems[0] from None
        raise
    finally:
        query.stop()


def _open(spark: SparkSession, config: ReleaseConfig) -> DataFrame:
    """Open the table as a stream. Rows that are deleted or changed wake nobody, and do not stop it."""
    reader = spark.readStream.format("delta").option("skipChangeCommits", "true")
    if config.input.table is not None:
        return reader.table(config.input.table)
    assert config.input.path is not None
    return reader.load(resolve(config.input.path))
