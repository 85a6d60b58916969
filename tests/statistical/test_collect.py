"""The whole collect job, audited in districts: what is promised holds, and every broken variant is found out."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from pyspark.sql import SparkSession
from scipy.stats import binomtest

from tests.plans import grid_of, scale_of
from tests.statistical import variants
from tests.statistical.audit import ERROR, Finding, Statistic, audit, laplace_evidence
from tests.statistical.districts import SLICES, Scenario, run_in_districts, scenarios
from tests.statistical.float_support import outside_support
from vdr_spark.config import ReleaseConfig

Small = Callable[..., ReleaseConfig]
ONE_CELL, K_CELLS, ABOVE_IN_ONE_CELL, ABOVE_IN_ALL_CELLS, *_ = scenarios(3)
IN_TWO_SLICES = Scenario("5 pings in each of two slices", (0,) * 5 + (1,) * 5)
ONE_PING = Scenario("one ping", (0,))
LARGEST_SCALE = 2**50  # that a configuration may ask for: where floating-point noise is coarsest


def settings(small_config: Small, epsilon: str, k: int, bounding: str) -> ReleaseConfig:
    config = small_config(
        "grid.cells_per_side=192", "period.slice=6h",
        f"privacy.epsilon={epsilon}", f"privacy.k={k}", "privacy.budget=100", "privacy.accept_weak_promise=true",
        f"privacy.bounding={bounding}",
    )  # fmt: skip
    assert grid_of(config).slices == SLICES
    assert config.privacy.protected
    return config


def findings(spark: SparkSession, config: ReleaseConfig, chosen: Sequence[Scenario]) -> dict[str, Finding]:
    outputs = run_in_districts(spark, config, chosen)
    found = {scenario.name: audit(*outputs[scenario.name], attacks(config, scenario)) for scenario in chosen}
    for name, finding in found.items():  # `pytest -s` shows them
        print(f"\npromised {config.privacy.epsilon}, {config.privacy.bounding}, {name}: {finding}", end="")
    return found


def attacks(config: ReleaseConfig, scenario: Scenario) -> dict[str, Statistic]:
    """Statistics that know the settings and the user's pings, as an attacker may."""
    privacy = config.privacy
    scale = scale_of(config) * privacy.units_per_ping
    known: dict[str, Statistic] = {
        "evidence of these pings": laplace_evidence(
            scenario.contribution(privacy.bound(0), privacy.units_per_ping).tolist()
        )
    }
    if privacy.units_per_ping > 1:
        known["residue"] = lambda outputs: outputs[:, 0] % privacy.units_per_ping
    if scale == LARGEST_SCALE:
        known["holes"] = outside_support(float(scale))
    return known


@pytest.mark.parametrize(
    ("epsilon", "k", "bounding"),
    [
        ("1", 3, "sample"),
        ("1/3", 1, "weight"),
        pytest.param("1", 3, "weight", marks=pytest.mark.audits),
        pytest.param("1/3", 1, "sample", marks=pytest.mark.audits),
        pytest.param("0.05", 2, "sample", marks=pytest.mark.audits),
        pytest.param("0.05", 2, "weight", marks=pytest.mark.audits),
        pytest.param("40", 4, "weight", marks=pytest.mark.audits),  # by sampling: see below
    ],
)
def test_the_promise_holds(spark: SparkSession, small_config: Small, epsilon: str, k: int, bounding: str) -> None:
    config = settings(small_config, epsilon, k, bounding)
    found = findings(spark, config, scenarios(k))
    for name, finding in found.items():
        assert not finding.violates(float(config.privacy.epsilon)), f"{name}: {finding}"
    if epsilon == "1":
        assert found[ONE_CELL.name].bound > 0.4, "the audit is blind"


