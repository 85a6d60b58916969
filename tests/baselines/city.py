"""Small counts with a centre, suburbs and empty country, which the tests of all baselines share."""

import numpy as np

from vdr_spark.arrays import Slices
from vdr_spark.baselines import Account, Baseline


def city(slices: int = 3, cells: int = 24, pings: float = 20_000, seed: int = 0) -> np.ndarray:
    """Return whole counts: a steep hill, another each slice as busy as the hour. (T, M, M)"""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[:cells, :cells] / cells
    hill = np.exp(-((y - 0.4) ** 2 + (x - 0.6) ** 2) / 0.01) + 0.1 * np.exp(-((y - 0.7) ** 2 + (x - 0.3) ** 2) / 0.05)
    rhythm = 1 + 0.5 * np.sin(np.arange(slices))
    mean = rhythm[:, None, None] * hill
    return random.poisson(mean * pings / mean.sum()).astype(np.float64)


def account(epsilon: float, seed: int = 0) -> Account:
    """Return an account for a ping, with a seed."""
    return Account.open(epsilon, 1.0, np.random.default_rng(seed))


def draws(baseline: Baseline, counts: np.ndarray, epsilon: float, number: int) -> np.ndarray:
    """Return several estimates of the same counts, each with noise of its own. (draws, T, M, M)"""
    return np.stack([baseline(counts, account(epsilon, seed)) for seed in range(number)])


def error(estimate: Slices, counts: np.ndarray) -> float:
    """Return the root mean square error of a cell."""
    return float(np.sqrt(np.mean((estimate - counts) ** 2)))
