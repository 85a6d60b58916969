"""How accurate a release is by its own account: error bars by density and by size, from the release alone.

No truth is looked at: error bars come from the noisy counts (`vdr_spark.sum_errors` says how) and are published with
the release. Figures are medians over *pings*: half of all released pings lie in squares that are known better. Medians
over squares would tell of empty land.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from vdr_spark.arrays import Floats
from vdr_spark.report_page.digest import Digest

_DENSITIES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)
_KINDS = (("in one slice", False), ("over the whole period", True))
_FEWEST = 20  # squares that a figure is made of


@dataclass(frozen=True)
class Squares:
    """Sums of squares of cells with their error bars, in no order. (n,) each"""

    counts: Floats
    deviations: Floats

    def error(self) -> float | None:
        """Return the relative error bar that half of the pings are better than; None where there are none."""
        some = self.counts > 0
        counts, deviations = self.counts[some], self.deviations[some]
        if not len(counts):
            return None
        relative = deviations / counts
        order = np.argsort(relative)
        reached = np.cumsum(counts[order])
        return float(relative[order][np.searchsorted(reached, reached[-1] / 2)])

    def between(self, low: float, high: float) -> Squares:
        """Return those that hold at least `low` and fewer than `high` pings."""
        some = (self.counts >= low) & (self.counts < high)
        return Squares(self.counts[some], self.deviations[some])


@dataclass(frozen=True)
class Accuracy:
    """Relative error bars, in single slices and over the whole period, each by its name."""

    by_density: dict[str, list[tuple[float, float]]]  # pings of a cell, error
    by_side: dict[str, list[tuple[int, float]]]  # side of a square in cells, error
    told_from_zero: float  # share of cells, in single slices, whose count is at least twice its error bar
    of_slice: float | None  # error of all pings of a slice; None where there are none


def squares(digest: Digest, side: int, *, whole_period: bool) -> Squares:
    """Return squares of so many cells along each side, over the whole period or in single slices."""
    release = digest.release
    assert release.deviation is not None
    assert digest.period_variance is not None
    if whole_period:
        counts, own = digest.period[None], digest.period_variance[None]  # (1, M, M)
    else:
        few = digest.few_slices
        counts, own = release.counts[few].astype(np.float64), np.square(release.deviation[few], dtype=np.float64)
    sums, variances = (_sum_blocks(of, side).ravel() for of in (counts, own))
    if release.sum_errors is not None:
        slices = float(release.grid.slices if whole_period else 1)
        cells = np.full(sums.shape, side * side * slices)
        variances = release.sum_errors.variance(cells, np.full(sums.shape, slices), sums, variances)
    return Squares(sums, np.sqrt(variances))


def measure(digest: Digest) -> Accuracy | None:
    """Return the error bars of squares of 1, 2, 4 cells up to the whole box; None where the release has none."""
    if digest.release.deviation is None:
        return None
    by_density: dict[str, list[tuple[float, float]]] = {}
    by_side: dict[str, list[tuple[int, float]]] = {}
    told, of_slice = 0.0, None
    whole, errors = digest.release.grid.cells_per_side, digest.release.sum_errors
    scaled = errors is not None and errors.total is not None  # all of it together is N, which is no question of noise
    for name, whole_period in _KINDS if digest.release.grid.slices > 1 else _KINDS[:1]:
        by_side[name] = []
        for side in _sides(whole):
            some = squares(digest, side, whole_period=whole_period)
            error = some.error()
            if side == 1:
                by_density[name] = _by_density(some)
            if side == 1 and not whole_period:
                told = float(np.mean(some.counts >= 2 * some.deviations))
            if error is not None and not (whole_period and side == whole and scaled):
                by_side[name].append((side, error))
                of_slice = of_slice if whole_period else error  # of the last side, which is all of it
    return Accuracy(by_density, by_side, told, of_slice)


def _by_density(cells: Squares) -> list[tuple[float, float]]:
    found = []
    for low, high in pairwise(_DENSITIES):
        some = cells.between(low, high)
        error = some.error()
        if error is not None and len(some.counts) >= _FEWEST:
            found.append((float(np.sqrt(low * high)), error))
    return found


def _sides(most: int) -> list[int]:
    powers = [2**power for power in range(most.bit_length()) if 2**power < most]
    return [*powers, most]


def _sum_blocks(layers: Floats, side: int) -> Floats:
    """Return sums of whole squares, (n, M, M) -> (n, M // side, M // side); what is left over at edges goes."""
    number = layers.shape[1] // side
    inside = layers[:, : number * side, : number * side]
    sums: Floats = inside.reshape(len(layers), number, side, number, side).sum(axis=(2, 4))
    return sums
