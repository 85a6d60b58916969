"""Ledgers of a test's own: made, copied, spent on."""

import shutil
from pathlib import Path

from pyspark.sql import SparkSession

from tests.plans import request_of
from vdr_spark.config import ReleaseConfig
from vdr_spark.plan import make_plan
from vdr_spark.privacy.ledger import Ledger
from vdr_spark.storage.places import LedgerPlaces


def ledger_at(spark: SparkSession, path: Path) -> Ledger:
    return Ledger(spark, LedgerPlaces(str(path), f"{path}.head.json"))


def copy_ledger(place: Path, to: Path) -> None:
    shutil.copytree(place, to)
    shutil.copy(f"{place}.head.json", f"{to}.head.json")


def copied(spark: SparkSession, place: Path, folder: Path) -> Ledger:
    """A ledger of a test's own that knows its entries, as one does that wrote them."""
    copy_ledger(place, folder / place.name)
    ledger = ledger_at(spark, folder / place.name)
    assert ledger.entries()
    return ledger


def spend(ledger: Ledger, config: ReleaseConfig) -> None:
    ledger.mark_spent(request_of(config), make_plan(config).cells_draw, "of the tensor")
