"""What makes posteriors of a prior and the noisy counts, slice by slice."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from vdr_spark.arrays import Image, Mask, Slices
from vdr_spark.progress import NullProgress, Progress
from vdr_spark.storage.tensor_file import Tensor


class Posteriors(ABC):
    """What was fitted on one tensor, and makes its posteriors."""

    @abstractmethod
    def posterior(self, t: int, prior: Image, noisy: Image) -> tuple[Image, Image]:
        """Return mean and deviation of every cell of slice t. (M, M), (M, M)"""

    @abstractmethod
    def calibrated_prior(self, t: int, prior: Image) -> tuple[Image, Image]:
        """Return mean and deviation of the prior of slice t, as the noisy counts have put it right. (M, M), (M, M)"""

    @abstractmethod
    def populated(self, t: int) -> Mask:
        """Return which cells of slice t lie in country that is not empty, as far as the other slices tell. (M, M)"""

    def apply(self, prior: Slices, noisy: Slices, progress: Progress | None = None) -> Tensor:
        """Fuse all slices of the tensor that it was fitted on."""
        counts, deviation, mean, spread = (np.empty_like(noisy) for _ in range(4))
        with (progress or NullProgress()).task("denoise: fusion", len(noisy)) as update:
            for t in range(len(noisy)):
                counts[t], deviation[t] = self.posterior(t, prior[t], noisy[t])
                mean[t], spread[t] = self.calibrated_prior(t, prior[t])
                update(t + 1, "")
        return Tensor(counts, deviation, mean, spread)
