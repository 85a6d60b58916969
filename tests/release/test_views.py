"""A release in Spark: chosen by the same rule, and read back by Spark as without it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.release.hand_made import hand_made
from tests.release.published import write, write_tables
from vdr_spark import withdraw_release
from vdr_spark.errors import DamagedTable, InvalidQuery, StageMissing, Withdrawn
from vdr_spark.release import views
from vdr_spark.release.cell_source import EVERYTHING, CellsInMemory
from vdr_spark.release.read import open_cells
from vdr_spark.release.release import Release
from vdr_spark.release.views import read_back, read_by_spark, register_views
from vdr_spark.storage.places import OutputFolder
from vdr_spark.storage.schemas import WITHDRAWALS


@pytest.fixture
def release() -> Release:
    rng = np.random.default_rng(1)
    return hand_made(rng.normal(5, 3, size=(3, 5, 5)), rng.gamma(2, 1, size=(3, 5, 5)), release_id="first-1")


@pytest.fixture
def _as_on_a_remote_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark reads, as where delta-rs has no credentials."""
    monkeypatch.setattr(views, "is_local", lambda _: False)
    monkeypatch.setattr(views, "open_cells", None)


@pytest.mark.usefixtures("_as_on_a_remote_store")
def test_spark_reads_back_the_same_to_the_bit(spark: SparkSession, tmp_path: Path, release: Release) -> None:
    plain = replace(release, release_id="plain-2", cells=CellsInMemory(release.counts))
    write_tables(tmp_path, release, plain)
    for made in (release, plain):
        counts, deviation = read_back(spark, OutputFolder.at(str(tmp_path)), made.release_id, made.grid)
        by_delta_rs = open_cells(str(tmp_path), made.release_id, made.grid).read(EVERYTHING)
        assert counts.dtype == np.float32
        assert counts.tobytes() == by_delta_rs[0].tobytes() == made.counts.tobytes()
        if made.deviation is None:
            assert deviation is None
        else:
            assert deviation is not None
            assert deviation.tobytes() == made.deviation.tobytes()


@pytest.mark.usefixtures("_as_on_a_remote_store")
@pytest.mark.parametrize("change", ["missing", "outside"])
def test_spark_refuses_cells_that_are_not_the_grids(
    spark: SparkSession, tmp_path: Path, release: Release, change: str
) -> None:
    cells = release.to_pandas().assign(release_id="first-1")
    changed = cells.iloc[1:] if change == "missing" else cells.assign(x=cells["x"].replace(4, 5))
    write(tmp_path, "cells", pa.Table.from_pandas(changed, preserve_index=False), partition_by=["release_id"])
    with pytest.raises(DamagedTable, match="must hold each of the 75 cells of release first-1 once"):
        read_back(spark, OutputFolder.at(str(tmp_path)), "first-1", release.grid)


def test_views_are_of_one_release_that_is_named_or_the_only_one(
    spark: SparkSession, tmp_path: Path, release: Release
) -> None:
    def viewed() -> list[str]:
        return [row[0] for row in spark.sql("SELECT DISTINCT release_id FROM cells").collect()]

    with pytest.raises(StageMissing, match="nothing is published"):
        register_views(spark, str(tmp_path))
    write_tables(tmp_path, replace(release, region="houston"))
    register_views(spark, str(tmp_path))
    assert viewed() == ["first-1"]
    write_tables(tmp_path, replace(release, release_id="second-2", region="dallas"))
    with pytest.raises(InvalidQuery, match="holds 2 releases"):
        register_views(spark, str(tmp_path))
    register_views(spark, str(tmp_path), region="dallas")
    assert viewed() == ["second-2"]
    register_views(spark, str(tmp_path), "first-1")
    assert viewed() == ["first-1"]
    assert spark.sql("SELECT count(*) FROM releases").head()[0] == 2  # type: ignore[index]
    assert spark.table("withdrawals").columns == WITHDRAWALS.names  # empty: the folder is from before there were any
    withdraw_release(str(tmp_path), "first-1", "a wrong box")
    with pytest.raises(Withdrawn, match="a wrong box"):
        register_views(spark, str(tmp_path), "first-1")
    with pytest.raises(Withdrawn, match="a wrong box"):
        read_by_spark(spark, OutputFolder.at(str(tmp_path)), "first-1")
    register_views(spark, str(tmp_path))
    assert viewed() == ["second-2"]
    assert [row.release_id for row in spark.table("releases").collect()] == ["second-2"]
    assert [row.reason for row in spark.table("withdrawals").collect()] == ["a wrong box"]
    register_views(spark, str(tmp_path), "first-1", allow_withdrawn=True)
    assert viewed() == ["first-1"]
    assert spark.table("releases").count() == 2
