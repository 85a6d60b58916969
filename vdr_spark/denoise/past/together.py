"""What is released with a past: where that may be believed, what the prior that knows it comes to; else as without.

Both priors are fused with the noisy counts, each by a fusion of its own, and the posteriors are mixed cell by cell. To
mix the priors and fuse once is not the same: in a district that closed the prior is the window's own again, but would
be taken for as good as its like elsewhere, which the past has put right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Image, Mask, Slices
from vdr_spark.denoise.estimation.posteriors import Posteriors

Known = tuple[Image, Image]
"""Mean and deviation of every cell. (M, M), (M, M)"""


@dataclass(frozen=True)
class PosteriorsTogether(Posteriors):
    """Posteriors by a prior that knows the past and by the window's own, mixed by how far the past is believed."""

    knowing: Posteriors
    alone: Posteriors
    prior_alone: Slices  # (T, M, M)
    belief: Slices  # (T, M, M)

    def expected(self, prior: Slices) -> Slices:
        """Return what is expected of all cells before their own counts are looked at. (T, M, M)"""
        mean: Slices = self.prior_alone + self.belief * (prior - self.prior_alone)
        return mean

    def posterior(self, t: int, prior: Image, noisy: Image) -> Known:
        alone = self.alone.posterior(t, self.prior_alone[t], noisy)
        return mix(self.belief[t], alone, self.knowing.posterior(t, prior, noisy))

    def calibrated_prior(self, t: int, prior: Image) -> Known:
        alone = self.alone.calibrated_prior(t, self.prior_alone[t])
        return mix(self.belief[t], alone, self.knowing.calibrated_prior(t, prior))

    def populated(self, t: int) -> Mask:
        return self.alone.populated(t)


@dataclass(frozen=True)
class OfLastSlices(Posteriors):
    """Posteriors of the last slices of those that a fusion was fitted on: of a window's, after earlier ones."""

    fitted: Posteriors
    before: int  # slices

    def posterior(self, t: int, prior: Image, noisy: Image) -> Known:
        return self.fitted.posterior(self.before + t, prior, noisy)

    def calibrated_prior(self, t: int, prior: Image) -> Known:
        return self.fitted.calibrated_prior(self.before + t, prior)

    def populated(self, t: int) -> Mask:
        return self.fitted.populated(self.before + t)


def mix(belief: Image, alone: Known, knowing: Known) -> Known:
    """Return mean and deviation of a mixture of two distributions, of which `knowing` has the weight `belief`."""
    away = knowing[0] - alone[0]
    variance = (1 - belief) * alone[1] ** 2 + belief * knowing[1] ** 2 + belief * (1 - belief) * away**2
    return alone[0] + belief * away, np.sqrt(variance)
