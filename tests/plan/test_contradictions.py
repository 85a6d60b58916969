"""Settings that are allowed one by one, and hardly meant so together, are named; those of the examples are not."""

from collections.abc import Callable

import pytest

from tests.conftest import ROOT
from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.plan import make_plan
from vdr_spark.plan.contradictions import find_contradictions

Small = Callable[..., ReleaseConfig]
NORM = "bounding: l2, rho: 1/2, delta: 1e-9, total_pings: 6000"


def found_in(config: ReleaseConfig) -> list[str]:
    return list(find_contradictions(make_plan(config)))


@pytest.mark.parametrize("name", ["demo", "houston", "los_angeles", "salt_lake"])
def test_the_examples_contradict_nothing(name: str) -> None:
    assert found_in(load_config(ROOT / f"conf/{name}.yaml")) == []


def test_the_papers_own_model_is_named_for_what_it_is() -> None:
    model = ["denoise.model=vqvae", "denoise.fusion=false", "refine.method=gamma"]  # as the examples say
    (sentence,) = found_in(load_config(ROOT / "conf/houston.yaml", model))
    assert "denoise.fusion is false" in sentence


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["privacy.k=7000"], "privacy.k (7,000) is larger than privacy.total_pings (6,000)"),
        (["privacy={epsilon: 6, k: 20, estimate_total: {max_per_user: 5}}"], "max_per_user (5) is smaller than k (20)"),
        ([f"privacy={{{NORM}, norm: 7000}}"], "privacy.norm (7,000) is larger than privacy.total_pings (6,000)"),
        ([f"privacy={{{NORM}, norm: 300, accept_weak_promise: true}}"], "use a larger rho, a smaller norm, a coarser"),
        (["privacy.epsilon=0.01"], "the signal will drown: the noise of all 2,048 cells together"),
        (["synth.pings=9000"], "synth.pings (9,000) and privacy.total_pings (6,000) disagree"),
        (["period.end=2020-01-12", "period.slice=5h"], "period.slice (18000 s) does not divide a day"),
        (["denoise={model: vqvae, fusion: false}"], "denoise.fusion is false, and `vqvae` lets some of the noise"),
        (["denoise={candidates: [ridge, vae], model: auto, fusion: false}"], "`vae` lets some of the noise through"),
        (["refine.method=gamma"], "`gamma` shrinks counts because noise is in them"),
        (["refine.concentration=1e-4"], "used by `gamma` only, and refine.method is `calibrated`"),
        (["region.center=[-74.0, 40.7]"], "region: the box lies in the Antarctic"),
    ],
)
def test_what_contradicts_itself(small_config: Small, overrides: list[str], words: str) -> None:
    (sentence,) = found_in(small_config(*overrides))
    assert words in sentence


def test_a_person_is_warned(small_config: Small) -> None:
    assert any("Antarctic" in caution for caution in make_plan(small_config("region.center=[-74.0, 40.7]")).cautions())


@pytest.mark.parametrize(
    "override", ["period.slice=1h", "period.slice=30min", "period.slice=1d", "privacy.k=60", "synth.pings=6200"]
)
def test_what_does_not(small_config: Small, override: str) -> None:
    assert found_in(small_config(override)) == []
