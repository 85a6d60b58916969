"""Ledgers for the tests of what promises privacy."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.conftest import ROOT, small_overrides
from tests.plans import request_of
from tests.privacy.ledgers import copied, copy_ledger, ledger_at, spend
from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.privacy.ledger import Ledger


@pytest.fixture
def ledger(spark: SparkSession, tmp_path: Path) -> Ledger:
    return ledger_at(spark, tmp_path / "ledger")


@pytest.fixture
def ledger_of_spark(spark: SparkSession, tmp_path: Path) -> Ledger:
    """A ledger that Spark alone can write: delta-rs would decode its folder's name."""
    return ledger_at(spark, tmp_path / "ledger%41")


@pytest.fixture(scope="module")
def booked(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[ReleaseConfig, Path]:
    """A release, and a folder with two ledgers: `reserved`, where it is, and `spent`, where it was made too."""
    folder = tmp_path_factory.mktemp("booked")
    config = load_config(ROOT / "conf/demo.yaml", small_overrides(folder))
    ledger = ledger_at(spark, folder / "spent")
    ledger.reserve(request_of(config))
    copy_ledger(folder / "spent", folder / "reserved")
    spend(ledger, config)
    return config, folder


@pytest.fixture
def reserved(spark: SparkSession, booked: tuple[ReleaseConfig, Path], tmp_path: Path) -> tuple[Ledger, ReleaseConfig]:
    """A ledger of a test's own in which a release is reserved."""
    return copied(spark, booked[1] / "reserved", tmp_path), booked[0]


@pytest.fixture
def spent(spark: SparkSession, booked: tuple[ReleaseConfig, Path], tmp_path: Path) -> tuple[Ledger, ReleaseConfig]:
    """A ledger of a test's own in which a release is reserved and spent."""
    return copied(spark, booked[1] / "spent", tmp_path), booked[0]
