"""Volatility finds what changes, and does not look at the slice it is asked about."""

import numpy as np
import pytest

from tests.denoise.priors.test_temporal import NOISE, with_noise
from vdr_spark.denoise.statistics.activity import estimate_activity
from vdr_spark.denoise.statistics.subsets import LeaveOneOut
from vdr_spark.denoise.statistics.volatility import Volatility


def volatility_of(noisy: np.ndarray) -> Volatility:
    return Volatility(noisy, NOISE.variance, LeaveOneOut(noisy, estimate_activity(noisy, NOISE.variance)))


def test_what_changes_is_told_from_what_is_steady() -> None:
    rng = np.random.default_rng(0)
    truth = np.full((30, 40, 40), 60.0)
    truth[:, :, 20:] *= rng.gamma(2.0, 0.5, (30, 40, 20))  # of mean 1 and squared coefficient of variation 1/2
    found = volatility_of(with_noise(rng.poisson(truth).astype(np.float32))).of(4)
    assert np.median(found[:, :18]) == pytest.approx(1 / 60, abs=0.02)  # Poisson's own
    assert np.median(found[:, 22:]) == pytest.approx(0.5, abs=0.15)


def test_blind_to_the_slice() -> None:
    noisy = with_noise(np.full((8, 12, 12), 20, np.float32))
    changed = noisy.copy()
    changed[3, 5, 5] += 60
    before, after = (volatility_of(tensor) for tensor in (noisy, changed))
    moved = [abs(after.of(t)[5, 5] - before.of(t)[5, 5]) for t in (3, 4)]
    assert moved[1] > 0.1
    assert moved[0] < 0.1 * moved[1]  # activities move a little with every cell
