"""How much a mechanism's output tells about one user, at least: a lower confidence bound on its epsilon, or on its mu.

Pure privacy promises an epsilon. Gaussian noise promises mu = sqrt(2 rho): that nothing tells two neighbours apart
better than one number tells two normal distributions apart which lie mu deviations from each other.

Given outputs with the user and outputs without, an audit looks for an event that is much likelier on one side. The
event is chosen among thousands on one part of the outputs and tried on another part only, so that looking at many
costs no confidence. If the bound exceeds what was promised, the promise is broken; if it does not, no event of this
family, with so many outputs, shows that it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm

ERROR = 1e-6  # probability that a bound lies above the true epsilon: a right build practically never fails
_LEARNING, _CHOOSING = (
    0.1,
    0.3,
)  # shares of the outputs: one learns a statistic, one chooses an event, the rest tries it
_LEVELS = np.concatenate([[0.001, 0.003], np.linspace(0.01, 0.99, 50), [0.997, 0.999]])

Outputs = NDArray[np.int64]
"""One row for each run, one column for each cell that the user may have touched. (runs, cells)"""
Values = NDArray[Any]
Statistic = Callable[[Outputs], Values]
"""One number for each run. (runs, cells) -> (runs,)"""

STATISTICS: dict[str, Statistic] = {
    "total": lambda outputs: outputs.sum(axis=1),
    "first": lambda outputs: outputs[:, 0],
    "largest": lambda outputs: outputs.max(axis=1),
    "range": lambda outputs: outputs.max(axis=1) - outputs.min(axis=1),
    "zeros": lambda outputs: (outputs == 0).sum(axis=1),
    "positive": lambda outputs: (outputs > 0).sum(axis=1),
}


class Bound(Protocol):
    """A lower bound by how often one event was seen with the user and without, of so many runs each."""

    def __call__(
        self, seen_with: Values | int, seen_without: Values | int, runs_with: int, runs_without: int, error: float
    ) -> Values: ...


@dataclass(frozen=True)
class Finding:
    """`bound` is the lower bound; `event` was seen with and without the user so often, of so many runs each."""

    bound: float
    event: str
    seen_with: int
    seen_without: int
    runs_with: int
    runs_without: int

    def violates(self, promised: float) -> bool:
        return self.bound > promised

    def __str__(self) -> str:
        return (
            f">= {self.bound:.3f} by {self.event}: {self.seen_with} of {self.runs_with} runs with the user, "
            f"{self.seen_without} of {self.runs_without} without"
        )


@dataclass(frozen=True)
class _Event:
    name: str
    value: float
    relation: str

    def happens(self, values: Values) -> NDArray[np.bool_]:
        relations = {">=": np.greater_equal, "<=": np.less_equal, "==": np.equal}
        happens: NDArray[np.bool_] = relations[self.relation](values, self.value)
        return happens

    def __str__(self) -> str:
        return f"{self.name} {self.relation} {self.value:g}"


def audit(
    with_user: Outputs,
    without_user: Outputs,
    further: Mapping[str, Statistic] | None = None,
    error: float = ERROR,
    bound: Bound | None = None,
) -> Finding:
    """The most that the outputs prove, by thresholds and single values of the general and of `further` statistics.

    Of epsilon, unless another bound is named.
    """
    bound = bound or epsilon_bound
    learning, choosing, trying = zip(_split(with_user), _split(without_user), strict=True)
    statistics = STATISTICS | {"learned evidence": learned_evidence(*learning)} | dict(further or {})
    candidates = [
        candidate
        for name, statistic in statistics.items()
        for candidate in _scored(name, *map(statistic, choosing), error, bound)
    ]
    _, event = max(candidates, key=lambda candidate: candidate[0])
    seen = [int(event.happens(statistics[event.name](outputs)).sum()) for outputs in trying]
    sizes = [len(outputs) for outputs in trying]
    return Finding(float(bound(*seen, *sizes, error)), str(event), *seen, *sizes)


def epsilon_bound(
    seen_with: Values | int, seen_without: Values | int, runs_with: int, runs_without: int, error: float = ERROR
) -> Values:
    """Below the true epsilon but for a probability of `error`, for one event fixed before: Clopper and Pearson's.

    Epsilon limits the event's and its complement's probability, with the user and without: four ratios. An error of
    the bounds on either side's probability is needed for any of them to be wrong, and there are four such bounds.
    """
    low_with, high_with = _between(seen_with, runs_with, error / 4)
    low_without, high_without = _between(seen_without, runs_without, error / 4)
    ratios = [
        low_with / high_without,
        low_without / high_with,
        (1 - high_with) / (1 - low_without),
        (1 - high_without) / (1 - low_with),
    ]
    best: Values = np.log(np.maximum(np.max(ratios, axis=0), 1))
    return best


def separation_bound(
    seen_with: Values | int, seen_without: Values | int, runs_with: int, runs_without: int, error: float = ERROR
) -> Values:
    """Below sensitivity / sigma but for a probability of `error`, for one event fixed before, of Gaussian noise.

    No event separates two normal distributions that lie mu deviations apart better than a threshold does, which has
    Phi^-1(p) - Phi^-1(q) = mu (Neyman and Pearson). rho is mu**2 / 2, so a bound on one is a bound on the other.
    """
    low_with, high_with = _between(seen_with, runs_with, error / 4)
    low_without, high_without = _between(seen_without, runs_without, error / 4)
    apart = norm.ppf(low_with) - norm.ppf(high_without), norm.ppf(low_without) - norm.ppf(high_with)
    best: Values = np.maximum(np.max(apart, axis=0), 0)
    return best


def chance_of_separation(runs: int, epsilon: float) -> float:
    """The largest probability, under any epsilon-private mechanism, that `runs` runs with the user all show a given
    event and `runs` runs without never do: max (p (1 - q))^runs over p <= e^epsilon q. What few runs can be held to."""
    q = min(0.5, math.exp(-epsilon))
    return float((min(1.0, math.exp(epsilon) * q) * (1 - q)) ** runs)


def laplace_evidence(contribution: Sequence[int]) -> Statistic:
    """The likelihood ratio's logarithm under Laplace noise, but for its scale, if the user adds this. (cells,)"""
    added = np.array(contribution, dtype=np.int64)
    return lambda outputs: (np.abs(outputs) - np.abs(outputs - added)).sum(axis=1)


