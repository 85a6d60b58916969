"""Whether a prior that knows the past is better than the same without it, by the noisy counts alone.

Both are blind: neither contains a cell's own noise. So the mean of (noisy - prior)^2 is the prior's squared error plus
the noise's variance, and in the difference of two priors that variance cancels: what is left is known far better than
either error. Cells count by how well they are known, so that the few largest do not speak for all.
"""

from __future__ import annotations

import numpy as np

from vdr_spark.arrays import Slices
from vdr_spark.denoise.estimation.blocks import Level
from vdr_spark.privacy.mechanism import Noise

_BLOCKS = 12  # along a side, over all slices: what is missed in one slice is missed in the next
_DISPERSION = 3.0  # of counts around a prediction
_SURE = 2.0  # standard errors
_MOST = 0.25  # deviations, by which two priors may differ


def pays(alone: Slices, with_past: Slices, noisy: Slices, noise: Noise) -> bool:
    """Return whether the prior that knows the past is surely the better one. (T, M, M) each"""
    gain = np.empty_like(noisy)
    for t, counts in enumerate(noisy):
        expected = np.maximum(alone[t] + with_past[t], 0) / 2
        deviation = np.sqrt(noise.variance + expected + expected**2 / _DISPERSION + 1e-9)
        missed = (counts - alone[t]) / deviation
        # Cells say whether it is the right way, none how far: one that was predicted wildly would speak for thousands.
        moved = np.clip((with_past[t] - alone[t]) / deviation, -_MOST, _MOST)
        gain[t] = moved * (2 * missed - moved)
    blocks = Level(max(1, noisy.shape[1] // _BLOCKS), len(noisy)).sums(gain)
    return bool(blocks.mean() > _SURE * blocks.std() / np.sqrt(blocks.size))
