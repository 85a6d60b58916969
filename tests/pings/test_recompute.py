"""Plans that give the same rows whenever they are computed are taken, and all others are refused in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from pyspark.sql import Column, DataFrame, SparkSession, Window, WindowSpec
from pyspark.sql import functions as F

from vdr_spark.config.settings import InputSettings
from vdr_spark.errors import InvalidInput
from vdr_spark.pings.recompute import check_recomputable

SETTINGS = InputSettings(dataframe="trips")
VOUCHED = InputSettings(dataframe="trips", deterministic=True)
Plan = Callable[[DataFrame], DataFrame]


@pytest.fixture(scope="module")
def pings(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataFrame]:
    """Parquet files, which a view `pings_view` shows too."""
    path = str(tmp_path_factory.mktemp("recompute") / "pings")
    rows = "select id user_id, double(id) lat, double(id) lon, timestamp_seconds(id) ts, string(id) city from range(3)"
    spark.sql(rows).write.parquet(path)
    frame = spark.read.parquet(path)
    frame.createOrReplaceTempView("pings_view")
    yield frame
    spark.catalog.dropTempView("pings_view")


def rows_by_python(*arguments: Column) -> DataFrame:
    class Rows:
        def eval(self, number: int) -> Iterator[tuple[int]]:
            yield (number,)

    return F.udtf(Rows, returnType="user_id int").asDeterministic()(*arguments)  # type: ignore[no-any-return]


def by_user() -> WindowSpec:
    return Window.partitionBy("user_id")


def sql(query: str) -> Plan:
    return lambda pings: pings.sparkSession.sql(query)


SAFE: dict[str, Plan] = {
    "files": lambda pings: pings,
    "where, select, withColumn": lambda pings: (
        pings.where("lat > 1").select("user_id", "lat", "ts").withColumn("lon", F.col("lat") + F.lit(1)).drop("lat")
    ),
    "join": lambda pings: pings.join(pings.select("user_id").distinct(), "user_id", "left_semi"),
    "broadcast": lambda pings: pings.join(F.broadcast(pings.select("user_id")), "user_id"),
    "union": lambda pings: pings.unionByName(pings).dropDuplicates(),
    "a view": lambda pings: pings.sparkSession.table("pings_view"),
    "a subquery": sql("select * from pings_view where user_id in (select user_id from pings_view)"),
    "a common table": sql("with a as (select * from pings_view) select * from a join a b using (user_id)"),
    "except": sql("select * from pings_view except select * from pings_view where user_id = 1"),
    "local rows": sql("select * from values (1, 2d) as t(user_id, lat)"),
    "a range": lambda pings: pings.sparkSession.range(3).toDF("user_id"),
    "sorted and cut otherwise": lambda pings: pings.orderBy("ts").repartition(3).coalesce(2).repartition(2, "user_id"),
    "exploded": lambda pings: pings.withColumn("lat", F.explode(F.array("lat", "lon"))),
    "the time of the query": lambda pings: pings.where(F.col("ts") < F.current_timestamp()),
    "counts": lambda pings: pings.groupBy("user_id").agg(F.count("*"), F.max("ts"), F.sum("user_id")),
    "counts of floating-point numbers": lambda pings: pings.groupBy("user_id").agg(F.count_distinct("lat")),
    "a window over a user": lambda pings: pings.withColumn("n", F.count("*").over(by_user())),
    "a window up to a time": lambda pings: pings.withColumn("n", F.max("ts").over(by_user().orderBy("ts"))),
    "a rank": lambda pings: pings.withColumn("n", F.rank().over(by_user().orderBy("ts"))),
    "pandas, by Arrow": lambda pings: by_arrow(pings.sparkSession),
}
DOUBTFUL: dict[str, tuple[Plan, str]] = {
    "rand": (lambda pings: pings.where(F.rand() < 0.5), "the function Rand"),
    "rand in a subquery": (
        sql("select * from pings_view where 1 in (select id from range(3) where rand() < 1)"),
        "Rand",
    ),
    "uuid": (lambda pings: pings.withColumn("user_id", F.expr("uuid()")), "the function Uuid"),
    "row ids": (
        lambda pings: pings.withColumn("user_id", F.monotonically_increasing_id()),
        "MonotonicallyIncreasingID",
    ),
    "reflection": (sql("select *, java_method('java.util.UUID', 'randomUUID') x from pings_view"), "Reflection"),
    "udf": (lambda pings: pings.withColumn("lat", F.udf(lambda lat: lat)("lat")), "not Spark's own (PythonUDF)"),
    "udtf": (lambda _: rows_by_python(F.lit(1)), "not Spark's own (PythonUDTF)"),
    "mapInPandas": (lambda pings: pings.mapInPandas(lambda rows: rows, pings.schema), "mapInPandas"),
    "mapInArrow": (lambda pings: pings.mapInArrow(lambda rows: rows, pings.schema), "mapInArrow"),
    "applyInPandas": (lambda p: p.groupBy("user_id").applyInPandas(lambda rows: rows, p.schema), "applyInPandas"),
    "an RDD": (lambda pings: pings.rdd.toDF(pings.schema), "rows that came from Python or an RDD"),
    "limit": (lambda pings: pings.limit(2), "a limit"),
    "limit below a join": (lambda pings: pings.join(pings.limit(2).select("user_id"), "user_id"), "a limit"),
    "offset": (lambda pings: pings.offset(1), "an offset"),
    "sample": (lambda pings: pings.sample(0.5, seed=1), "a sample"),
    "duplicates by some columns": (lambda pings: pings.dropDuplicates(["user_id", "ts"]), "dropDuplicates by some"),
    "row_number": (lambda p: p.withColumn("n", F.row_number().over(by_user().orderBy("ts"))), "RowNumber"),
    "lag": (lambda p: p.withColumn("n", F.lag("lat").over(by_user().orderBy("ts"))), "Lag"),
    "a window of rows": (
        lambda p: p.withColumn("n", F.max("ts").over(by_user().orderBy("ts").rowsBetween(-1, 0))),
        "a window over a number of rows",
    ),
    "first": (lambda pings: pings.groupBy("user_id").agg(F.first("lat")), "the aggregate function First"),
    "any_value": (lambda pings: pings.groupBy("user_id").agg(F.any_value("lat")), "AnyValue"),
    "collect_list": (lambda pings: pings.groupBy("user_id").agg(F.collect_list("ts")), "CollectList"),
    "max_by": (lambda pings: pings.groupBy("user_id").agg(F.max_by("lat", "ts")), "MaxBy"),
    "a sum of floating-point numbers": (lambda pings: pings.groupBy("user_id").agg(F.sum("lat")), "the aggregate Sum"),
    "a sum that may be null": (lambda pings: pings.groupBy("lat").agg(F.try_sum("user_id")), "try_sum"),
    "an average": (lambda pings: pings.groupBy("user_id").agg(F.avg("lat")), "Average"),
    "a window's average": (lambda pings: pings.withColumn("n", F.avg("lat").over(by_user())), "Average"),
    "grouped by collated text": (
        lambda pings: pings.select(F.expr("city collate UTF8_LCASE city")).distinct(),
        "text with a collation",
    ),
}


def by_arrow(spark: SparkSession) -> DataFrame:
    before = spark.conf.get("spark.sql.execution.arrow.pyspark.enabled")
    spark.conf.set("spark.sql.execution.arrow.pyspark.enabled", "true")
    try:
        return spark.createDataFrame(pd.DataFrame({"user_id": [1]}))
    finally:
        spark.conf.set("spark.sql.execution.arrow.pyspark.enabled", str(before))


def refusal(frame: DataFrame) -> str:
    with pytest.raises(InvalidInput) as caught:
        check_recomputable(frame, SETTINGS)
    return str(caught.value)


@pytest.mark.parametrize("plan", SAFE.values(), ids=SAFE.keys())
def test_ordinary_plans_are_taken(pings: DataFrame, plan: Plan) -> None:
    check_recomputable(plan(pings), SETTINGS)


@pytest.mark.parametrize(("plan", "words"), DOUBTFUL.values(), ids=DOUBTFUL.keys())
def test_plans_that_may_give_other_rows_are_refused(pings: DataFrame, plan: Plan, words: str) -> None:
    frame = plan(pings)
    said = refusal(frame)
    assert words in said
    assert said.startswith("input: DataFrame trips is computed by a plan with ")
    assert "Write it to a table and name that in input.table" in said
    check_recomputable(frame, VOUCHED)


def test_delta_tables_are_taken_as_they_are_and_as_views(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(3).write.format("delta").save(str(tmp_path / "delta"))
    stored = spark.read.format("delta").load(str(tmp_path / "delta"))
    check_recomputable(stored.where("id > 1"), SETTINGS)
    stored.limit(1).createOrReplaceTempView("some_pings")
    try:
        assert "a limit" in refusal(spark.table("some_pings"))
    finally:
        spark.catalog.dropTempView("some_pings")


def test_rows_dealt_out_in_turn_need_sparks_sort(spark: SparkSession, pings: DataFrame) -> None:
    spark.conf.set("spark.sql.execution.sortBeforeRepartition", "false")
    try:
        assert "a repartition while" in refusal(pings.repartition(3))
    finally:
        spark.conf.unset("spark.sql.execution.sortBeforeRepartition")


def test_a_stream_is_refused_even_where_somebody_vouches(spark: SparkSession, tmp_path: Path) -> None:
    stream = spark.readStream.schema("user_id bigint").parquet(str(tmp_path))
    with pytest.raises(InvalidInput, match="DataFrame trips is a stream"):
        check_recomputable(stream, VOUCHED)


def test_a_plan_that_cannot_be_looked_at_needs_a_word() -> None:
    connected = SimpleNamespace(isStreaming=False)  # Spark Connect's frames have no `_jdf`
    assert "cannot be looked at" in refusal(connected)  # type: ignore[arg-type]
    check_recomputable(connected, VOUCHED)  # type: ignore[arg-type]


def test_no_value_of_a_plan_is_repeated(pings: DataFrame) -> None:
    assert "anna" not in refusal(pings.where((F.col("city") == "anna") & (F.rand() < 0.5)).limit(1))
