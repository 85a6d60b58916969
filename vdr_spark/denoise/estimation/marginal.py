"""How probable a noisy count is, as something a network can learn from: tables over mean, dispersion and count."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from vdr_spark.arrays import Floats
from vdr_spark.denoise.estimation.likelihood import Axis, heavy_tail, negative_binomial

_MEANS = 64  # of the table, in equal steps of the logarithm
_DISPERSIONS = 12


class MarginalLikelihood:
    """The likelihood of noisy counts under a negative binomial mixed with the heavy tail, seen through the noise."""

    def __init__(
        self, axis: Axis, means: tuple[float, float], dispersions: tuple[float, float], device: torch.device
    ) -> None:
        """Make tables for means and dispersions from the first of each pair to the second."""
        mean_values = np.geomspace(means[0], max(means[1], 2 * means[0]), _MEANS)
        dispersion_values = np.geomspace(*dispersions, _DISPERSIONS)
        in_steps = mean_values / axis.step
        logs = [[_log_marginal(axis, negative_binomial(axis.n, m, r)) for r in dispersion_values] for m in in_steps]
        self._table = torch.tensor(np.array(logs), dtype=torch.float32, device=device)  # (means, dispersions, counts)
        self._tail = torch.tensor(_log_marginal(axis, heavy_tail(axis.n)), dtype=torch.float32, device=device)
        self._means = _LogGrid(mean_values)
        self._dispersions = _LogGrid(dispersion_values)

    def log(self, log_mean: Tensor, log_dispersion: Tensor, tail_logit: Tensor, places: Tensor) -> Tensor:
        """Return the log likelihood up to a constant, with gradients for all but the places; all of one shape."""
        mean, mean_weight = self._means.locate(log_mean)
        dispersion, dispersion_weight = self._dispersions.locate(log_dispersion)
        table = self._table
        below = torch.lerp(table[mean, dispersion, places], table[mean, dispersion + 1, places], dispersion_weight)
        above = torch.lerp(
            table[mean + 1, dispersion, places], table[mean + 1, dispersion + 1, places], dispersion_weight
        )
        body = torch.lerp(below, above, mean_weight)
        return torch.logaddexp(F.logsigmoid(-tail_logit) + body, F.logsigmoid(tail_logit) + self._tail[places])


class _LogGrid:
    """Values in equal steps of the logarithm."""

    def __init__(self, values: Floats) -> None:
        self._first, self._number = math.log(values[0]), len(values)
        self._step = math.log(values[1] / values[0])

    def locate(self, logs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the step below each logarithm, and how far it is on the way to the next."""
        places = ((logs - self._first) / self._step).clamp(0, self._number - 1.001)
        below = places.detach().floor().long()
        return below, places - below


def _log_marginal(axis: Axis, mass: Floats) -> Floats:
    logs: Floats = np.log(np.maximum(axis.marginal(mass), np.finfo(float).tiny))
    return logs
