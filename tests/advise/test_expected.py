"""Expected errors: each part against a simulation of just what it claims, and limits that hold whatever is assumed."""

import math
from dataclasses import replace

import numpy as np
import pytest

from vdr_spark.advise.expected import Crowd, expect, kept_share
from vdr_spark.advise.places import CELLS_ASKED, Places, typical_places
from vdr_spark.advise.sizes import Sizes, sizes_of_law
from vdr_spark.synth.power_law import PowerLaw

CROWD = Crowd(sizes_of_law(PowerLaw(2.3, 10, 50_000)), typical_places(144), of_slice=40_000.0, slices=28)


def test_noise_alone_is_that_of_a_square_scaled_up() -> None:
    """One place of 500 pings, users of 20 of whom 5 are kept, noise of variance 2 (5 / 0.5)^2."""
    crowd = replace(CROWD, sizes=Sizes(np.array([20.0]), np.array([1.0])), places=Places(np.array([0.0125])))
    found = expect(crowd, 5, noise_variance=200.0)
    assert found.kept == 0.25
    assert found.noise == pytest.approx(math.sqrt(2 / math.pi) * math.sqrt(200 * CELLS_ASKED) * 4 / 500)


def test_users_of_one_size_are_bounded_without_error_but_for_chance() -> None:
    """All weigh alike after scaling; sampling keeps each ping by itself: a binomial share of 500 pings."""
    crowd = replace(CROWD, sizes=Sizes(np.array([20.0]), np.array([1.0])), places=Places(np.array([0.0125])))
    assert expect(replace(crowd, bounding="weight"), 5, 200.0).bounding == pytest.approx(0.0)
    kept = np.random.default_rng(1).binomial(500, 0.25, size=100_000) / 0.25
    assert expect(crowd, 5, 200.0).bounding == pytest.approx(np.mean(np.abs(kept - 500)) / 500, rel=0.02)


def test_heavy_and_light_users_in_clumps() -> None:
    """Squares of users of 2 and 2000 pings: the error of weights, simulated by users who come independently."""
    sizes = Sizes(np.array([2.0, 2000.0]), np.array([1000.0, 1.0]))  # half of the pings each
    crowd = replace(CROWD, sizes=sizes, places=Places(np.array([0.1])), bounding="weight", slices=20)
    light, heavy = crowd.together
    weights = np.array([1.0, 0.01]) / (0.5 + 0.5 * 0.01)
    rng, s = np.random.default_rng(2), 4000
    off = rng.poisson(s / 2 / light, 50_000) * light * (weights[0] - 1)
    off += rng.poisson(s / 2 / heavy, 50_000) * heavy * (weights[1] - 1)
    found = expect(crowd, 20, noise_variance=0.0)
    # In the mean over squares both kinds cancel; what is left is their variance.
    assert found.bounding == pytest.approx(np.mean(np.abs(off - off.mean())) / s, rel=0.05)


def test_a_larger_bound_keeps_more_errs_less_and_is_noisier() -> None:
    rows = [expect(CROWD, k, 2 * (k / 6) ** 2) for k in (1, 4, 16, 64, 256, 1024)]
    for name, growing in (("kept", True), ("bounding", False), ("noise", True)):
        values = [getattr(row, name) for row in rows]
        assert values == sorted(values, reverse=not growing), name
    best = min(range(len(rows)), key=lambda i: rows[i].denoised)
    assert 0 < best < len(rows) - 1


def test_who_bounds_nobody_errs_by_noise_alone() -> None:
    found = expect(CROWD, 50_000, 1.0)
    assert found.kept == pytest.approx(1)
    assert found.bounding == pytest.approx(0, abs=1e-9)
    assert found.denoised < found.noise
    assert expect(replace(CROWD, denoised=False), 50_000, 1.0).denoised == pytest.approx(found.noise)


@pytest.mark.parametrize(
    ("noise", "measured"), [(0.083, 0.044), (0.295, 0.1164), (0.648, 0.178), (1.504, 0.3206)], ids=str
)
def test_what_denoising_leaves_is_what_was_measured(noise: float, measured: float) -> None:
    """The rows of docs/denoising.md in which nobody was bounded: T-Drive, SF cabs, all of them, by 3 hours."""
    alone = expect(CROWD, 50_000, 1.0).noise
    assert expect(CROWD, 50_000, (noise / alone) ** 2).denoised == pytest.approx(measured, rel=0.11)


def test_users_who_live_apart_ask_for_a_larger_bound() -> None:
    """Halves of one size each: 5 of 10 pings are kept in one and 5 of 40 in the other, and all are scaled alike."""
    crowd = replace(CROWD, sizes=Sizes(np.array([20.0]), np.array([1.0])), places=Places(np.array([0.0125])), apart=4.0)
    even = replace(crowd, apart=1.0)
    off = 0.5 / ((0.5 + 0.125) / 2) - 1
    assert expect(crowd, 5, 200.0).bounding == pytest.approx(math.hypot(off, expect(even, 5, 200.0).bounding))
    assert expect(crowd, 5, 200.0).denoised == pytest.approx(math.hypot(off, expect(even, 5, 200.0).denoised))
    assert expect(crowd, 40, 200.0).denoised == pytest.approx(expect(even, 40, 200.0).denoised)  # nobody is bounded

    def best(apart: float) -> int:
        bounds = [2**power for power in range(12)]
        return min(bounds, key=lambda k: expect(replace(CROWD, apart=apart), k, 2 * (k / 6) ** 2).denoised)

    assert best(1.0) < best(2.0) < best(6.0)


def test_norms_keep_more_of_the_heavy_than_sums() -> None:
    by_norm = kept_share(CROWD.sizes, "l2", 8, CROWD.together)
    assert by_norm > kept_share(CROWD.sizes, "weight", 8, CROWD.together)
    assert by_norm < 1
