"""How many pings users have, as far as that is public: a declared law, what an earlier bound kept, a paid histogram."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vdr_spark.arrays import Floats
from vdr_spark.errors import InvalidQuery
from vdr_spark.synth.power_law import PowerLaw

TYPICAL_EXPONENT, TYPICAL_MOST = 2.3, 30_000  # of a law of which one figure is known only
_FEW = 32  # up to here every number of pings is a class of its own
_CLASSES = 200
_SHIFTS = (0.0, 1e7)  # of a law, between which one is looked for
_HALVINGS = 60
_SURE = 3.0  # deviations of its noise above which a bin of a histogram holds users


@dataclass(frozen=True)
class Sizes:
    """Classes of users: the pings of a user in each, and how many users are in it, as a share or a number. (c,) each"""

    pings: Floats
    users: Floats

    @cached_property
    def shares(self) -> Floats:
        """Of all pings, those of each class. (c,)"""
        shares: Floats = self.pings * self.users / self.total
        return shares

    @property
    def mean(self) -> float:
        """Pings of the average user."""
        return float(self.pings @ self.users / self.users.sum())

    @property
    def total(self) -> float:
        """Pings of all of them, where users are a number and not shares."""
        return float(self.pings @ self.users)

    def longer(self, times: float) -> Sizes:
        """Return the sizes of the same users over a period that is so many times as long."""
        return Sizes(np.maximum(1.0, self.pings * times), self.users)


def sizes_of_law(law: PowerLaw) -> Sizes:
    """Return a law in classes: the mean of each class, and its share of the users."""
    pings, chances = np.arange(1, law.cutoff + 1), law.probabilities
    edges = np.unique(np.r_[np.arange(1, _FEW), np.geomspace(_FEW, law.cutoff + 1, _CLASSES).astype(np.int64)])
    of_class = np.searchsorted(edges, pings, side="right") - 1
    users, sums = (np.bincount(of_class, amount).astype(np.float64) for amount in (chances, chances * pings))
    there = users > 0
    return Sizes(sums[there] / users[there], users[there])


def sizes_of_mean(exponent: float, most: int, mean: float) -> Sizes:
    """Return the law of an exponent and a largest number whose mean is known: N over the number of users."""
    found = _solve(exponent, most, lambda sizes: sizes.mean - mean)
    if found is None:
        raise InvalidQuery(
            f"--users: users who have {mean:,.3g} pings on average fit no law of exponent {exponent:g} up to {most:,} "
            "pings; check --users and N, or give --shift"
        )
    return found


def sizes_of_kept(
    kept_of: Callable[[Sizes], float], kept: float, exponent: float = TYPICAL_EXPONENT, most: int = TYPICAL_MOST
) -> Sizes | None:
    """Return the law of an exponent of which a bound keeps so large a share of all pings; None where none does.

    `kept_of` says what share the bound keeps of any sizes. Larger shifts make larger users, and a smaller share.
    """
    return _solve(exponent, most, lambda sizes: kept - kept_of(sizes))


def _solve(exponent: float, most: int, excess: Callable[[Sizes], float]) -> Sizes | None:
    """Return the law whose shift makes a growing function of it zero; None where no shift does."""
    low, high = _SHIFTS
    if (
        excess(sizes_of_law(PowerLaw(exponent, low, most))) > 0
        or excess(sizes_of_law(PowerLaw(exponent, high, most))) < 0
    ):
        return None
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5 if low > 1 else (low + high) / 2
        if excess(sizes_of_law(PowerLaw(exponent, middle, most))) > 0:
            high = middle
        else:
            low = middle
        if high - low < 1e-3 * high:
            break
    return sizes_of_law(PowerLaw(exponent, high, most))


def sizes_of_histogram(counts: Sequence[int], deviation: float, total: int | None = None) -> Sizes | None:
    """Return the sizes that a noisy histogram tells, bin b being users of 2**b up to 2**(b + 1) pings; None: it drowns.

    From the fullest bin on outwards, as far as bins stand out from their noise: in the last ones a user who is not
    there would have more pings than everybody else. What is then missing of `total`, N, belongs to users who are too
    few to be seen, and have twice as many pings as the largest that are. Within a bin users are taken to be spread as
    by a law of exponent 2, by which all of them together have 2**b / ln 2 pings each.
    """
    users = np.array(counts, dtype=np.float64)
    first = last = int(np.argmax(users))
    if users[first] <= _SURE * deviation:
        return None
    while first > 0 and users[first - 1] > _SURE * deviation:
        first -= 1
    while last + 1 < len(users) and users[last + 1] > _SURE * deviation:
        last += 1
    pings = _mean_of_bins(len(users) + 1)
    seen = Sizes(pings[first : last + 1], users[first : last + 1])
    unseen = 0.0 if total is None else max(0.0, total - seen.total)
    larger = pings[last + 1]
    return Sizes(np.append(seen.pings, larger), np.append(seen.users, unseen / larger)) if unseen else seen


def _mean_of_bins(bins: int) -> Floats:
    """Return the pings of the mean user of each bin. (bins,)"""
    mean: Floats = 2.0 ** np.arange(bins) / np.log(2)
    mean[0] = 1.0  # the only number in it
    return mean
