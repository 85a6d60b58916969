"""Refinement: bounding made the counts too small; bring them to all pings.

* `calibrated` (the default): (mu + kappa * (count - mu)) * N / n, with mu what the model expected of the cell before
  its own count was looked at. Fusion estimates the pings that were *kept*; part of what sets them apart from mu is the
  chance of who was kept, and would be scaled up as if it were people. kappa says how much is left; see `kappa`.
* `ratio`: count * N / n.
* `gamma`: count * gamma, the paper's factor, which minimises squared error where the tensor still carries its noise:
  gamma = n N C / (m V + (1 - C) n + C n**2), with n pings kept, N in all, m cells, V the variance of a cell's noise
  (2 k**2 / epsilon**2 in the paper) and C the sum of squared cell shares. Its first term shrinks the tensor because
  noise is in it. A posterior mean has been shrunk already, by just as much as its noise deserves.

N is declared public by the configuration, or was estimated for a share of epsilon. n is estimated from the noisy
tensor, so nothing here costs privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from vdr_spark.plan import ReleasePlan
from vdr_spark.storage.files import exists, write_json
from vdr_spark.storage.tensor_file import Tensor, read_tensor, write_tensor


@dataclass(frozen=True)
class Refinement:
    """(mu + kappa * (count - mu)) * factor; kappa = 1 leaves the count as it is."""

    factor: float
    kappa: float = 1.0

    def apply(self, tensor: Tensor) -> Tensor:
        """Return the tensor of all pings. What was left to chance in the keeping widens the error bars."""
        counts, deviation, factor = tensor.counts, tensor.deviation, np.float32(self.factor)
        if self.kappa < 1:
            assert tensor.prior is not None
            assert tensor.prior_deviation is not None
            kappa = np.float32(self.kappa)
            counts = tensor.prior + kappa * (counts - tensor.prior)
            if deviation is not None:
                by_chance = kappa * (1 - kappa) * tensor.prior_deviation**2
                deviation = np.sqrt(kappa**2 * deviation**2 + by_chance)
        return Tensor(counts * factor, None if deviation is None else deviation * factor)


def refine(release: ReleasePlan, kept: float, kept_everywhere: float) -> bool:
    """Refine the denoised tensor of a release; False where that was done already.

    `kept` is n of its region, `kept_everywhere` that of all regions of the draw: N is shared out among them as n is.
    """
    folder = release.folder
    if exists(folder.refined):
        return False
    denoised = read_tensor(folder.denoised, release.grid.cells_per_side)
    total = release.total_pings * (kept / kept_everywhere)
    refinement = choose_refinement(release, kept, total, has_prior=denoised.prior is not None)
    notes: dict[str, Any] = {
        "method": release.config.refine.method,
        "gamma": refinement.factor,
        "kappa": refinement.kappa,
        "estimated_kept": kept,
    }
    write_json(folder.refinement, notes)
    write_tensor(folder.refined, refinement.apply(denoised))
    return True


def choose_refinement(release: ReleasePlan, kept: float, total: float, has_prior: bool) -> Refinement:
    """Return the refinement from n to N by the configuration's method.

    Without a prior there is nothing to pull a count towards.
    """
    settings = release.config.refine
    if settings.method == "gamma":
        noise = release.grid.size * release.noise.variance
        return Refinement(gamma(kept, total, noise, settings.concentration))
    return Refinement(total / kept, kappa(kept, total) if settings.method == "calibrated" and has_prior else 1.0)


def estimate_kept(noisy_sum: float, total_pings: int) -> float:
    """Return n, estimated by the sum of a noisy tensor, within the 1 .. N that it can be."""
    return min(float(total_pings), max(1.0, noisy_sum))


def gamma(kept: float, total: float, noise: float, concentration: float) -> float:
    """Return the paper's factor for a tensor that still carries its noise, of that variance in all cells together."""
    n, share = kept, concentration
    return n * total * share / (noise + (1 - share) * n + share * n**2)


def kappa(kept: float, total: float) -> float:
    """Return how much of a kept count's deviation from what was expected is true of all pings: sqrt(n / N).

    Let pings come independently, each kept with chance n / N: the best linear guess of the full count from the kept
    one then takes over the share n / N of the deviation, the rest being chance. (With weights w it is Kish's effective
    share E[w]**2 / E[w**2], which is no less.) Where on the other hand all pings of a cell come and go together,
    nothing is chance and kappa = 1. Real places lie between. The geometric mean of the two was near the best constant
    wherever we measured, for samples and for weights (docs/denoising.md).
    """
    return math.sqrt(min(1.0, kept / total))
