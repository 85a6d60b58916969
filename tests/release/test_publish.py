"""The tables hold what they promise, and other systems read them."""

import json
from pathlib import Path

import duckdb
import numpy as np
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.plans import draw_id_of, release_id_of, run_stage
from vdr_spark.config import load_config
from vdr_spark.release.read import read_release
from vdr_spark.storage.schemas import CELLS, LEDGER, NOISY_SLICES, PYRAMID, RELEASES, Table

TABLES = "out/demo/tables"


def test_an_independent_reader_sees_every_cell(in_demo_folder: Path) -> None:
    release = read_release("out/demo")
    files = DeltaTable(str(in_demo_folder / TABLES / "cells")).file_uris()
    query = "SELECT count(*), count(DISTINCT (slice, y, x)), sum(count), min(deviation) FROM read_parquet(?)"
    rows, distinct, total, least = duckdb.execute(query, [files]).fetchone() or ()
    assert rows == distinct == release.grid.size
    assert total == pytest.approx(release.counts.sum(dtype=np.float64), rel=1e-6)
    assert least > 0


def test_a_row_knows_its_place_and_time(in_demo_folder: Path, spark: SparkSession) -> None:
    release = read_release("out/demo")
    cells = spark.read.format("delta").load(f"{in_demo_folder}/{TABLES}/cells")
    row = cells.where("slice = 9 AND y = 5 AND x = 20").withColumn("start", F.unix_timestamp("slice_start")).head()
    assert row is not None
    assert (row.lat, row.lon) == (release.grid.latitudes()[5], release.grid.longitudes()[20])
    assert row.start == release.grid.slice_start(9).timestamp()
    assert row["count"] == pytest.approx(release.counts[9, 5, 20])


def test_the_release_says_what_was_promised(in_demo_folder: Path, spark: SparkSession) -> None:
    config = load_config("conf/demo.yaml")
    rows = spark.read.format("delta").load(f"{in_demo_folder}/{TABLES}/releases").collect()
    assert len(rows) == 1
    row = rows[0]
    assert (row.release_id, row.draw_id, row.protected) == (release_id_of(config), draw_id_of(config), True)
    assert (row.epsilon, row.k, row.mechanism, row.privacy_unit) == ("6", 160, "discrete_laplace", "user")
    assert row.model in ("identity", "temporal+fusion", "ridge+fusion", "blindspot+fusion")
    assert row.estimated_rmse is None or row.estimated_rmse > 0
    assert 0 < row.kappa <= 1
    exact = json.loads(row.statement)["exact"]
    assert exact["epsilon_by_stage"] == {"collect": "6", "denoise": "0", "refine": "0", "publish": "0"}
    assert exact["total_pings"] == {"value": 60_000, "source": "declared public", "max_per_user": None}


def test_the_statement_is_also_a_file_and_a_page(in_demo_folder: Path, spark: SparkSession) -> None:
    config = load_config("conf/demo.yaml")
    row = spark.read.format("delta").load(f"{in_demo_folder}/{TABLES}/releases").collect()[0]
    file, page = (in_demo_folder / f"out/demo/statements/{release_id_of(config)}.{kind}" for kind in ("json", "html"))
    assert json.loads(file.read_text()) == json.loads(row.statement)
    before = page.read_text()
    page.unlink()
    assert run_stage("publish", spark, config) is False  # published already; what is missing is written again
    assert page.read_text() == before


@pytest.mark.parametrize("table", [CELLS, PYRAMID, RELEASES, NOISY_SLICES, LEDGER], ids=lambda table: table.name)
def test_columns_comments_and_rules(in_demo_folder: Path, spark: SparkSession, table: Table) -> None:
    path = f"{in_demo_folder}/{TABLES}/{table.name}"
    described = {row.col_name: row.comment for row in spark.sql(f"DESCRIBE TABLE delta.`{path}`").collect()}
    for name, _, comment in table.columns:
        assert described[name] == comment
    properties = {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES delta.`{path}`").collect()}
    assert properties["delta.appendOnly"] == "true"
    assert all(f"delta.constraints.{name}" in properties for name in table.constraints)


def test_a_row_that_breaks_a_rule_is_refused(in_demo_folder: Path, spark: SparkSession) -> None:
    cells = spark.read.format("delta").load(f"{in_demo_folder}/{TABLES}/cells")
    wrong = cells.limit(1).withColumn("y", F.lit(-1))
    with pytest.raises(Exception, match=r"(?i)constraint"):
        wrong.write.format("delta").mode("append").save(f"{in_demo_folder}/{TABLES}/cells")
