"""What every baseline has to be: within epsilon, exact without noise, repeatable, of the right shape."""

import numpy as np
import pytest

from tests.baselines.city import account, city, draws, error
from vdr_spark.baselines import BASELINES, Baseline, estimate
from vdr_spark.errors import InvalidInput

ALL = pytest.mark.parametrize("baseline", BASELINES.values(), ids=BASELINES)
UNBIASED = ("identity", "hb_striped", "quadtree", "privelet")
EXACT = (
    *UNBIASED,
    "ug",
    "ag",
    "ahp",
    "dawa_striped",
    "privtree",
    "htf",
    "privbayes",
)  # where nothing is lost but to noise


@ALL
@pytest.mark.parametrize("epsilon", [0.01, 0.2, 30.0])
def test_all_of_epsilon_is_spent_and_no_more(baseline: Baseline, epsilon: float) -> None:
    ours = account(epsilon)
    baseline(city(), ours)
    assert ours.spent == pytest.approx(epsilon, rel=1e-9)


@ALL
def test_empty_and_tiny_counts_are_estimated_too(baseline: Baseline) -> None:
    for shape in [(2, 7, 7), (1, 1, 1), (1, 2, 2), (5, 3, 3)]:
        for counts in (np.zeros(shape), np.ones(shape)):
            ours = account(0.5)
            result = baseline(counts, ours)
            assert result.shape == shape
            assert result.dtype == np.float32
            assert np.isfinite(result).all()
            assert ours.spent == pytest.approx(0.5, rel=1e-9)


@ALL
def test_seeds_repeat_and_differ(baseline: Baseline) -> None:
    counts = city(2, 16)
    one, again, other = (estimate(baseline, counts, 0.5, 1.0, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


@ALL
def test_users_of_k_pings_are_pings_at_epsilon_over_k(baseline: Baseline) -> None:
    counts = city(2, 16)
    users = estimate(baseline, counts, 8.0, 4.0, np.random.default_rng(1))
    pings = estimate(baseline, counts, 2.0, 1.0, np.random.default_rng(1))
    assert np.array_equal(users, pings)


@ALL
def test_the_exact_counts_are_left_alone(baseline: Baseline) -> None:
    counts = city(2, 16)
    kept = counts.copy()
    estimate(baseline, counts, 1.0, 1.0, np.random.default_rng(0))
    assert np.array_equal(counts, kept)


@pytest.mark.parametrize("name", EXACT)
def test_without_noise_nothing_is_lost(name: str) -> None:
    counts = city()
    result = estimate(BASELINES[name], counts, 1e7, 1.0, np.random.default_rng(0))
    np.testing.assert_allclose(result, counts, atol=0.01, rtol=1e-4)


@pytest.mark.parametrize("name", [name for name in BASELINES if name != "mwem"])
def test_more_epsilon_is_better(name: str) -> None:
    counts = city()
    little, much = (
        np.mean([error(one, counts) for one in draws(BASELINES[name], counts, of, 3)]) for of in (0.05, 50.0)
    )
    assert much < 0.5 * little


@pytest.mark.parametrize("name", UNBIASED)
def test_the_mean_over_many_draws_is_the_truth(name: str) -> None:
    counts = city(1, 8, pings=500)
    estimates = draws(BASELINES[name], counts, 1.0, 600)
    deviation = estimates.std(axis=0) / np.sqrt(len(estimates))
    scores = (estimates.mean(axis=0) - counts) / deviation
    assert np.abs(scores).max() < 5
    assert 0.4 < scores.std() < 2


@pytest.mark.parametrize(
    "counts",
    [
        np.ones((4, 4)),
        np.ones((2, 4, 5)),
        np.ones((0, 4, 4)),
        np.full((1, 2, 2), np.nan),
        np.full((1, 2, 2), -1.0),
    ],
    ids=["no slices", "not square", "none", "not numbers", "below 0"],
)
def test_what_is_no_tensor_of_counts_is_refused(counts: np.ndarray) -> None:
    with pytest.raises(InvalidInput, match="counts must"):
        estimate(BASELINES["identity"], counts, 1.0, 1.0, np.random.default_rng(0))
