"""Pings per user: a law in classes keeps its sums, one figure fixes one parameter, noise in a histogram is no user."""

import numpy as np
import pytest

from vdr_spark.advise.sizes import Sizes, sizes_of_histogram, sizes_of_kept, sizes_of_law, sizes_of_mean
from vdr_spark.errors import InvalidQuery
from vdr_spark.synth.power_law import PowerLaw

LAW = PowerLaw(2.3, 10, 50_000)


def kept_by(k: int, sizes: Sizes) -> float:
    return float(sizes.shares @ np.minimum(1, k / sizes.pings))


def test_a_law_in_classes_has_its_mean_and_keeps_what_it_keeps() -> None:
    sizes = sizes_of_law(LAW)
    assert sizes.mean == pytest.approx(LAW.mean)
    assert sizes.users.sum() == pytest.approx(1)
    pings = np.arange(1, LAW.cutoff + 1)
    for k in (1, 7, 100, 5000):
        assert kept_by(k, sizes) == pytest.approx(np.minimum(pings, k) @ LAW.probabilities / LAW.mean, rel=0.002)


def test_the_number_of_users_fixes_the_shift() -> None:
    found = sizes_of_mean(LAW.exponent, LAW.cutoff, LAW.mean)
    assert found.mean == pytest.approx(LAW.mean, rel=0.002)
    assert kept_by(30, found) == pytest.approx(kept_by(30, sizes_of_law(LAW)), rel=0.01)


def test_users_that_fit_no_law_are_refused() -> None:
    with pytest.raises(InvalidQuery, match="fit no law of exponent 2"):
        sizes_of_mean(2.0, 1000, 900.0)  # even spread evenly up to 1000 they have 500 on average


def test_what_a_bound_kept_fixes_the_shift() -> None:
    truth = sizes_of_law(LAW)
    found = sizes_of_kept(lambda sizes: kept_by(16, sizes), kept_by(16, truth), LAW.exponent, LAW.cutoff)
    assert found is not None
    assert found.mean == pytest.approx(truth.mean, rel=0.01)
    assert sizes_of_kept(lambda sizes: kept_by(16, sizes), 0.9999, LAW.exponent, LAW.cutoff) is None


def test_a_bin_within_its_noise_holds_nobody() -> None:
    noisy = [1000, 500, 240, 18, -12, 0, 0, 35]  # of a noise of 10: by chance a bin of 128 pings looks full
    found = sizes_of_histogram(noisy, deviation=10.0)
    assert found is not None
    assert found.users.tolist() == [1000, 500, 240]
    assert found.pings[0] == 1
    assert 2 < found.pings[1] < 4
    assert 4 < found.pings[2] < 8
    assert sizes_of_histogram([5, -3, 11], deviation=10.0) is None


def test_what_is_missing_of_n_belongs_to_users_who_are_too_few_to_be_seen() -> None:
    noisy = [1000, 500, 240, 18, -12, 0]
    seen, found = sizes_of_histogram(noisy, 10.0), sizes_of_histogram(noisy, 10.0, total=10_000)
    assert seen is not None
    assert found is not None
    assert found.total == pytest.approx(10_000)
    assert found.pings[-1] == 2 * seen.pings[-1]
    less = sizes_of_histogram(noisy, 10.0, total=100)  # declared too low: nobody is taken away
    assert less is not None
    assert less.users.tolist() == seen.users.tolist()


def test_a_histogram_tells_what_is_kept() -> None:
    pings = LAW.sample(np.random.default_rng(1), 50_000)
    found = sizes_of_histogram(np.bincount(np.frexp(pings)[1] - 1).tolist(), deviation=0.1)
    assert found is not None
    for k in (4, 30, 300):
        assert kept_by(k, found) == pytest.approx(np.minimum(pings, k).sum() / pings.sum(), rel=0.05)


def test_a_longer_period_makes_larger_users() -> None:
    assert sizes_of_law(LAW).longer(2).mean == pytest.approx(2 * LAW.mean)
