"""What error a bound may be expected to give: a small computation, of which every part was measured.

The error is the benchmarks': |released - true| / max(true, psi) of squares of 1 to 4 cells at pings in one slice, psi
being 0.1 % of a slice (`evaluate`), in the mean over such squares. Let S be the pings of one, N all pings.

**Kept.** A user of m pings counts for w(m) m of them: w = min(1, k / m) for sums, min(1, s / sqrt(m r(m))) for norms,
where r(m) is below. Of all pings n = N E[w] are kept, E[.] being over pings: a user of m pings counts m times in it.
Everything is scaled by N / n, so that a user of m pings weighs W = w N / n in place of 1.

**Noise.** A square of c cells has noise of variance c V, and c V (N / n)**2 after scaling, V being 2 (k / epsilon)**2
or s**2 / (2 rho). The mean size of a normal number is sqrt(2 / pi) of its deviation.

**Bounding.** Who is in a square puts r pings there at once, and is off by r (W - 1). Users come independently, S / r of
them, so that a square is off by a variance of S r (W - 1)**2 in the mean over its pings; nobody has more than S pings
there. With `sample` every ping is besides kept by itself, with chance w: S E[w (1 - w)] (N / n)**2.

**Apart.** Where heavy users live apart from light ones, what is missing of them is missing in their places, and no
denoiser knows. Let users of half the city have a times the pings of those of the other half: sqrt(a) times what is
known of sizes, and 1 / sqrt(a) times. Each half is scaled by N / n of both together, and so is off by E[w] of its own
over that of both, less 1: a share of every count. (a = 1 unless somebody knows better: `--apart`.)

r(m), the pings of one user in one square and slice: they come in bursts of up to R, and who has very many comes back,
so r = m / (1 + m / R) + h m / T. For the norm of a user's counts, sum c_i**2 = m r(m), the same r is taken.

**Denoising** takes out more of the noise the more there is of it. On data where nobody was bounded
(docs/denoising.md: SF cabs, T-Drive, all pings of SF cabs, SF cabs by 3 hours; `ridge`) errors of noise x became
g = 0.25 x**0.7 within 10 %. Where the signal drowns, what is released tends to what is expected of a place, and errors
to about 0.75 (`cabspotting_users`): g / sqrt(1 + (g / 0.75)**2). Of the error of bounding it takes what comes by
chance, the more the fewer are kept: it left (n / N)**0.12 of it with `sample`, (n / N)**0.05 with `weight` and all of
it with `l2`, whose counts refinement does not pull, on the sets that this was chosen on (docs/choosing_k.md). What is
left of noise and of bounding is independent: squares add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from vdr_spark.advise.places import CELLS_ASKED, Places
from vdr_spark.advise.sizes import Sizes
from vdr_spark.arrays import Floats
from vdr_spark.sum_errors import Users

_MEAN_SIZE = math.sqrt(2 / math.pi)
_BURST = 8.0  # pings that a user leaves in one place at once
_COMES_BACK: dict[Users, float] = {"people": 0.4, "vehicles": 0.1}  # of a user's pings in a slice, at one place
_GAIN, _POWER = 0.25, 0.7  # of denoising
_DROWNED = 0.75
_CHANCE = {"sample": 0.12, "weight": 0.05, "l2": 0.0}  # powers of n / N


@dataclass(frozen=True)
class Crowd:
    """What is known, or assumed, of users and places; and what does not depend on the bound."""

    sizes: Sizes
    places: Places
    of_slice: float  # pings of the mean slice
    slices: int
    users: Users = "people"
    bounding: str = "sample"
    denoised: bool = True
    apart: float = 1.0  # how many times the pings of others users of half of the city have

    @property
    def together(self) -> Floats:
        """r, by class of users. (c,)"""
        return pings_together(self.sizes, self.users, self.slices)


@dataclass(frozen=True)
class Expected:
    """What a bound may be expected to give: relative errors of range counts."""

    bound: int
    kept: float  # n / N
    bounding: float
    noise: float
    denoised: float  # what is released: both, after denoising

    def as_dict(self) -> dict[str, float]:
        return vars(self).copy()


def pings_together(sizes: Sizes, users: Users, slices: int) -> Floats:
    """Return r, the pings of a user in one square and slice, by class of users. (c,)"""
    pings = sizes.pings
    return np.maximum(1.0, pings / (1 + pings / _BURST) + _COMES_BACK[users] * pings / slices)


def weights_of(bounding: str, bound: float, sizes: Sizes, together: Floats) -> Floats:
    """Return w, what a ping of a user counts before scaling, by class of users. (c,)"""
    if bounding == "l2":
        return np.minimum(1.0, bound / np.sqrt(sizes.pings * together))
    return np.minimum(1.0, bound / sizes.pings)


def kept_share(sizes: Sizes, bounding: str, bound: int, together: Floats) -> float:
    """Return n / N."""
    return float(sizes.shares @ weights_of(bounding, bound, sizes, together))


def expect(crowd: Crowd, bound: int, noise_variance: float) -> Expected:
    """Return the errors to be expected of a bound whose noise has this variance in a cell, in pings squared."""
    kept = kept_share(crowd.sizes, crowd.bounding, bound, crowd.together)
    divisors = crowd.places.divisors(crowd.of_slice)
    by_bounding = _MEAN_SIZE * float(np.mean(np.sqrt(_variance_of_bounding(crowd, bound, kept)) / divisors))
    by_noise = _MEAN_SIZE * math.sqrt(CELLS_ASKED * noise_variance) / kept * float(np.mean(1 / divisors))
    left, by_places = _left_by_denoising(crowd, kept, by_bounding, by_noise), _error_of_halves(crowd, bound)
    return Expected(bound, kept, math.hypot(by_bounding, by_places), by_noise, math.hypot(left, by_places))


def _variance_of_bounding(crowd: Crowd, bound: int, kept: float) -> Floats:
    """Return by how much scaled counts of the squares vary because users were bounded. (p,)"""
    counts, sizes = crowd.places.counts(crowd.of_slice), crowd.sizes
    weights = weights_of(crowd.bounding, bound, sizes, crowd.together)
    off = sizes.shares * (weights / kept - 1) ** 2
    at_once = np.minimum(crowd.together, np.maximum(counts, 1.0)[:, None])  # (p, c)
    variance: Floats = counts * (at_once @ off)
    if crowd.bounding == "sample":
        variance = variance + counts * float(sizes.shares @ (weights * (1 - weights))) / kept**2
    return variance


def _error_of_halves(crowd: Crowd, bound: int) -> float:
    """Return by how much counts are off because users of one half of the city have more pings than of the other."""
    if crowd.apart == 1:
        return 0.0
    halves = [crowd.sizes.longer(times) for times in (crowd.apart**0.5, crowd.apart**-0.5)]
    kept = np.array(
        [kept_share(of, crowd.bounding, bound, pings_together(of, crowd.users, crowd.slices)) for of in halves]
    )
    at_places = float(np.mean(crowd.places.counts(crowd.of_slice) / crowd.places.divisors(crowd.of_slice)))
    return float(np.mean(np.abs(kept / kept.mean() - 1))) * at_places


def _left_by_denoising(crowd: Crowd, kept: float, bounding: float, noise: float) -> float:
    if not crowd.denoised:
        return math.hypot(bounding, noise)
    gained = _GAIN * noise**_POWER
    of_noise = gained / math.hypot(1, gained / _DROWNED)
    return math.hypot(of_noise, kept ** _CHANCE[crowd.bounding] * bounding)
