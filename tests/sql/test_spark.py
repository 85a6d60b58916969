"""Every function in Spark, for a session and in a schema, against the library."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from tests.release.published import withdraw, write_pyramid, write_tables
from tests.sql.questions import (
    Ask,
    box_text,
    cells_box,
    check_hotspots,
    check_hour_profile,
    check_series,
    make_release,
    moment,
    random_questions,
)
from vdr_spark.errors import InvalidConfig
from vdr_spark.release.read import read_release
from vdr_spark.release.release import Release
from vdr_spark.release.sql_install import install_sql
from vdr_spark.release.views import register_views
from vdr_spark.spark.settings import settings_of_spark
from vdr_spark.spark_versions import to_arrow

SCHEMA = "vdr_sql"


@pytest.fixture(scope="module")
def release() -> Release:
    return make_release()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, release: Release) -> Path:
    output = tmp_path_factory.mktemp("it's `odd`")
    write_tables(output, release)
    write_pyramid(output, release)
    return output


@pytest.fixture(scope="module")
def ask(spark: SparkSession, folder: Path) -> Ask:
    register_views(spark, str(folder))
    return asking(spark)


@pytest.fixture
def schema(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    spark.sql(f"CREATE SCHEMA {SCHEMA} LOCATION '{tmp_path}/catalog'")
    yield SCHEMA
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


def asking(spark: SparkSession) -> Ask:
    def ask(question: str) -> list[dict[str, Any]]:
        return to_arrow(spark.sql(f"SELECT * FROM {question}")).to_pylist()  # type: ignore[no-any-return]

    return ask


def test_a_city_reads_of_its_cells_only_what_no_sum_holds(spark: SparkSession, ask: Ask, release: Release) -> None:
    """All bounds are folded into the scans, where Parquet's statistics are compared with them."""
    question = f"range_count({box_text(release.grid.box)})"
    (row,) = ask(question)
    expected = release.range_count(release.grid.box)
    assert row["count"] == expected.count == release.counts.sum(dtype=float)
    assert row["deviation"] == pytest.approx(expected.deviation, rel=1e-9)
    assert row["inside"] == 1
    with settings_of_spark(spark, {"spark.sql.maxMetadataStringLength": "1000"}):  # paths may be long
        plan = spark.sql(f"SELECT * FROM {question}")._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
    (cells,) = [line for line in plan.splitlines() if "tables/cells]" in line]
    assert "bounds" not in cells
    assert re.search(r"PushedFilters: \[.*GreaterThan\(slice,-1\), LessThan\(slice,60\), Or\(", cells)


def test_many_boxes_in_one_query(ask: Ask, release: Release) -> None:
    """Boxes and periods from a table: cut and whole, partly and wholly outside."""
    questions = random_questions(release, 4)
    outside = cells_box(release, -10, 0, -5, 5)
    boxes = [*questions, (outside, release.grid.start, release.grid.end)]
    rows = ", ".join(
        f"({place}, {box_text(box)}, {moment(start, 'TIMESTAMP')}, {moment(end, 'TIMESTAMP')})"
        for place, (box, start, end) in enumerate(boxes)
    )
    found = ask(
        f"(SELECT v.n, r.* FROM VALUES {rows} AS v(n, a, b, c, d, e, f), LATERAL range_count(a, b, c, d, e, f) r)"
    )
    by_number = {row["n"]: row for row in found}
    assert len(found) == len(by_number) == len(boxes)
    for place, question in enumerate(questions):
        expected, row = release.range_count(*question), by_number[place]
        assert row["count"] == (expected.count if place % 2 else pytest.approx(expected.count, rel=1e-9))
        assert row["deviation"] == pytest.approx(expected.deviation, rel=1e-9)
    assert (by_number[len(questions)]["count"], by_number[len(questions)]["inside"]) == (None, 0)


def test_series_hours_and_hot_spots(ask: Ask, release: Release) -> None:
    box = cells_box(release, 3.25, 10, 71, 61.5)
    check_series(release, ask, box)
    check_hour_profile(release, ask, box)
    check_hotspots(release, ask, 150.0)


def test_a_box_turned_round_is_refused_in_a_sentence(ask: Ask) -> None:
    with pytest.raises(Exception, match=r"range_count: south must be less than north.* swap or correct them"):
        ask("range_count(29.6, -95.5, 29.5, -95.4)")


def test_they_stay_in_a_schema_and_heed_a_withdrawal(
    spark: SparkSession, tmp_path: Path, schema: str, release: Release
) -> None:
    write_tables(tmp_path, release)
    published = read_release(str(tmp_path))
    with pytest.raises(InvalidConfig, match=r"schema must name where .* `vdr sql show`"):
        install_sql(spark, published)
    for wrong in ("no_such_schema", "no_such_catalog.schema", "x`; DROP SCHEMA vdr_sql; --"):
        with pytest.raises(InvalidConfig, match="schema"):
            install_sql(spark, published, wrong)
    names = install_sql(spark, published, schema, "city_")
    assert names[0] == f"`{schema}`.`city_range_count`"
    other = spark.newSession()
    other.sql(f"USE {schema}")  # Spark itself takes no schema before the name of a table function
    question, fresh = f"city_range_count({box_text(release.grid.box)})", asking(other)
    assert fresh(question)[0]["count"] == release.counts.sum(dtype=float)
    withdraw(tmp_path, release.release_id)
    assert fresh(question) == fresh("city_released_cells") == []


def test_a_session_without_sql_functions_has_the_views(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Spark 3.5 does: it cannot read CREATE FUNCTION ... RETURNS TABLE."""
    from vdr_spark.sql import script as script_module

    monkeypatch.setattr(
        script_module.Script, "functions", lambda _: ["CREATE OR REPLACE TEMPORARY FUNCTION f RETURN WHAT"]
    )
    spark.sql("DROP VIEW IF EXISTS release_cells")
    register_views(spark, str(folder))
    assert spark.table("release_cells").count() == 60 * 75 * 75
    with pytest.raises(AnalysisException):
        spark.sql("SELECT * FROM f()")
