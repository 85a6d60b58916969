"""How the Delta tables come into being, also where an earlier run was killed while it made them."""

from pathlib import Path

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from tests.storage.test_delta_log import HALF_A_COMMIT, leave
from vdr_spark.errors import InvalidConfig
from vdr_spark.storage.schemas import RELEASES
from vdr_spark.storage.tables import create_if_missing


@pytest.mark.parametrize("left", ["_delta_log/", "_delta_log/_staged_commits/", HALF_A_COMMIT])
def test_a_table_whose_making_was_killed_is_made(spark: SparkSession, tmp_path: Path, left: str) -> None:
    leave(tmp_path / "table", left)
    create_if_missing(spark, str(tmp_path / "table"), RELEASES)
    assert DeltaTable.isDeltaTable(spark, str(tmp_path / "table"))


def test_a_place_that_holds_something_else_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    leave(tmp_path / "table", "notes.txt")
    with pytest.raises(InvalidConfig, match="no Delta table"):
        create_if_missing(spark, str(tmp_path / "table"), RELEASES)
    assert (tmp_path / "table/notes.txt").exists()
