"""Posteriors with and without the past, mixed: at the ends they are one of the two, between less sure than either."""

import numpy as np
import pytest

from tests.denoise.past.towns import NOISE, grid_of, remember, town, usual_past
from tests.denoise.priors.test_temporal import with_noise
from vdr_spark.denoise.estimation.fusion import Fusion
from vdr_spark.denoise.past.belief import believe
from vdr_spark.denoise.past.together import PosteriorsTogether, mix


def test_where_the_past_is_not_believed_all_is_as_without_it() -> None:
    grid = grid_of(0, 4)
    noisy = with_noise(town(1, grid), seed=3)
    alone, knowing = np.full_like(noisy, 3), np.maximum(town(1, grid), 0.1)
    fusions = [Fusion.fit(of, noisy, NOISE) for of in (knowing, alone)]
    belief = believe(remember(noisy, grid, usual_past(3, grid)), noisy, NOISE)
    belief[:, :40], belief[:, 40:60] = 0, 1
    tensor = PosteriorsTogether(*fusions, alone, belief).apply(knowing, noisy)
    by_past, without = fusions[0].apply(knowing, noisy), fusions[1].apply(alone, noisy)
    for name in ("counts", "deviation", "prior", "prior_deviation"):
        mixed, believed, fallen_back = (getattr(of, name) for of in (tensor, by_past, without))
        np.testing.assert_allclose(mixed[:, :40], fallen_back[:, :40], rtol=1e-5)
        np.testing.assert_allclose(mixed[:, 40:60], believed[:, 40:60], rtol=1e-4, atol=1e-4)


def test_a_mixture_of_two_that_differ_is_less_sure_than_either() -> None:
    one, two = ((np.full((1, 1), mean, np.float32), np.ones((1, 1), np.float32)) for mean in (0, 6))
    mean, deviation = mix(np.full((1, 1), 0.5, np.float32), one, two)
    assert float(mean[0, 0]) == 3
    assert float(deviation[0, 0]) == pytest.approx(10**0.5)
