"""Tables that have names in a catalog: a whole release into them, their ledger, and a catalog that keeps files away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.explore.cities import get, site
from tests.plans import collect, draws_of, ledger_of, request_of, stored_noise
from vdr_spark import Publisher, register_views
from vdr_spark.cli.options import open_release
from vdr_spark.collect import exclusion, noisy_tensor
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import BudgetExceeded, InvalidConfig, StageMissing, Withdrawn
from vdr_spark.explore.shelf import shelf_of
from vdr_spark.plan import make_plan
from vdr_spark.privacy import ledger as ledger_module
from vdr_spark.storage.catalog import CatalogTable
from vdr_spark.storage.schemas import LEDGER
from vdr_spark.storage.tables import create_if_missing, find_folder

Configure = Callable[..., ReleaseConfig]
SCHEMA = "vdr_named"
SEED = "privacy.test_seed=7"
SQL_FUNCTIONS = ("range_count", "series", "hour_profile", "hotspots")


@pytest.fixture
def schema(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """A schema whose tables lie in a folder of this test."""
    spark.sql(f"CREATE SCHEMA {SCHEMA} LOCATION '{tmp_path}/catalog'")
    yield SCHEMA
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


@pytest.fixture
def kept_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Unity Catalog does: a managed table's files are reached by nobody but Spark."""

    def find(spark: SparkSession, place: Any) -> str | None:
        return find_folder(spark, place) if isinstance(place, str) else None

    for module in (exclusion, noisy_tensor, ledger_module):
        monkeypatch.setattr(module, "find_folder", find)


def states(spark: SparkSession, config: ReleaseConfig) -> list[str]:
    return [entry.state.value for entry in ledger_of(spark, config).entries()]


