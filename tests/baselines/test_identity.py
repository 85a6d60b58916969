"""Identity is Laplace noise of scale k / epsilon."""

import numpy as np
import pytest

from vdr_spark.baselines import estimate
from vdr_spark.baselines.identity import Identity


def test_noise_has_the_scale_of_sensitivity_over_epsilon() -> None:
    noise = estimate(Identity(), np.zeros((4, 100, 100)), 2.0, 6.0, np.random.default_rng(0))
    assert noise.var() == pytest.approx(2 * 3.0**2, rel=0.05)
    assert np.abs(noise).mean() == pytest.approx(3.0, rel=0.03)
