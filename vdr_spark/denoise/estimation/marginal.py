"""How probable a noisy count is, as something a network can learn from: tables over mean, dispersion and count."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from vdr_spark.denoise.estimation.likelihood import Axis, heavy_tail, negative_binomial

_MEANS = 64  # of the table, in equal steps of the logarithm
_DISPERSIONS = 12


class MarginalLikelihood:
    """Of noisy counts under a negative binomial mixed with the heavy tail, seen through the noise."""

    def __init__(
        self, axis: Axis, means: tuple[float, float], dispersions: tuple[float, float], device: torch.device
    ) -> None:
        """Means and dispersions from the first of each pair to the second."""
        of_means = np.geomspace(means[0], max(means[1], 2 * means[0]), _MEANS)
        of_dispersions = np.geomspace(*dispersions, _DISPERSIONS)
        in_steps = of_means / axis.step
        logs = [[_log_seen(axis, negative_binomial(axis.n, m, r)) for r in of_dispersions] for m in in_steps]
        self._table = torch.tensor(np.array(logs), dtype=torch.float32, device=device)  # (means, dispersions, counts)
        self._tail = torch.tensor(_log_seen(axis, heavy_tail(axis.n)), dtype=torch.float32, device=device)
        self._means = _Steps(of_means)
        self._dispersions = _Steps(of_dispersions)

    def log(self, log_mean: Tensor, log_dispersion: Tensor, tail_logit: Tensor, places: Tensor) -> Tensor:
        """Up to a constant, with gradients for all but the places of the noisy counts; any shape, all the same."""
        mean, mean_weight = self._means.of(log_mean)
        dispersion, dispersion_weight = self._dispersions.of(log_dispersion)
        table = self._table
        below = torch.lerp(table[mean, dispersion, places], table[mean, dispersion + 1, places], dispersion_weight)
        above = torch.lerp(
            table[mean + 1, dispersion, places], table[mean + 1, dispersion + 1, places], dispersion_weight
        )
        body = torch.lerp(below, above, mean_weight)
        return torch.logaddexp(F.logsigmoid(-tail_logit) + body, F.logsigmoid(tail_logit) + self._tail[places])


class _Steps:
    """Equal steps of a logarithm."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        self._first, self._number = math.log(values[0]), len(values)
        self._step = math.log(values[1] / values[0])

    def of(self, logs: Tensor) -> tuple[Tensor, Tensor]:
        """The step below each value, and how far on the way to the next."""
        places = ((logs - self._first) / self._step).clamp(0, self._number - 1.001)
        below = places.detach().floor().long()
        return below, places - below


def _log_seen(axis: Axis, mass: NDArray[np.float64]) -> NDArray[np.float64]:
    logs: NDArray[np.float64] = np.log(np.maximum(axis.marginal(mass), np.finfo(float).tiny))
    return logs
