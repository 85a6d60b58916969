"""What is advised: a table of bounds and the errors to be expected of them, the least of them, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vdr_spark.advise.expected import Crowd, Expected, expect
from vdr_spark.advise.sources import Known, assumed_places
from vdr_spark.errors import InvalidQuery
from vdr_spark.plan import Plan

PAPER_LAMBDA = 2.5e-7  # of conf/houston.yaml
_ORDER = ("histogram", "earlier", "declared")  # what was measured before what was declared
_FARTHEST = 1000  # times
_LARGEST = 2**20  # pings of a user that are kept
_AS_GOOD = 1.05  # times the least error: bounds that are hardly worse
_NO_WORSE = 1.02  # times it: no difference that the model could tell


@dataclass(frozen=True)
class ByOneSource:
    """The table by one source."""

    source: str
    sentence: str
    rows: tuple[Expected, ...]  # by factors of two

    @property
    def least(self) -> float:
        """The least error to be expected."""
        return min(row.denoised for row in self.rows)

    @property
    def best(self) -> Expected:
        """The largest bound that is within 2 % of the least error.

        Curves are flat, and the model takes heavy users to live where all others do. Where they live apart, what is
        missing of them is missing in their places, and whoever keeps more of them errs less (docs/choosing_k.md).
        """
        return [row for row in self.rows if row.denoised <= _NO_WORSE * self.least][-1]

    @property
    def as_good(self) -> tuple[int, int]:
        """The smallest and the largest bound whose error is at most 5 % more."""
        good = [row.bound for row in self.rows if row.denoised <= _AS_GOOD * self.least]
        return good[0], good[-1]


@dataclass(frozen=True)
class Advice:
    """Which k, or norm, to take. `tables` has one for each source that is known, the one to be believed first."""

    bound_name: str  # k, or norm
    total: int  # N
    price: str  # of the cells
    paper: int | None  # lambda * N; None where norms are bounded
    configured: Expected | int | None  # None where it waits for an estimate of N
    tables: tuple[ByOneSource, ...]
    model: str  # denoiser

    @property
    def bound(self) -> int | None:
        """The advised k or norm; None where norms are bounded and nothing is known."""
        return self.tables[0].best.bound if self.tables else self.paper

    @property
    def source(self) -> str:
        """Whose advice it is: histogram, earlier, declared or paper."""
        return self.tables[0].source if self.tables else "paper"

    def __str__(self) -> str:
        from vdr_spark.advise.report import tell

        return "\n".join(tell(self))

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        configured = self.configured.as_dict() if isinstance(self.configured, Expected) else self.configured
        return {
            "bound": self.bound_name,
            "advised": self.bound,
            "source": self.source,
            "total_pings": self.total,
            "price_of_cells": self.price,
            "paper": self.paper,
            "configured": configured,
            "sources": [
                {
                    "source": table.source,
                    "said": table.sentence,
                    "advised": table.best.bound,
                    "hardly_worse": list(table.as_good),
                    "table": [row.as_dict() for row in table.rows],
                }
                for table in self.tables
            ],
        }


def advise(plan: Plan, known: Sequence[Known], total: int | None = None, apart: float = 1.0) -> Advice:
    """Return which bound to take, by what is known of users and places. `total` is N where it is not declared.

    `apart` is how many times the pings of others users of half of the city have, where somebody knows that.
    """
    privacy, everything = plan.config.privacy, total or plan.declared_total
    if everything is None:
        raise InvalidQuery(
            "N must be known for advice, and this configuration has it estimated by the release: give about how many "
            "pings there are, as public knowledge (--total 5e7), or a `privacy.size_histogram`"
        )
    if not 1 <= apart <= _FARTHEST:
        raise InvalidQuery(
            f"--apart, how many times the pings of others users of half of the city have, must be 1 to {_FARTHEST}, "
            f"not {apart:g}"
        )
    ordered = sorted(known, key=lambda one: _ORDER.index(one.source))
    crowds = {one.source: _crowd(plan, one, everything, apart) for one in ordered}
    tables = tuple(ByOneSource(one.source, one.sentence, _table(plan, crowds[one.source])) for one in ordered)
    configured = privacy.known_bound or (privacy.bound(everything) if total else None)
    sums = privacy.bounding != "l2"
    return Advice(
        privacy.bound_name,
        everything,
        str(privacy.cells_price),
        max(1, round((privacy.lambda_ or PAPER_LAMBDA) * everything)) if sums else None,
        _expect(plan, crowds[ordered[0].source], configured) if ordered and configured else configured,
        tables,
        plan.config.denoise.model,
    )


def _crowd(plan: Plan, known: Known, total: int, apart: float) -> Crowd:
    config = plan.config
    return Crowd(
        known.sizes,
        known.places or assumed_places(plan),
        total / plan.slices,
        plan.grids[0].slices,
        config.refine.users,
        config.privacy.bounding,
        denoised=config.denoise.model != "identity",
        apart=apart,
    )


def _table(plan: Plan, crowd: Crowd) -> tuple[Expected, ...]:
    """Return what bounds of 1, 2, 4, ... give, up to the first that keeps all pings or has too large a noise."""
    rows: list[Expected] = []
    bound = 1
    while bound <= _LARGEST and _has_noise(plan, bound):
        rows.append(_expect(plan, crowd, bound))
        if rows[-1].kept > 0.9999:
            break
        bound *= 2
    return tuple(rows)


def _has_noise(plan: Plan, bound: int) -> bool:
    try:
        plan.config.privacy.check_scale(bound)
    except ValueError:
        return False
    return True


def _expect(plan: Plan, crowd: Crowd, bound: int) -> Expected:
    return expect(crowd, bound, plan.noise_for(bound).variance)
