"""Refinement: bounding made the counts too small; bring them to all pings.

* `calibrated` (the default): (mu + kappa * (count - mu)) * N / n, with mu what the model expected of the cell before
  its own count was looked at. Fusion estimates the pings that were *kept*; part of what sets them apart from mu is the
  chance of who was kept, and would be scaled up as if it were people. kappa says how much is left; see `kappa`. Where
  norms are bounded it is 1.
* `ratio`: count * N / n.
* `gamma`: count * gamma, the paper's factor, which minimises squared error where the tensor still carries its noise:
  gamma = n N C / (m V + (1 - C) n + C n**2), with n pings kept, N in all, m cells, V the variance of a cell's noise
  (2 k**2 / epsilon**2 in the paper) and C the sum of squared cell shares. Its first term shrinks the tensor because
  noise is in it. A posterior mean has been shrunk already, by just as much as its noise deserves.

N is declared public by the configuration, or was estimated for a share of epsilon. n is what the denoised tensor holds
in all, after it was pulled towards mu, so that the release sums to N; for kappa and gamma, and to share N out among
regions, it is the sum of the noisy tensor. Both are post-processing and cost no privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vdr_spark.plan import ReleasePlan
from vdr_spark.rounding import round_counts, round_deviations
from vdr_spark.storage.files import exists, read_json, write_json
from vdr_spark.storage.tensor_file import Tensor, read_tensor, write_tensor
from vdr_spark.sum_errors import SumErrors, Total, widen_by_clumps


@dataclass(frozen=True)
class Refinement:
    """(mu + kappa * (count - mu)) * factor; kappa = 1 leaves the count as it is."""

    factor: float
    kappa: float = 1.0

    def apply(self, tensor: Tensor, errors: SumErrors | None = None) -> Tensor:
        """Return the tensor of all pings.

        What was left to chance in the keeping widens the error bars, and so does, where `errors` tell it, what is
        missing of people with more than k pings.
        """
        counts, deviation, factor = tensor.counts, tensor.deviation, np.float32(self.factor)
        if self.kappa < 1:
            assert tensor.prior is not None
            assert tensor.prior_deviation is not None
            kappa = np.float32(self.kappa)
            counts = tensor.prior + kappa * (counts - tensor.prior)
            if deviation is not None:
                by_chance = kappa * (1 - kappa) * tensor.prior_deviation**2
                deviation = np.sqrt(kappa**2 * deviation**2 + by_chance)
        counts, deviation = counts * factor, None if deviation is None else deviation * factor
        if deviation is not None and errors is not None:
            deviation = np.sqrt(deviation**2 + widen_by_clumps(errors.clump_of_cell, counts))
        return Tensor(counts, deviation)


def refine(release: ReleasePlan, kept: float, kept_everywhere: float) -> bool:
    """Refine the denoised tensor of a release; False where that was done already.

    `kept` is n of its region, `kept_everywhere` that of all regions of the draw: N is shared out among them as n is.
    """
    folder = release.folder
    if exists(folder.refined):
        return False
    denoised = read_tensor(folder.denoised, release.grid.cells_per_side)
    total = release.total_pings * (kept / kept_everywhere)
    refinement = choose_refinement(release, kept, total, denoised)
    errors = refine_sum_errors(release, read_json(folder.denoising), refinement.factor, kept, kept_everywhere)
    notes: dict[str, Any] = {
        "method": release.config.refine.method,
        "gamma": refinement.factor,
        "kappa": refinement.kappa,
        "estimated_kept": kept,
        "sum_errors": None if errors is None else errors.as_notes(),
    }
    write_json(folder.refinement, notes)
    write_tensor(folder.refined, round_as_told(refinement.apply(denoised, errors)))
    return True


def round_as_told(tensor: Tensor) -> Tensor:
    """Return a tensor with the digits that mean something: three of a count, two of its error bar.

    What is rounded is a thousandth of the number at most, or less than a quantum, and falls to either side, so sums
    stay what they were; and tables take less than half of the room.
    """
    deviation = None if tensor.deviation is None else round_deviations(tensor.deviation)
    return replace(tensor, counts=round_counts(tensor.counts), deviation=deviation)


def refine_sum_errors(
    release: ReleasePlan, denoising: dict[str, Any], factor: float, kept: float, kept_everywhere: float
) -> SumErrors | None:
    """Return the errors of sums as of the refined tensor, bounding included, where the denoiser could tell them."""
    found = denoising.get("sum_errors")
    if found is None:
        return None
    settings, share = release.config.refine, kept / kept_everywhere
    total = release.total_pings * share
    judged = SumErrors.from_notes(found).scaled(factor)
    errors = judged.bounded(release.bound, kept, total, settings.users)
    if settings.method == "gamma":  # does not sum to N
        return errors
    whole = judged.deviation(release.grid.size, release.grid.slices, total, own=0.0)
    unknown = math.hypot(share * release.plan.total_deviation, _deviation_of_share(release, share, factor))
    return replace(errors, sum_deviation=whole, total=Total(total, unknown))


def _deviation_of_share(release: ReleasePlan, share: float, factor: float) -> float:
    """Return how well a region's share of N is known, in pings: its kept pings are known through their noise."""
    here, everywhere = release.grid.size, sum(grid.size for grid in release.plan.grids)
    cells = (1 - share) ** 2 * here + share**2 * (everywhere - here)
    return factor * release.noise.deviation * math.sqrt(cells)


def choose_refinement(release: ReleasePlan, kept: float, total: float, denoised: Tensor) -> Refinement:
    """Return the refinement of a denoised tensor from n to N by the configuration's method.

    Without a prior there is nothing to pull a count towards.
    """
    settings = release.config.refine
    if settings.method == "gamma":
        noise = release.grid.size * release.noise.variance
        return Refinement(gamma(kept, total, noise, settings.concentration))
    pulls = settings.method == "calibrated" and denoised.prior is not None and release.norm is None
    pull = kappa(kept, total) if pulls else 1.0
    return Refinement(total / _sum_pulled(denoised, pull), pull)


def _sum_pulled(denoised: Tensor, pull: float) -> float:
    """Return the sum of a tensor after its counts were pulled towards the prior, at least one ping."""
    total = pull * float(denoised.counts.sum(dtype=np.float64))
    if denoised.prior is not None:
        total += (1 - pull) * float(denoised.prior.sum(dtype=np.float64))
    return max(1.0, total)


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

    Norms. Let users come independently, each with counts c_i in the cells and a weight w. From a kept count, scaled by
    N / n, the best linear guess takes over the share (n / N) sum w c_i**2 / sum w**2 c_i**2 of the deviation, sums
    being over users and cells, with n / N = sum w c_i / sum c_i. With equal weights that is 1. With w = s / |c|, a
    norm's, and each ping of a user in a cell of its own, m of them, it is (E sqrt(m))**2 / E m; with w = k / m, a
    sum's, 1 / (E m E 1/m). If log m is normal with the variance v, the first is exp(-v / 4), the second exp(-v): norms
    weigh users far more alike. And who is often in one place has a larger c_i and a smaller w there, which makes the
    share larger than that, beyond 1 even. So the geometric mean with 1 is near 1, and 1 was as good as the best
    constant where we measured (docs/denoising.md); it needs no figure that would have to be paid for.
    """
    return math.sqrt(min(1.0, kept / total))