def gaussian_evidence(contribution: Sequence[int]) -> Statistic:
    """The likelihood ratio's logarithm under Gaussian noise, but for sigma, if the user adds this. (cells,)"""
    added = np.array(contribution, dtype=np.float64)
    return lambda outputs: outputs @ added


def learned_evidence(with_user: Outputs, without_user: Outputs) -> Statistic:
    """The logarithm of the likelihood ratio, cell by cell from histograms, as if cells were independent."""
    tables = [_table(*columns) for columns in zip(with_user.T, without_user.T, strict=True)]

    def evidence(outputs: Outputs) -> Values:
        columns = zip(tables, outputs.T, strict=True)
        found = [ratio[np.searchsorted(edges, column, "right")] for (edges, ratio), column in columns]
        # Sums of the same numbers in another order would differ in the last bits, and single values are events.
        total: Values = np.sum(found, axis=0).round(6)
        return total

    return evidence


def _table(with_user: Values, without_user: Values) -> tuple[Values, Values]:
    """Edges of bins, among them single values, and the logarithm of each bin's ratio of probabilities."""
    quantiles = np.quantile(np.concatenate([with_user, without_user]), np.linspace(0, 1, 17), method="nearest")
    edges = np.unique(np.concatenate([quantiles, quantiles + 1]))
    shares = [
        (np.bincount(np.searchsorted(edges, side, "right"), minlength=len(edges) + 1) + 0.5) / len(side)
        for side in (with_user, without_user)
    ]
    return edges, np.log(shares[0] / shares[1])


def _split(outputs: Outputs) -> list[Outputs]:
    ends = np.cumsum([_LEARNING, _CHOOSING]) * len(outputs)
    return np.split(outputs, ends.astype(int))


def _scored(
    name: str, with_user: Values, without_user: Values, error: float, bound: Bound
) -> Iterator[tuple[float, _Event]]:
    """Events about one statistic, each with a cautious guess at its bound: a rare event looks good by chance."""
    values = np.unique(np.quantile(np.concatenate([with_user, without_user]), _LEVELS, method="nearest"))
    ordered = [np.sort(with_user), np.sort(without_user)]
    below = [np.searchsorted(side, values, "left") for side in ordered]
    upto = [np.searchsorted(side, values, "right") for side in ordered]
    seen = {
        ">=": [len(side) - count for side, count in zip(ordered, below, strict=True)],
        "<=": upto,
        "==": [up - low for up, low in zip(upto, below, strict=True)],
    }
    for relation, counts in seen.items():
        guesses = bound(*counts, len(with_user), len(without_user), error)
        for value, guess in zip(values.tolist(), guesses.tolist(), strict=True):
            yield guess, _Event(name, value, relation)


def _between(seen: Values | int, runs: int, error: float) -> tuple[Values, Values]:
    """Clopper and Pearson's bounds on a probability, each wrong with probability `error` at most."""
    count = np.asarray(seen, dtype=float)
    low = np.where(count <= 0, 0.0, beta.ppf(error, np.maximum(count, 1e-9), runs - count + 1))
    high = np.where(count >= runs, 1.0, beta.isf(error, count + 1, np.maximum(runs - count, 1e-9)))
    return low, high
