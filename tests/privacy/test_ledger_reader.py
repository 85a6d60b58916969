"""The ledger is read without Spark where it can be, and by Spark where that is in doubt."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.privacy.written_ledger import chain, write_ledger
from vdr_spark.errors import LedgerConflict
from vdr_spark.privacy.entries import State
from vdr_spark.privacy.ledger_reader import LedgerReader
from vdr_spark.storage.places import LedgerPlaces

ENTRIES = chain("city", (State.GRANTED, 9, ""), (State.RESERVED, 2, "a-1"), (State.SPENT, 2, "a-1"))


class SparkAsked(Exception):
    pass


def no_spark() -> SparkSession:
    raise SparkAsked


def reader(path: Path | str) -> LedgerReader:
    return LedgerReader(LedgerPlaces(str(path), f"{path}.head.json"), no_spark)


def test_a_local_ledger_is_read_without_spark(tmp_path: Path) -> None:
    write_ledger(f"{tmp_path}/ledger", ENTRIES)
    ledger = reader(tmp_path / "ledger")
    assert ledger.entries() == ENTRIES
    account = ledger.account("city")
    assert (account.granted, account.spent, account.remaining) == (Fraction(9), Fraction(2), Fraction(7))
    assert ledger.state_of("a-1") is State.SPENT
    assert ledger.state_of("b-2") is None


def test_a_ledger_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    assert reader(tmp_path / "ledger").entries() == []


def test_it_is_verified_all_the_same(tmp_path: Path) -> None:
    write_ledger(f"{tmp_path}/ledger", [*ENTRIES[:1], replace(ENTRIES[1], epsilon=Fraction(1)), *ENTRIES[2:]])
    with pytest.raises(LedgerConflict, match="changed by hand at entry 2"):
        reader(tmp_path / "ledger").entries()
    write_ledger(f"{tmp_path}/cut", ENTRIES[:2])
    (tmp_path / "cut.head.json").write_text(f'{{"sequence": 3, "entry_hash": "{ENTRIES[2].entry_hash}"}}')
    with pytest.raises(LedgerConflict, match="cut off, replaced or deleted"):
        reader(tmp_path / "cut").entries()


def test_in_doubt_spark_is_asked(tmp_path: Path) -> None:
    write_ledger(f"{tmp_path}/ledger", ENTRIES)
    for file in (tmp_path / "ledger").glob("*.parquet"):
        file.write_text("nonsense")
    with pytest.raises(SparkAsked):
        reader(tmp_path / "ledger").entries()


def test_elsewhere_spark_is_asked() -> None:
    with pytest.raises(SparkAsked):
        reader("memory://bucket/ledger").entries()
