"""Whether a noisy tensor says anything: its total and its slices beside their noise, which are known at no cost.

Small data, a large k or a fine grid can drown every ping in noise. A release of that is private and useless, and its
readers must hear it from the release itself: a sum that cannot be told from zero is no count of people.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from vdr_spark.privacy.mechanism import Noise

_SURE = 3.0  # deviations of the noise above which something is there


@dataclass(frozen=True)
class Signal:
    """The noisy sums of one region, in kept pings."""

    total: float  # of all noisy counts
    deviation: float  # of the noise in it
    slices: int
    slices_told: int  # that stand out from their noise
    total_pings: int  # N, of all regions together

    @classmethod
    def of(cls, slice_sums: Sequence[float], cells_per_slice: int, noise: Noise, total_pings: int) -> Signal:
        """Return the signal of a region whose slices have these noisy sums."""
        each = noise.deviation * math.sqrt(cells_per_slice)
        told = sum(of_slice > _SURE * each for of_slice in slice_sums)
        return cls(sum(slice_sums), each * math.sqrt(len(slice_sums)), len(slice_sums), told, total_pings)

    @property
    def strength(self) -> float:
        """The total in deviations of its noise."""
        return self.total / self.deviation if self.deviation > 0 else math.inf

    @property
    def drowns(self) -> bool:
        """Whether the total cannot be told from zero."""
        return self.strength < _SURE

    @property
    def contradicts_total(self) -> bool:
        """Whether more pings were kept than there are, beyond what noise explains: then N is wrong."""
        return self.total - self.total_pings > _SURE * self.deviation

    def sentence(self) -> str:
        """Return what the noisy sums say, in words."""
        return (
            f"the noisy total is {self.total:,.0f} kept pings with a deviation of {self.deviation:,.0f}, and "
            f"{self.slices_told} of {self.slices} slices stand out from their noise"
        )

    def warnings(self) -> list[str]:
        """Return what a reader must hear, or nothing."""
        found = []
        if self.drowns:
            found.append(
                f"the signal drowns: {self.sentence()}. No count of this release can be told from zero; use a larger "
                "epsilon, a smaller k, a coarser grid or longer slices, and check the input with `vdr check`"
            )
        elif 2 * self.slices_told < self.slices:
            found.append(
                f"most slices drown: {self.sentence()}. Ask about longer times, or use longer slices or a coarser grid"
            )
        if self.contradicts_total:
            found.append(
                f"the total contradicts N: {self.sentence()}, but N says that there are {self.total_pings:,} pings "
                "inside box and period. The release is scaled to N, and is too low by as much"
            )
        return found
