"""The likelihood that a network learns from, beside the one that fusion computes."""

import math

import numpy as np
import pytest
import torch

from tests.denoise.laplace import laplace_noise
from vdr_spark.denoise.estimation.likelihood import Axis, heavy_tail, negative_binomial
from vdr_spark.denoise.estimation.marginal import MarginalLikelihood

AXIS = Axis(300, 1.0, laplace_noise(8.0))
LIKELIHOOD = MarginalLikelihood(AXIS, (1e-3, 500.0), (0.1, 20.0), torch.device("cpu"))


def direct(mean: float, dispersion: float, tail: float, place: int) -> float:
    mixed = (1 - tail) * negative_binomial(AXIS.n, mean, dispersion) + tail * heavy_tail(AXIS.n)
    return math.log(AXIS.marginal(mixed)[place])


@pytest.mark.parametrize(("mean", "dispersion"), [(0.02, 1.0), (3.0, 0.2), (40.0, 10.0)])
@pytest.mark.parametrize("place", [0, 5, 60, 300])
def test_interpolated_it_is_the_exact_one(mean: float, dispersion: float, place: int) -> None:
    arguments = (math.log(mean), math.log(dispersion), math.log(0.01 / 0.99))
    found = LIKELIHOOD.log(*(torch.tensor([value]) for value in arguments), torch.tensor([place]))
    assert float(found) == pytest.approx(direct(mean, dispersion, 0.01, place), abs=0.03)


def test_gradients_point_to_where_counts_are_more_probable() -> None:
    log_mean = torch.full((1,), math.log(5.0), requires_grad=True)
    for place, sign in ((0, -1), (60, 1)):
        (slope,) = torch.autograd.grad(
            LIKELIHOOD.log(log_mean, torch.zeros(1), torch.full((1,), -5.0), torch.tensor([place])).sum(), log_mean
        )
        assert np.sign(float(slope)) == sign


def test_beyond_the_table_it_stays_finite() -> None:
    wild = torch.tensor([-100.0, 100.0])
    assert LIKELIHOOD.log(wild, wild, wild, torch.tensor([0, 300])).isfinite().all()
