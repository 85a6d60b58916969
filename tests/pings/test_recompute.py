"""Plans that look at one row at a time, and give the same rows every time, are taken; all others are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pyspark
import pytest
from pyspark.sql import Column, DataFrame, SparkSession, Window, WindowSpec
from pyspark.sql import functions as F

from vdr_spark.config.settings import InputSettings
from vdr_spark.errors import InvalidInput
from vdr_spark.pings.recompute import check_recomputable, doubt_described

SETTINGS = InputSettings(dataframe="trips")
VOUCHED = InputSettings(dataframe="trips", trust_plan=True)
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
    "a join with another table": lambda pings: pings.join(F.broadcast(pings.sparkSession.range(3)), F.expr("id = lat")),
    "union": lambda pings: pings.unionByName(pings),
    "a view": lambda pings: pings.sparkSession.table("pings_view"),
    "a common table": sql("with a as (select * from pings_view) select * from a where lat > 0"),
    "local rows": sql("select * from values (1, 2d) as t(user_id, lat)"),
    "a range": lambda pings: pings.sparkSession.range(3).toDF("user_id"),
    "sorted and cut otherwise": lambda pings: pings.orderBy("ts").repartition(3).coalesce(2).repartition(2, "user_id"),
    "exploded": lambda pings: pings.withColumn("lat", F.explode(F.array("lat", "lon"))),
    "the time of the query": lambda pings: pings.where(F.col("ts") < F.current_timestamp()),
    "pandas, by Arrow": lambda pings: by_arrow(pings.sparkSession),
}
SPARSE = "(select lat, lon from pings_view group by lat, lon having count(*) >= 3)"
DOUBTFUL: dict[str, tuple[Plan, str]] = {
    "rand": (lambda pings: pings.where(F.rand() < 0.5), "the function Rand"),
    "uuid": (lambda pings: pings.withColumn("user_id", F.expr("uuid()")), "the function Uuid"),
    "encrypted by chance": (sql("select *, aes_encrypt(city, '0123456789abcdef') x from pings_view"), "AesEncrypt"),
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
    "limit below a join": (lambda pings: pings.sparkSession.range(2).join(pings.limit(2)), "a limit"),
    "offset": (lambda pings: pings.offset(1), "an offset"),
    "sample": (lambda pings: pings.sample(0.5, seed=1), "a sample"),
    "dropDuplicates": (lambda pings: pings.dropDuplicates(["user_id", "ts"]), "dropDuplicates"),
    "distinct": (lambda pings: pings.distinct(), "dropDuplicates"),
    "except": (sql("select * from pings_view except select * from pings_view where user_id = 1"), "an except"),
    "a window": (lambda p: p.withColumn("n", F.row_number().over(by_user().orderBy("ts"))), "a window"),
    "an aggregate": (lambda pings: pings.groupBy("user_id").agg(F.count("*")), "an aggregate"),
    "a subquery": (sql("select * from pings_view where ts > (select min(ts) from pings_view)"), "a subquery"),
    "places with enough people": (sql(f"select p.* from pings_view p join {SPARSE} using (lat, lon)"), "of a table"),
    "pings near pings": (lambda p: p.alias("a").join(p.alias("b"), F.expr("a.lat = b.lat")), "a join of a table with"),
    "tolerant of damage": (
        lambda p: p.sparkSession.read.option("ignoreCorruptFiles", "true").parquet(p.inputFiles()[0]),
        "damaged or missing ones are left out",
    ),
}

# By the first Spark that knows them: refused there, and no plan before.
NEWER: dict[str, tuple[str, str, str]] = {
    "randstr": ("4.0", "select *, randstr(5) x from pings_view", "the function RandStr"),
    "uniform": ("4.0", "select *, uniform(0, 10) x from pings_view", "the function Uniform"),
    "try_reflect": ("4.0", "select *, try_reflect('java.util.UUID', 'randomUUID') x from pings_view", "Reflection"),
    "a function of SQL": ("4.0", "select *, highest(lat) x from pings_view", "SQLScalarFunction"),
    "piped into an aggregate": ("4.0", "from pings_view |> aggregate count(*) as n group by user_id", "an aggregate"),
    "a lateral join": ("3.5", "select * from pings_view, lateral (select max(lat) from pings_view)", "LateralJoin"),
    "a loop": (
        "4.1",
        "with recursive r(n) as (select 1 union all select n + 1 from r where n < 3) select * from pings_view, r",
        "UnionLoop",
    ),
    "sketches merged by coins": (
        "4.1",
        "select p.*, kll_sketch_merge_double(a, b) x from pings_view p, values (X'00', X'00') as t(a, b)",
        "KllSketchMergeDouble, which gives another value each time",
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
def test_plans_that_may_give_other_rows_or_mix_people_are_refused(pings: DataFrame, plan: Plan, words: str) -> None:
    frame = plan(pings)
    said = refusal(frame)
    assert words in said
    assert said.startswith("input: DataFrame trips is computed by a plan with ")
    assert "set input.trust_plan: true" in said
    check_recomputable(frame, VOUCHED)


@pytest.mark.parametrize(("since", "query", "words"), NEWER.values(), ids=NEWER.keys())
def test_what_newer_versions_brought_is_refused(pings: DataFrame, since: str, query: str, words: str) -> None:
    spark = pings.sparkSession
    if pyspark.__version__ < since:
        pytest.skip(f"Spark {since} has it first")
    if "highest" in query:
        spark.sql(
            "create or replace temporary function highest(x double) returns double "
            "return x + (select max(lat) from pings_view)"
        )
    assert words in refusal(spark.sql(query))


@pytest.mark.skipif(pyspark.__version__ < "4", reason="Spark 4 has it first")
def test_rows_through_a_pipe_are_taken(pings: DataFrame) -> None:
    check_recomputable(pings.sparkSession.sql("from pings_view |> where lat > 1 |> select user_id, lat"), SETTINGS)


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


HEADING = ("# Detailed Table Information", "")
DELTA = (("Type", "MANAGED"), ("Provider", "delta"), ("Location", "s3://a/b"))


@pytest.mark.parametrize(
    ("lines", "doubt"),
    [
        ([("id", "bigint"), ("", ""), HEADING, *DELTA], None),
        ([HEADING, ("Type", "EXTERNAL"), ("Provider", "parquet")], None),
        ([("# Partition Information", ""), ("# col_name", "data_type"), HEADING, *DELTA], None),
        ([("id", "bigint")], "cannot be looked at"),  # as of a temporary view
        ([("Type", "MANAGED"), ("Provider", "delta")], "cannot be looked at"),  # columns of these names
        ([HEADING, ("Type", "VIEW"), ("View Text", "select 1")], "cannot be looked at"),
        ([HEADING, ("Type", "MATERIALIZED_VIEW"), ("Provider", "delta")], "cannot be looked at"),
        ([HEADING, ("Type", "EXTERNAL"), ("Provider", "jdbc")], "neither files nor a Delta table"),
        ([HEADING, *DELTA, ("# Row Filter", "")], "heads `# Row Filter`"),
        ([HEADING, *DELTA, ("Storage Properties", "[ignoreCorruptFiles=true]")], "left out"),
    ],
)
def test_a_table_of_a_remote_session_is_known_by_its_description(
    lines: list[tuple[str, str]], doubt: str | None
) -> None:
    found = next(doubt_described(lines), None)
    assert found is None if doubt is None else doubt in str(found)


def test_no_value_of_a_plan_is_repeated(pings: DataFrame) -> None:
    assert "anna" not in refusal(pings.where((F.col("city") == "anna") & (F.rand() < 0.5)).limit(1))
