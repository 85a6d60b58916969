"""Identity: every cell with Laplace noise of scale 1 / epsilon, and nothing else. Dwork et al. 2006.

Budget: all of it in one question. Private, because a ping is in one cell: all counts together change by 1. It is the
noisy tensor that our own release starts from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vdr_spark.arrays import Floats, Slices
from vdr_spark.baselines.account import Account
from vdr_spark.baselines.baseline import Counts, by_slices


@dataclass(frozen=True)
class Identity:
    """The noisy tensor; unbiased."""

    name: ClassVar[str] = "identity"

    def __call__(self, counts: Counts, account: Account) -> Slices:
        """Return the counts with noise. (T, M, M)"""
        return by_slices(_estimate_slice, counts, account)


def _estimate_slice(layer: Floats, account: Account) -> Floats:
    return account.measure(layer, account.left)
