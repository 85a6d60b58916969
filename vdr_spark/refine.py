"""Refinement: bounding made the counts too small; bring them to all pings.

* `calibrated` (the default): (mu + kappa * (count - mu)) * N / n, with mu what the model expected of the cell before
  its own count was looked at. Fusion estimates the pings that were *kept*; part of what sets them apart from mu is the
  chance of who was kept, and would be scaled up as if it were people. kappa says how much is left; see `kappa`.
* `ratio`: count * N / n.
* `gamma`: count * gamma, the paper's factor, which minimises squared error where the tensor still carries its noise:
  gamma = n N C / (2 m k**2 / epsilon**2 + (1 - C) n + C n**2), with n pings kept, N in all, m cells and C the sum of
  squared cell shares. Its first term shrinks the tensor because noise is in it. A posterior mean has been shrunk
  already, by just as much as its noise deserves.

N is declared public by the configuration, or was estimated for a share of epsilon. n is estimated from the noisy
tensor, so nothing here costs privacy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.petastorm_reader import read_region
from vdr_spark.denoise.stage import DENOISED
from vdr_spark.storage.files import exists, write_json
from vdr_spark.storage.tensor_file import Tensor, read_tensor, write_tensor
from vdr_spark.storage.workspace import Workspace

REFINED = "refined.parquet"
REFINEMENT = "refined.json"


@dataclass(frozen=True)
class Refinement:
    """(mu + kappa * (count - mu)) * factor; kappa = 1 leaves the count as it is."""

    factor: float
    kappa: float = 1.0

    def applied(self, tensor: Tensor) -> Tensor:
        """The tensor of all pings. What was left to chance in the keeping widens the error bars."""
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


def refine(files: Sequence[str], config: ReleaseConfig) -> bool:
    """Refine the denoised tensor of a configuration; False where that was done already."""
    workspace = Workspace.of(config)
    if exists(workspace.stage(REFINED)):
        return False
    denoised = read_tensor(workspace.stage(DENOISED), config.grid.cells_per_side)
    kept, total = pings_of_region(files, config)
    refinement = refinement_of(config, kept, total, has_prior=denoised.prior is not None)
    notes: dict[str, Any] = {"method": config.refine.method, "gamma": refinement.factor, "kappa": refinement.kappa}
    write_json(workspace.stage(REFINEMENT), notes | {"estimated_kept": kept})
    write_tensor(workspace.stage(REFINED), refinement.applied(denoised))
    return True


def refinement_of(config: ReleaseConfig, kept: float, total: float, has_prior: bool) -> Refinement:
    """From n and N, by the configuration's method. Without a prior there is nothing to draw a count towards."""
    method = config.refine.method
    if method == "gamma":
        return Refinement(gamma(config, kept, total))
    return Refinement(total / kept, kappa(kept, total) if method == "calibrated" and has_prior else 1.0)


def pings_of_region(files: Sequence[str], config: ReleaseConfig) -> tuple[float, float]:
    """n and N of the configuration's region. Where a draw has several, N is shared out among them as n is."""
    views = config.model_copy(update={"focus": None}).views()
    kept = {view.focus: pings_kept(read_region(files, view), config.privacy.total) for view in views}
    ours = kept[config.focus]
    return ours, config.privacy.total * (ours / sum(kept.values()))


def pings_kept(noisy: NDArray[np.float32], total_pings: int) -> float:
    """n, estimated by the noisy tensor's sum, within the 1 .. N that it can be."""
    return min(float(total_pings), max(1.0, float(noisy.sum(dtype=np.float64))))


def gamma(config: ReleaseConfig, kept: float, total: float) -> float:
    """The paper's factor for a tensor that still carries its noise."""
    n, share = kept, config.refine.concentration
    noise = 2 * config.domain.size * float(config.privacy.scale) ** 2
    return n * total * share / (noise + (1 - share) * n + share * n**2)


def kappa(kept: float, total: float) -> float:
    """How much of a kept count's deviation from what was expected is true of all pings: sqrt(n / N).

    Let pings come independently, each kept with chance n / N: the best linear guess of the full count from the kept
    one then takes over the share n / N of the deviation, the rest being chance. (With weights w it is Kish's effective
    share E[w]**2 / E[w**2], which is no less.) Where on the other hand all pings of a cell come and go together,
    nothing is chance and kappa = 1. Real places lie between. The geometric mean of the two was near the best constant
    wherever we measured, for samples and for weights (docs/denoising.md).
    """
    return math.sqrt(min(1.0, kept / total))