def test_a_release_into_named_tables(
    spark: SparkSession, schema: str, small_config: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_path, config = small_config(SEED, f"output={tmp_path}/by-path"), small_config(SEED, f"tables={schema}")
    publisher = Publisher(config, spark)
    publisher.synthesize()
    release = publisher.release()
    collect(spark, by_path)
    assert (stored_noise(spark, config) == stored_noise(spark, by_path)).all()
    assert not (tmp_path / "out/tables").exists()
    assert {finding.check for finding in publisher.audit().findings if finding.holds is not True} == {"protected"}
    assert release.to_spark(spark).count() == release.counts.size
    assert spark.table(f"{schema}.cells").where(f"release_id = '{release.release_id}'").count() == release.counts.size
    file = next((tmp_path / "catalog/cells").glob("**/*.parquet"))
    columns = pq.ParquetFile(file).metadata.row_group(0).to_dict()["columns"]
    of_time = next(of for of in columns if of["path_in_schema"] == "slice_start")
    assert of_time["statistics"]["has_min_max"]  # by which any engine passes over other times
    assert (open_release(config, None, None).counts == release.counts).all()  # as `vdr query` and `vdr draw` do
    register_views(spark, config.output, tables=schema)
    assert spark.table("cells").count() == release.counts.size
    assert publisher.install_sql() == [f"`{schema}`.`{name}`" for name in SQL_FUNCTIONS]
    assert f"FROM `{schema}`.`pyramid` r CROSS JOIN bounds b" in publisher.sql("databricks")
    box, session = release.grid.box, spark.newSession()
    session.sql(f"USE {schema}")
    answer = session.sql(f"SELECT count FROM range_count({box.south}, {box.west}, {box.north}, {box.east})").collect()
    assert answer[0][0] == release.counts.sum(dtype="f8")
    assert states(spark, config) == ["granted", "reserved", "spent"]
    assert spark.table(f"{schema}.withdrawals").isEmpty()  # there from the first, for joins
    assert [record.release_id for record in publisher.releases()] == [release.release_id]
    monkeypatch.setattr("vdr_spark.explore.shelf._BELIEVED_SECONDS_OF_SPARK", 0.0)
    shown = site(shelf_of(release))
    assert get(shown, "api/meta").status == 200
    for reason in ("a wrong box", "again"):
        assert publisher.withdraw(release.release_id, reason).reason == "a wrong box"
    assert [row.reason for row in spark.table(f"{schema}.withdrawals").collect()] == ["a wrong box"]
    for refused in (publisher.read, publisher.release):
        with pytest.raises(Withdrawn, match="a wrong box"):
            refused()
    assert (publisher.read(allow_withdrawn=True).counts == release.counts).all()
    assert b"a wrong box" in get(shown, f"api/alive?release={release.release_id}").body  # a page that is open
    other = small_config(SEED, f"tables=spark_catalog.{schema}", f"output={tmp_path}/other")
    with pytest.raises(BudgetExceeded):  # another folder, the same ledger by its name
        collect(spark, other)
    locks = {ledger_of(spark, one)._find_lock() for one in (config, other)}
    assert locks == {f"{tmp_path}/catalog/ledger.lock"}


@pytest.mark.usefixtures("kept_away")
def test_a_catalog_that_keeps_files_to_itself(spark: SparkSession, schema: str, small_config: Configure) -> None:
    config = small_config(SEED, f"tables={schema}")
    Publisher(config, spark).synthesize()
    with pytest.raises(InvalidConfig, match=r"vdr_named\.ledger must be on a disk .*single_writer: true"):
        collect(spark, config)
    assert states(spark, config) == []  # refused before anything is reserved
    alone = small_config(SEED, f"tables={schema}", "single_writer=true")
    publisher = Publisher(alone, spark)
    release = publisher.release()
    assert spark.table(f"{schema}.cells").count() == release.counts.size
    found = {finding.check: finding for finding in publisher.audit().findings}
    assert {check for check, finding in found.items() if finding.holds is not True} == {"protected"}
    assert "its catalog keeps the files" in found["noisy tensor"].found
    assert not collect(spark, alone)  # complete: nothing is drawn again
    assert len(draws_of(spark, alone).cells.files()) == 1


def test_names_lead_to_delta_tables_or_nowhere(spark: SparkSession, schema: str, small_config: Configure) -> None:
    with pytest.raises(InvalidConfig, match="SCHEMA_NOT_FOUND"):
        create_if_missing(spark, CatalogTable("no_such_schema.ledger"), LEDGER)
    spark.sql(f"CREATE VIEW {schema}.ledger AS SELECT 1 AS sequence")
    with pytest.raises(InvalidConfig, match=r"vdr_named\.ledger must be a Delta table, and is something else"):
        create_if_missing(spark, CatalogTable(f"{schema}.ledger"), LEDGER)
    spark.sql(f"DROP VIEW {schema}.ledger")
    spark.sql(f"CREATE TABLE {schema}.ledger (sequence BIGINT) USING parquet")
    with pytest.raises(InvalidConfig, match="no Delta table"):
        create_if_missing(spark, CatalogTable(f"{schema}.ledger"), LEDGER)
    with pytest.raises(StageMissing, match="nothing is published in schema vdr_named yet"):
        Publisher(small_config(f"tables={schema}"), spark).read()


def test_one_ledger_by_its_name(spark: SparkSession, schema: str, small_config: Configure, tmp_path: Path) -> None:
    config = small_config(f"tables={schema}", "privacy.budget=7")
    ledger_of(spark, config).reserve(request_of(config))
    account = Publisher(small_config(f"tables={schema}", f"output={tmp_path}/elsewhere"), spark).budget
    assert (account.granted, account.committed) == (7, 6)


@pytest.mark.parametrize("name", ["a`b", "a.b.c", "a'; DROP TABLE x", "a b", "a."])
def test_other_names_are_refused(small_config: Configure, name: str) -> None:
    with pytest.raises(InvalidConfig, match="tables"):
        small_config(f'tables="{name}"')


@pytest.mark.parametrize("table", ["main.mobility.cells", "mobility.ledger", "LEDGER"])
def test_pings_are_none_of_our_tables(small_config: Configure, table: str) -> None:
    with pytest.raises(InvalidConfig, match="has the name of a table that is written in `tables`"):
        small_config("tables=main.mobility", "synth=null", f"input={{table: {table}}}")


def test_a_name_is_part_of_a_draw(small_config: Configure) -> None:
    plain, named, other = (make_plan(small_config(*more)) for more in ((), ("tables=a.b",), ("tables=a.c",)))
    assert len({plan.cells_draw.draw_id for plan in (plain, named, other)}) == 3
    assert "ledger_head: not set" in " ".join(named.cautions())
    assert "tables: a names no catalog" in " ".join(make_plan(small_config("tables=a")).cautions())
