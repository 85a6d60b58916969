"""The whole collect job again and again on two data sets that differ by one user, other users being there.

A job takes a second, so few of them must do in every test run. They show gross violations only: an event that always
happens with the user and never without. `make audit-test` repeats the job more often, for a bound on epsilon.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from tests.plans import collect, grid_of
from tests.statistical import variants
from tests.statistical.audit import chance_of_separation, epsilon_bound
from tests.statistical.districts import stored_values, write_pings
from vdr_spark.collect.bounding import SampleKey
from vdr_spark.config import ReleaseConfig

Small = Callable[..., ReleaseConfig]
Booleans = NDArray[np.bool_]
HOME = 77  # the user's cell, where nobody else is
PINGS = 2000  # of the user, there
JOBS_A_BOOK = 30  # the ledger and the table are read by every job: they stay short

EVENTS: dict[str, Callable[[NDArray[np.int64]], Booleans]] = {
    "half of the user's pings and more": lambda tensors: tensors[:, HOME] > PINGS // 2,
    "nothing at all in the user's cell": lambda tensors: tensors[:, HOME] == 0,
    "most cells are exactly zero": lambda tensors: (tensors == 0).mean(axis=1) > 0.5,
    "k pings and more": lambda tensors: tensors[:, HOME] >= 1,  # as k is 1: the likelihood ratio's own threshold
}


@pytest.fixture
def neighbours(small_config: Small) -> dict[str, str]:
    """Two folders of pings: with the user, and without."""
    config = small_config()
    rng = np.random.default_rng(3)
    others = rng.integers(1, 60, 900)
    cells = rng.integers(0, grid_of(config).size, 900)
    cells[cells == HOME] = HOME + 1
    write_pings(f"{config.input.path}/without", grid_of(config), others, cells)
    users = np.concatenate([others, np.full(PINGS, 1000)])
    write_pings(f"{config.input.path}/with", grid_of(config), users, np.concatenate([cells, np.full(PINGS, HOME)]))
    return {side: f"{config.input.path}/{side}" for side in ("with", "without")}


def repeated(
    spark: SparkSession, small_config: Small, neighbours: dict[str, str], runs: int, *overrides: str
) -> dict[str, tuple[int, int]]:
    """How often each event happens in so many whole jobs with the user, and in as many without."""
    seen = []
    for side, path in neighbours.items():
        tensors = []
        for run in range(runs):
            output = f"{small_config().output}/{side}-{run // JOBS_A_BOOK}"
            config = small_config(f"name=run-{run}", f"input.path={path}", f"output={output}", *overrides)
            assert collect(spark, config) is True
            tensors.append(stored_values(spark, config).ravel())
        seen.append([int(event(np.array(tensors)).sum()) for event in EVENTS.values()])
    return dict(zip(EVENTS, zip(*seen, strict=True), strict=True))


def separated(seen: dict[str, tuple[int, int]], runs: int) -> list[str]:
    return [event for event, counts in seen.items() if set(counts) == {0, runs}]


FEW = 6
STRICT = ("privacy.k=1", "privacy.epsilon=1/20", "privacy.budget=100")


def test_few_runs_would_show_a_gross_violation() -> None:
    assert chance_of_separation(FEW, 1 / 20) < 1 / 2000


@pytest.mark.audits
def test_no_event_tells_the_data_sets_apart(
    spark: SparkSession, small_config: Small, neighbours: dict[str, str]
) -> None:
    assert separated(repeated(spark, small_config, neighbours, FEW, *STRICT), FEW) == []


@pytest.mark.audits
def test_noise_on_cells_with_pings_tells_them_apart(
    spark: SparkSession, small_config: Small, neighbours: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(variants.NOISE_ADDER, variants.noise_on_cells_with_pings)
    runs = FEW // 2  # more of them would take longer and show the same
    seen = repeated(spark, small_config, neighbours, runs, *STRICT)
    assert "nothing at all in the user's cell" in separated(seen, runs)


MANY, ENOUGH = 150, 100  # runs of the right one; of a broken one, for a bound of about 2
ERROR = 1e-3
PLAIN = ("privacy.k=1", "privacy.epsilon=1", "privacy.budget=1000")


def largest_bound(seen: dict[str, tuple[int, int]], runs: int) -> float:
    return max(float(epsilon_bound(*counts, runs, runs, ERROR / len(EVENTS))) for counts in seen.values())


@pytest.mark.audits
def test_many_runs_prove_no_more_than_epsilon(
    spark: SparkSession, small_config: Small, neighbours: dict[str, str]
) -> None:
    assert largest_bound(repeated(spark, small_config, neighbours, MANY, *PLAIN), MANY) <= 1


@pytest.mark.audits
@pytest.mark.parametrize(
    ("where", "variant"),
    [(variants.BOUNDING, variants.no_bound), (variants.NOISE_ADDER, variants.noise_on_cells_with_pings)],
    ids=["no bound", "noise on non-empty cells only"],
)
def test_many_runs_of_a_broken_variant_prove_more(
    spark: SparkSession,
    small_config: Small,
    neighbours: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    variant: object,
) -> None:
    monkeypatch.setattr(where, variant)
    assert largest_bound(repeated(spark, small_config, neighbours, ENOUGH, *PLAIN), ENOUGH) > 1


@pytest.mark.parametrize("bounding", ["sample", "weight"])
def test_without_noise_and_with_one_key_the_data_sets_are_k_apart(
    spark: SparkSession,
    small_config: Small,
    neighbours: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    bounding: str,
) -> None:
    """Sensitivity to the letter: taking the user away takes k out of the user's cell and changes nothing else."""
    monkeypatch.setattr(SampleKey, "generate", lambda: SampleKey(5, 6))
    tensors = []
    for side, path in neighbours.items():
        config = small_config(
            f"name={side}", f"input.path={path}", "privacy.k=7", f"privacy.bounding={bounding}",
            "privacy.epsilon=1e13", "privacy.accept_weak_promise=true", "privacy.budget=1e14",
        )  # fmt: skip
        collect(spark, config)
        tensors.append(stored_values(spark, config).ravel())
    difference = tensors[0] - tensors[1]
    assert np.flatnonzero(difference).tolist() == [HOME]
    assert 7 * config.privacy.units_per_ping - PINGS < difference[HOME] <= 7 * config.privacy.units_per_ping
