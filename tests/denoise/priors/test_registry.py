"""Priors can be made anew out of other noisy counts, and what models share can be let go of."""

from pathlib import Path

import numpy as np
import pytest

from tests.denoise.laplace import laplace_noise
from tests.denoise.priors.test_temporal import city, with_noise
from vdr_spark.config.denoise import DenoiseSettings
from vdr_spark.denoise.priors.registry import PRIORS, Task
from vdr_spark.progress import NullProgress


def task_of(noisy: np.ndarray, folder: Path) -> Task:
    return Task(noisy, laplace_noise(8.0), 4.0, DenoiseSettings(), str(folder), NullProgress())


@pytest.mark.parametrize("model", ["temporal", "ridge"])
def test_again_is_the_same_method_over_other_counts(tmp_path: Path, model: str) -> None:
    noisy, others = with_noise(city(6)), with_noise(city(6), seed=2)
    task = task_of(noisy, tmp_path)
    prior = PRIORS[model](task)
    task.forget()
    np.testing.assert_array_equal(prior.again(task), prior.mean)
    again = prior.again(task.over(others, task.noise))
    np.testing.assert_array_equal(again, PRIORS[model](task_of(others, tmp_path)).mean)
    assert abs(again - prior.mean).max() > 1


def test_what_models_share_is_made_once_until_it_is_forgotten(tmp_path: Path) -> None:
    task = task_of(with_noise(city(4, 20)), tmp_path)
    task.forget()  # nothing yet
    features, ridge = task.features, task.ridge
    assert task.features is features
    assert task.ridge is ridge
    other = task.over(task.noisy + 1, task.noise.widened(0.1))
    assert other.features is not features
    assert other.noise.variance > task.noise.variance
    task.forget()
    assert task.features is not features
