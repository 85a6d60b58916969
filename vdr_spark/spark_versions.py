"""Where versions of Spark and Delta differ, in one place: Spark 3.5 to 4.2, Delta 3.2 to 4.4.

Where something can be asked for ("is there a `try_cast`?") it is, and the version is not: a runtime may have more than
its number says. `make matrix` runs the product with the oldest, the newest and one between.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

import pyarrow as pa
import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from vdr_spark.workers import in_worker

_SPARK = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
_BEFORE_SPARK_4 = _SPARK < (4, 0)
_UNKNOWN = "VERSION"

OLDEST_JAVA = 8 if _BEFORE_SPARK_4 else 17
IVY = "~/.ivy2" if _BEFORE_SPARK_4 else "~/.ivy2.5.2"
"""Where Spark keeps what it fetched, unless `spark.jars.ivy` says otherwise."""

LOADED_AT_FIRST_CALL = () if _BEFORE_SPARK_4 else ("pyspark.testing.utils",)
"""What PySpark loads when Java is called for the first time, and pandas with it, which takes a second."""

READS_WIDER = not _BEFORE_SPARK_4
"""Whether Parquet's narrow numbers can be read as wider ones. Spark 3.5 ends the job at a file that has other bits than
the schema says, or, worse, cuts off the upper ones."""

ROW_BY_ROW = {
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
}
"""One person's row must not stop the job: as Spark 3.5 is set, a time before 1900 does, or one that Spark 2 would have
read otherwise. From Spark 4 on these are the defaults."""

_UNREADABLE_FILE = re.compile(
    "FAILED_READ_FILE|CANNOT_READ_FILE_FOOTER|PARQUET_COLUMN_DATA_TYPE_MISMATCH"
    # Spark 3.5 has no one name for it, and passes on what its libraries say.
    "|Encountered error while reading file|SparkFileNotFoundException|SchemaColumnConvertNotSupportedException"
    "|ChecksumException|is not a Parquet file|EOFException: Unexpected end of input stream"
)


def condition_of(problem: PySparkException) -> str | None:
    """Return Spark's name for what went wrong, such as PATH_NOT_FOUND; it quotes nothing."""
    ask = getattr(problem, "getCondition", None) or problem.getErrorClass
    condition = ask()
    return None if condition is None else str(condition)


def is_about_a_file(problem: Exception) -> bool:
    """Tell whether Spark failed because it could not read a file, or not in the types that it expected."""
    return _UNREADABLE_FILE.search(str(problem)) is not None


def try_cast(column: Column, kind: str) -> Column:
    """Cast to a type by Spark's name of it: null where a value does not fit, whether or not the session is ANSI's.

    A plain cast will not do. Without ANSI, the default of Spark 3.5, it cuts off the upper bits of a decimal that is
    too large, and takes NaN for the number 0.
    """
    if hasattr(type(column), "try_cast"):  # of its class: to a column itself, any name is a field of it
        return column.try_cast(kind)
    return _try_cast_by_sql(column, kind)


def _try_cast_by_sql(column: Column, kind: str) -> Column:
    # Spark 3.5 knows it in SQL only, and SQL cannot name a column of Python's; but a function of SQL can be applied.
    applied = F.call_function("transform", F.array(column), F.expr(f"value -> try_cast(value AS {kind})"))
    return applied.getItem(0)


def to_arrow(frame: DataFrame) -> pa.Table:
    """Collect a frame as an Arrow table, in its order and types."""
    if hasattr(type(frame), "toArrow"):
        return frame.toArrow()
    return _collect_streams(frame)


def _collect_streams(frame: DataFrame) -> pa.Table:
    # `toPandas` makes floating-point numbers of integers beside nulls, and `_collect_as_arrow` is private: it is
    # missing in Spark Connect. Batches as bytes are collected by what is public, and nothing of them is converted.
    rows = frame.mapInArrow(in_worker(_to_streams), "stream binary").collect()
    if not rows:
        from pyspark.sql.pandas.types import to_arrow_schema

        return to_arrow_schema(frame.schema).empty_table()
    return pa.concat_tables([pa.ipc.open_stream(row["stream"]).read_all() for row in rows])


def _to_streams(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], ["stream"])


def import_delta_exceptions() -> ModuleType:
    """Import Delta's exceptions, and have Spark raise them: it does so once they are imported."""
    exceptions = import_module("delta.exceptions")
    if hasattr(exceptions, "__path__"):  # from Delta 4 on a package, of which this part tells Spark
        import_module("delta.exceptions.captured")
    return exceptions


def delta_package() -> str:
    """Return the Maven coordinates of the Delta that fits the Spark and the delta-spark that are installed."""
    if delta_version() != _UNKNOWN:
        from delta import configure_spark_with_delta_pip

        # delta-spark's own helper knows them: from Delta 4.1 on, they name the version of Spark too.
        return str(configure_spark_with_delta_pip(SparkSession.Builder())._options["spark.jars.packages"])
    scala = "2.12" if _BEFORE_SPARK_4 else "2.13"
    fits = scala if _SPARK < (4, 1) else f"{_SPARK[0]}.{_SPARK[1]}_{scala}"
    return f"io.delta:delta-spark_{fits}:{_UNKNOWN}"


def delta_version() -> str:
    """Return the version of delta-spark, for advice; a runtime may have it without saying which."""
    try:
        return version("delta-spark")
    except PackageNotFoundError:
        return _UNKNOWN
