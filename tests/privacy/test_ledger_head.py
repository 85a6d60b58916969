"""The ledger's head, and what else finds a ledger that was changed, cut off, or is gone."""

import json
import shutil
from pathlib import Path

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from tests.plans import request_of
from tests.privacy.ledgers import ledger_at, spend
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import LedgerConflict
from vdr_spark.privacy.ledger import Ledger


@pytest.mark.parametrize("edit", ["UPDATE delta.`{}` SET epsilon = '1' WHERE sequence = 2", "DELETE FROM delta.`{}`"])
def test_the_table_is_append_only(spark: SparkSession, reserved: tuple[Ledger, ReleaseConfig], edit: str) -> None:
    with pytest.raises(Exception, match="append"):
        spark.sql(edit.format(reserved[0].path))


def test_an_edited_ledger_is_noticed(spark: SparkSession, reserved: tuple[Ledger, ReleaseConfig]) -> None:
    ledger, config = reserved
    spark.sql(f"ALTER TABLE delta.`{ledger.path}` SET TBLPROPERTIES ('delta.appendOnly' = 'false')")
    DeltaTable.forPath(spark, ledger.path).update("sequence = 2", {"epsilon": "'0.1'"})
    with pytest.raises(LedgerConflict, match="changed by hand at entry 2"):
        ledger.account(config.dataset)


def cut_off(path: str, entries: int) -> None:
    """Take the last commits out of a Delta table's log, as a person with a shell would."""
    commits = sorted(Path(path).glob("_delta_log/*.json"))
    for commit in commits[-entries:]:
        commit.unlink()
        (commit.parent / f".{commit.name}.crc").unlink(missing_ok=True)


def forget_cached_tables(spark: SparkSession) -> None:
    assert spark._jvm is not None
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def test_a_ledger_whose_end_was_cut_off_is_noticed(spark: SparkSession, spent: tuple[Ledger, ReleaseConfig]) -> None:
    ledger, config = spent
    cut_off(ledger.path, entries=2)
    forget_cached_tables(spark)
    with pytest.raises(LedgerConflict, match=r"has 1 entries, but its head .* remembers entry 3"):
        ledger.account(config.dataset)


def test_rows_deleted_by_sql_are_noticed(spark: SparkSession, reserved: tuple[Ledger, ReleaseConfig]) -> None:
    ledger, config = reserved
    spark.sql(f"ALTER TABLE delta.`{ledger.path}` SET TBLPROPERTIES ('delta.appendOnly' = 'false')")
    spark.sql(f"DELETE FROM delta.`{ledger.path}` WHERE sequence = 2")
    with pytest.raises(LedgerConflict, match="cut off, replaced or deleted"):
        ledger.reserve(request_of(config))


def test_a_ledger_that_is_gone_or_replaced_is_noticed(
    spark: SparkSession, reserved: tuple[Ledger, ReleaseConfig], tmp_path: Path
) -> None:
    ledger, config = reserved
    shutil.rmtree(ledger.path)
    forget_cached_tables(spark)
    with pytest.raises(LedgerConflict, match="has 0 entries"):
        ledger.reserve(request_of(config))
    # Another ledger, whole in itself, in its place.
    other = ledger_at(spark, tmp_path / "other")
    other.reserve(request_of(config))
    shutil.move(other.path, ledger.path)
    forget_cached_tables(spark)
    with pytest.raises(LedgerConflict, match="with another ending"):
        ledger.account(config.dataset)


def test_a_ledger_head_may_be_behind_and_may_not_be_damaged(reserved: tuple[Ledger, ReleaseConfig]) -> None:
    ledger, config = reserved
    ledger_head = Path(ledger._head.path)
    first = ledger.entries()[0]
    # Killed after the entry was written and before the head was told.
    ledger_head.write_text(json.dumps({"sequence": 1, "entry_hash": first.entry_hash}))
    spend(ledger, config)
    assert json.loads(ledger_head.read_text())["sequence"] == 3
    ledger_head.write_text("{")
    with pytest.raises(LedgerConflict, match=r"head .* is damaged"):
        ledger.account(config.dataset)


def test_the_ledger_head_is_told_of_what_it_missed(spent: tuple[Ledger, ReleaseConfig]) -> None:
    ledger, config = spent
    ledger_head = Path(ledger._head.path)
    ledger_head.write_text(json.dumps({"sequence": 2, "entry_hash": ledger.entries()[1].entry_hash}))
    spend(ledger, config)  # nothing new to write
    assert json.loads(ledger_head.read_text())["sequence"] == 3
