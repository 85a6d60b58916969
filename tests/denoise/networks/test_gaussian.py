"""The continuous bottleneck against the closed forms of its distribution."""

import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence

from vdr_spark.denoise.networks.gaussian import Gaussian


def with_parameters(mean: float, log_variance: float) -> Gaussian:
    """A bottleneck that says the same of every place."""
    bottleneck = Gaussian(3)
    torch.nn.init.zeros_(bottleneck.parameters_of.weight)
    with torch.no_grad():
        bottleneck.parameters_of.bias.copy_(torch.tensor([mean] * 3 + [log_variance] * 3))
    return bottleneck


@pytest.mark.parametrize(("mean", "log_variance"), [(0.0, 0.0), (1.5, -1.0), (-2.0, 0.7)])
def test_the_loss_is_the_divergence_from_a_standard_normal(mean: float, log_variance: float) -> None:
    _, indices, loss = with_parameters(mean, log_variance)(torch.randn(2, 3, 4, 4))
    expected = kl_divergence(Normal(mean, np.exp(log_variance / 2)), Normal(0.0, 1.0))
    assert indices is None
    assert loss.item() == pytest.approx(expected.item(), abs=1e-6)


def test_in_training_samples_are_passed_on_and_otherwise_the_mean() -> None:
    bottleneck, x = with_parameters(2.0, np.log(0.25)), torch.zeros(20, 3, 30, 30)
    samples, _, _ = bottleneck.train()(x)
    assert samples.mean().item() == pytest.approx(2, abs=0.02)
    assert samples.std().item() == pytest.approx(0.5, abs=0.02)
    means, _, _ = bottleneck.eval()(x)
    assert torch.equal(means, torch.full_like(means, 2.0))


def test_a_wild_log_variance_stays_finite() -> None:
    sample, _, loss = with_parameters(0.0, 1e4).train()(torch.zeros(1, 3, 2, 2))
    assert torch.isfinite(sample).all()
    assert torch.isfinite(loss)