@pytest.mark.parametrize(
    ("epsilon", "k", "scenario"),
    [
        pytest.param("3", 1, IN_TWO_SLICES, marks=pytest.mark.audits, id="two slices"),
        pytest.param("1", LARGEST_SCALE, ONE_PING, id="largest scale"),
    ],
)
def test_the_promise_holds_where_broken_variants_are_tried(
    spark: SparkSession, small_config: Small, epsilon: str, k: int, scenario: Scenario
) -> None:
    found = findings(spark, settings(small_config, epsilon, k, "sample"), [scenario])[scenario.name]
    assert not found.violates(float(epsilon)), found


@dataclass(frozen=True)
class Broken:
    where: str
    variant: object
    scenario: Scenario
    epsilon: str = "1"
    k: int = 3
    bounding: str = "sample"


BROKEN = {
    "noise scale 0.7": Broken(variants.MECHANISM, variants.noise_of_scale_07, ONE_CELL),
    "noise scale 0.7, weights": Broken(
        variants.MECHANISM, variants.noise_of_scale_07, ABOVE_IN_ONE_CELL, bounding="weight"
    ),
    "bound k + 1": Broken(variants.BOUNDING, variants.bound_of_k_plus_1, ABOVE_IN_ONE_CELL, k=2),
    "bound k + 1, weights": Broken(
        variants.BOUNDING, variants.bound_of_k_plus_1, ABOVE_IN_ONE_CELL, k=2, bounding="weight"
    ),
    "noise on non-empty cells only": Broken(variants.NOISE_ADDER, variants.noise_on_cells_with_pings, K_CELLS),
    "float noise": Broken(variants.MECHANISM, variants.floating_point_noise, ONE_PING, k=LARGEST_SCALE),
    "zero counted twice": Broken(variants.MECHANISM, variants.noise_with_zero_counted_twice, ONE_CELL),
    "noise in whole pings": Broken(
        variants.MECHANISM, variants.noise_in_whole_pings, ABOVE_IN_ONE_CELL, bounding="weight"
    ),
    "norms of k, noise for sums of k": Broken(
        variants.BOUNDING, variants.norm_for_sum, ABOVE_IN_ALL_CELLS, bounding="weight"
    ),
    "same noise in every slice": Broken(variants.NOISE_ADDER, variants.same_noise_in_every_slice, ONE_CELL),
    "choice made anew for each slice": Broken(
        variants.BOUNDING, variants.choice_made_anew(SLICES), IN_TWO_SLICES, epsilon="3", k=1
    ),
}


# The rest: make audit-test.
ALWAYS = (
    "noise scale 0.7",
    "bound k + 1",
    "noise on non-empty cells only",
    "float noise",
    "norms of k, noise for sums of k",
)


@pytest.mark.parametrize(
    "name", [name if name in ALWAYS else pytest.param(name, marks=pytest.mark.audits) for name in BROKEN]
)
def test_a_broken_variant_is_found_out(
    spark: SparkSession, small_config: Small, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    broken = BROKEN[name]
    monkeypatch.setattr(broken.where, broken.variant)
    config = settings(small_config, broken.epsilon, broken.k, broken.bounding)
    found = findings(spark, config, [broken.scenario])[broken.scenario.name]
    assert found.violates(float(broken.epsilon)), found


def test_a_huge_epsilon_leaves_the_noise_that_it_should(spark: SparkSession, small_config: Small) -> None:
    config = settings(small_config, "40", 10, "sample")
    [(with_user, without_user)] = run_in_districts(spark, config, [ONE_CELL]).values()
    p = math.exp(-1 / float(scale_of(config)))
    zero = (1 - p) / (1 + p)  # 0.96
    assert not audit(with_user, without_user).violates(40)
    assert agrees(without_user == 0, zero)
    assert agrees(without_user > 0, p / (1 + p))
    assert agrees(with_user[:, 0] == len(ONE_CELL.pings), zero)


def agrees(happened: NDArray[np.bool_], probability: float) -> bool:
    return bool(binomtest(int(happened.sum()), happened.size, probability).pvalue > ERROR)
