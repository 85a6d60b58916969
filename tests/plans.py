"""What tests ask of a configuration: its grid, its draws, its ledger, its stages."""

from __future__ import annotations

from fractions import Fraction

from pyspark.sql import SparkSession

from vdr_spark import Publisher, Release
from vdr_spark.arrays import Slices
from vdr_spark.collect import stage
from vdr_spark.collect.draws import Draws, open_draws
from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.petastorm_reader import read_region
from vdr_spark.grid import Grid
from vdr_spark.pipeline import Pipeline
from vdr_spark.plan import ReleasePlan, make_plan
from vdr_spark.privacy.entries import BudgetRequest
from vdr_spark.privacy.ledger import Ledger
from vdr_spark.privacy.mechanism import Noise
from vdr_spark.storage.places import OutputFolder


def grid_of(config: ReleaseConfig) -> Grid:
    """Return the cells of the first, or only, region."""
    return make_plan(config).grids[0]


def draw_id_of(config: ReleaseConfig) -> str:
    return make_plan(config).cells_draw.draw_id


def release_id_of(config: ReleaseConfig) -> str:
    plan = make_plan(config)
    return plan.release_id(plan.regions[0])


def request_of(config: ReleaseConfig) -> BudgetRequest:
    return make_plan(config).budget_request


def output_of(config: ReleaseConfig) -> OutputFolder:
    return make_plan(config).output


def scale_of(config: ReleaseConfig) -> Fraction:
    """Return k / epsilon, where k is known before anything is read."""
    k = make_plan(config).known_k
    assert k is not None
    return k / config.privacy.cells_price.amount


def noise_of(config: ReleaseConfig) -> Noise:
    """Return the noise of a cell, where k is known before anything is read."""
    noise = make_plan(config).known_noise
    assert noise is not None
    return noise


def release_plan_of(spark: SparkSession, config: ReleaseConfig) -> ReleasePlan:
    """Return the plan of the first region, once N is known."""
    return draws_of(spark, config).releases()[0]


def draws_of(spark: SparkSession, config: ReleaseConfig) -> Draws:
    return open_draws(spark, make_plan(config))


def ledger_of(spark: SparkSession, config: ReleaseConfig) -> Ledger:
    return Ledger(spark, make_plan(config).ledger)


def collect(spark: SparkSession, config: ReleaseConfig) -> bool:
    """Run the collect stage as a process of its own would."""
    return stage.collect(spark, draws_of(spark, config))


def run_stage(name: str, spark: SparkSession, config: ReleaseConfig) -> bool:
    """Run one stage as a process of its own would."""
    return Pipeline(spark, config).run(name)


def run_release(spark: SparkSession, config: ReleaseConfig, region: str | None = None) -> Release:
    return Publisher(config, spark).release(region)


def noisy_files(spark: SparkSession, config: ReleaseConfig) -> list[str]:
    return draws_of(spark, config).cells.files()


def stored_noise(spark: SparkSession, config: ReleaseConfig) -> Slices:
    """Return the noisy counts of the first region, as they are stored."""
    return read_region(noisy_files(spark, config), release_plan_of(spark, config))
