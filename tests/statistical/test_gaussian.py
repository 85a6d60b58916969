"""The whole collect job under Gaussian noise, audited in districts: rho holds, and every broken variant is found out.

What is promised is mu = sqrt(2 rho), sensitivity over sigma: `separation_bound` holds it against what was seen.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tests.plans import grid_of
from tests.statistical import gaussian_variants, variants
from tests.statistical.audit import Finding, Statistic, audit, gaussian_evidence, separation_bound
from tests.statistical.districts import SLICES, Scenario, run_in_districts
from vdr_spark.config import ReleaseConfig

Small = Callable[..., ReleaseConfig]
BOUND = 5  # k, or the norm
IN_ONE_CELL = Scenario("25 pings in one cell", (0,) * 25)
IN_ALL_CELLS = Scenario("10 pings in each cell", tuple(ping % SLICES for ping in range(40)))
UNEVEN = Scenario("12 pings and 5 pings, whose norm is 13", (0,) * 12 + (1,) * 5)
SCENARIOS = [
    Scenario("5 pings in one cell", (0,) * 5),
    IN_ONE_CELL,
    IN_ALL_CELLS,
    UNEVEN,
    Scenario("12 and 5 pings among others'", UNEVEN.pings, others=((0,) * 30, (0, 1, 2, 3))),
]
FAINT = Fraction(BOUND**2, 2 * 1024**2)  # sigma is 1,024 pings: where numbers of 32 bits are coarser than a unit


def settings(small_config: Small, rho: Fraction | int, bounding: str) -> ReleaseConfig:
    bound = "norm" if bounding == "l2" else "k"
    config = small_config(
        "grid.cells_per_side=192", "period.slice=6h",
        f"privacy={{rho: {rho}, delta: 1e-9, accept_weak_promise: true, total_pings: 1e6, bounding: {bounding}, "
        f"{bound}: {BOUND}}}",
    )  # fmt: skip
    assert grid_of(config).slices == SLICES
    assert config.privacy.protected
    return config


def findings(spark: SparkSession, config: ReleaseConfig, chosen: Sequence[Scenario]) -> dict[str, Finding]:
    outputs = run_in_districts(spark, config, chosen)
    found = {
        scenario.name: audit(*outputs[scenario.name], attacks(config, scenario), bound=separation_bound)
        for scenario in chosen
    }
    for name, finding in found.items():  # `pytest -s` shows them
        print(f"\npromised mu {promised(config):.4g}, {config.privacy.bounding}, {name}: {finding}", end="")
    return found


def promised(config: ReleaseConfig) -> float:
    assert config.privacy.rho is not None
    return math.sqrt(2 * config.privacy.rho)


def attacks(config: ReleaseConfig, scenario: Scenario) -> dict[str, Statistic]:
    """Statistics that know the settings and the user's pings, as an attacker may."""
    units = config.privacy.units_per_ping
    by_norm = config.privacy.bounding == "l2"
    added = scenario.contribution_by_norm(BOUND, units) if by_norm else scenario.contribution(BOUND, units)
    known: dict[str, Statistic] = {"evidence of these pings": gaussian_evidence(added.tolist())}
    if units > 1:
        known["last bits"] = lambda outputs: outputs[:, 0] & 15
    return known


@pytest.mark.parametrize(
    ("rho", "bounding"),
    [
        (2, "l2"),
        pytest.param(Fraction(1, 8), "l2", marks=pytest.mark.audits),
        pytest.param(2, "sample", marks=pytest.mark.audits),
        pytest.param(2, "weight", marks=pytest.mark.audits),
    ],
)
def test_the_promise_holds(spark: SparkSession, small_config: Small, rho: Fraction | int, bounding: str) -> None:
    config = settings(small_config, rho, bounding)
    found = findings(spark, config, SCENARIOS)
    for name, finding in found.items():
        assert not finding.violates(promised(config)), f"{name}: {finding}"
    if rho == 2:
        assert found[IN_ONE_CELL.name].bound > 1.4, "the audit is blind"


@pytest.mark.audits
def test_the_promise_holds_where_numbers_of_32_bits_would_break_it(spark: SparkSession, small_config: Small) -> None:
    config = settings(small_config, FAINT, "l2")
    found = findings(spark, config, [IN_ONE_CELL])[IN_ONE_CELL.name]
    assert not found.violates(promised(config)), found


@dataclass(frozen=True)
class Broken:
    where: str
    variant: object
    scenario: Scenario
    rho: Fraction | int = 2


BROKEN = {
    "sigma 0.8": Broken(variants.MECHANISM, gaussian_variants.noise_of_sigma_08, IN_ALL_CELLS),
    "norm 1.2": Broken(variants.BOUNDING, gaussian_variants.norm_a_fifth_too_large, UNEVEN),
    "float noise": Broken(variants.MECHANISM, gaussian_variants.floating_point_noise, IN_ONE_CELL, FAINT),
    "norm of each slice": Broken(variants.BOUNDING, gaussian_variants.norm_of_each_slice(SLICES), IN_ALL_CELLS),
    "noise on non-empty cells only": Broken(variants.NOISE_ADDER, variants.noise_on_cells_with_pings, IN_ALL_CELLS),
}
ALWAYS = ("sigma 0.8", "norm 1.2", "float noise")  # the rest: make audit-test


@pytest.mark.parametrize(
    "name", [name if name in ALWAYS else pytest.param(name, marks=pytest.mark.audits) for name in BROKEN]
)
def test_a_broken_variant_is_found_out(
    spark: SparkSession, small_config: Small, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    broken = BROKEN[name]
    monkeypatch.setattr(broken.where, broken.variant)
    config = settings(small_config, broken.rho, "l2")
    found = findings(spark, config, [broken.scenario])[broken.scenario.name]
    assert found.violates(promised(config)), found


def test_what_a_user_adds_is_told_as_collect_counts_it() -> None:
    """Of the scenarios: the attacker's guess is off by less than a unit a ping."""
    assert UNEVEN.contribution_by_norm(13, 1).tolist() == [12, 5, 0, 0]
    guess = UNEVEN.contribution_by_norm(BOUND, 2**20)
    weight = math.isqrt((BOUND * 2**20) ** 2 // 169)
    assert np.abs(guess - weight * np.array([12, 5, 0, 0])).max() <= 12
