"""Releases in memory: ours and published ones, over the same bounded counts."""

from dataclasses import replace

import numpy as np
import pytest

from vdr_spark.errors import InvalidConfig
from vdr_spark.experiments.draws import Setting, denoise, kept_of, make_noisy, nest, plan_release, release_arrays
from vdr_spark.experiments.location_data import Data
from vdr_spark.refine import gamma


def test_names_with_dots_are_sections() -> None:
    assert nest({"vqvae.epochs": 3, "vqvae.alpha": 1, "fusion": True}) == {
        "vqvae": {"epochs": 3, "alpha": 1},
        "fusion": True,
    }


@pytest.mark.parametrize(
    ("method", "model", "fusion", "refinement"),
    [
        ("ridge", "ridge", True, "calibrated"),
        ("ridge+prior", "ridge", False, "calibrated"),
        ("vqvae", "vqvae", False, "calibrated"),
        ("vqvae_gamma", "vqvae", False, "gamma"),
        ("vqvae_raw", "vqvae", False, "calibrated"),
        ("vqvae+fusion", "vqvae", True, "calibrated"),
        ("identity_gamma", "identity", True, "gamma"),
    ],
)
def test_methods_by_name(few: Data, method: str, model: str, fusion: bool, refinement: str) -> None:
    config = plan_release(Setting(method, k=2), few.grid, 5).config
    assert (config.denoise.model, config.denoise.fusion, config.refine.method) == (model, fusion, refinement)


def test_noise_is_of_the_draw_and_of_its_scale(city: Data) -> None:
    plan = plan_release(Setting("identity", "6", k=12), city.grid, len(city.cells))
    noise = make_noisy(city, plan, 0) - city.kept(12, "sample", 0)
    assert noise.std() == pytest.approx(np.sqrt(2) * 12 / 6, rel=0.05)
    assert not np.array_equal(make_noisy(city, plan, 1), make_noisy(city, plan, 0))
    assert np.array_equal(make_noisy(city, plan, 0), noise + city.kept(12, "sample", 0))


@pytest.mark.parametrize("method", ["identity", "scaled_noisy", "hb_striped"])
def test_users_releases_sum_to_all_pings(city: Data, method: str) -> None:
    released = release_arrays(city, Setting(method, "60", k=20), 0)
    assert released.counts.sum(dtype=np.float64) == pytest.approx(len(city.cells), rel=1e-3)


def test_gamma_is_the_papers(city: Data) -> None:
    setting = Setting("gamma_noisy", "6", k=20)
    by_gamma, by_ratio = (
        release_arrays(city, of, 0).counts for of in (setting, replace(setting, method="scaled_noisy"))
    )
    total, noisy_sum = len(city.cells), float(city.kept(20, "sample", 0).sum())
    factor = gamma(noisy_sum, total, 2 * by_gamma.size * (20 / 6) ** 2, 5e-5)
    assert by_gamma.sum(dtype=np.float64) / by_ratio.sum(dtype=np.float64) * total / noisy_sum == pytest.approx(
        factor, rel=0.05
    )


def test_a_raw_model_is_as_it_is_where_every_ping_counts(city: Data) -> None:
    """What it makes of noise stays in its sum; made to sum to N it would be flatter by as much."""
    setting = Setting("temporal+prior", "0.2", are_users=False)
    raw, scaled = (
        release_arrays(city, of, 0).counts for of in (replace(setting, method="temporal+prior_raw"), setting)
    )
    plan = plan_release(setting, city.grid, len(city.cells))
    noisy = make_noisy(city, plan, 0)
    assert raw == pytest.approx(denoise(noisy, plan)[0].counts * (len(city.cells) / kept_of(noisy, plan)), rel=1e-5)
    assert raw.sum() != pytest.approx(scaled.sum(), rel=1e-4)


def test_learning_from_some_slices_releases_those(city: Data) -> None:
    assert release_arrays(city, Setting("temporal", k=20), 0, learn=8).counts.shape == (8, 24, 24)
    with pytest.raises(InvalidConfig, match="ug is a baseline"):
        release_arrays(city, Setting("ug", k=20), 0, learn=8)


def test_bad_settings_are_a_sentence(few: Data) -> None:
    with pytest.raises(InvalidConfig, match="not valid"):
        plan_release(Setting("nothing"), few.grid, 5)
