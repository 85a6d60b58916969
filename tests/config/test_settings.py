"""What a configuration means: exact epsilon, k from lambda, and which settings make which id."""

from collections.abc import Callable
from fractions import Fraction

import pytest

from tests.conftest import ROOT
from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.errors import InvalidConfig

Small = Callable[..., ReleaseConfig]


@pytest.mark.parametrize(
    ("name", "total", "k"),
    [("houston", 221_000_000, 55), ("los_angeles", 80_000_000, 20), ("salt_lake", 41_000_000, 10)],
)
def test_the_papers_settings(name: str, total: int, k: int) -> None:
    config = load_config(ROOT / f"conf/{name}.yaml")
    assert config.domain.shape == (96, 576, 576)
    assert config.privacy.total_pings == total
    assert config.privacy.bound == k
    assert config.privacy.scale == Fraction(k, 6)
    assert config.refine.concentration == 5e-5
    assert 19_990 < config.domain.cell_metres[0] * 576 < 20_010


@pytest.mark.parametrize(("text", "value"), [("0.1", Fraction(1, 10)), ("1/3", Fraction(1, 3)), ("6", Fraction(6))])
def test_epsilon_is_exact(small_config: Small, text: str, value: Fraction) -> None:
    config = small_config(f"privacy.epsilon={text}")
    assert config.privacy.epsilon == value
    assert config.privacy.scale == 20 / value


def test_settings_cannot_be_changed(small_config: Small) -> None:
    with pytest.raises(ValueError, match="frozen"):
        small_config().privacy.k = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    "override",
    [
        *("privacy.k=21", "privacy.epsilon=5", "privacy.test_seed=1", "grid.cells=17", "dataset=other", "name=other"),
        *("input.path=elsewhere", "output=elsewhere", "input.columns={ts: seen}", "input.timezone=Asia/Tokyo"),
        *("period.slice=1h", "period.end=2020-01-09", "region.side_m=20001"),
    ],
)
def test_whatever_changes_the_noisy_tensor_is_another_draw(small_config: Small, override: str) -> None:
    assert small_config().draw_id != small_config(override).draw_id


def test_another_denoiser_is_another_release_of_the_same_draw(small_config: Small) -> None:
    temporal, identity = small_config(), small_config("denoise.model=identity", "denoise.fusion=false")
    assert temporal.draw_id == identity.draw_id
    assert temporal.release_id != identity.release_id


def test_settings_of_a_model_that_is_not_used_make_no_difference(small_config: Small) -> None:
    unused = small_config("denoise.vqvae.epochs=9", "denoise.device=cpu", "refine.concentration=0.1")
    assert unused.release_id == small_config().release_id
    used = small_config("denoise.model=vqvae", "denoise.vqvae.epochs=9")
    assert used.release_id != small_config("denoise.model=vqvae", "denoise.vqvae.epochs=8").release_id


def test_a_larger_budget_is_the_same_draw(small_config: Small) -> None:
    assert small_config().draw_id == small_config("privacy.budget=100").draw_id


def test_slices_follow_the_clock_of_the_period(small_config: Small) -> None:
    grid = small_config("period.timezone=America/Chicago").domain
    assert grid.start.isoformat() == "2020-01-07T06:00:00+00:00"
    assert grid.slices == 8


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("privacy.epsilon=20", "weak promise"),
        ("privacy.test_seed=1", "Protects nobody"),
        ("name=demo", "Name one ledger"),
    ],
)
def test_cautions(small_config: Small, override: str, words: str) -> None:
    settings = [override, "privacy.budget=20"]
    assert any(words in caution for caution in small_config(*settings).cautions())


BOXES = "{a: {south: 0, west: 0, north: 1, east: 1}, b: {south: 0, west: %s, north: 1, east: 2}}"


def test_regions_that_overlap_are_refused(small_config: Callable[..., ReleaseConfig]) -> None:
    touching = small_config("region=null", "synth=null", "regions=" + BOXES % "1")
    assert [view.focus for view in touching.views()] == ["a", "b"]
    with pytest.raises(InvalidConfig, match="regions `a` and `b` overlap"):
        small_config("region=null", "synth=null", "regions=" + BOXES % "0.9")


def test_a_region_or_regions_but_not_both(small_config: Callable[..., ReleaseConfig]) -> None:
    with pytest.raises(InvalidConfig, match="either `region`"):
        small_config("synth=null", "regions=" + BOXES % "1")
    with pytest.raises(InvalidConfig, match="either `region`"):
        small_config("region=null", "synth=null")
    with pytest.raises(InvalidConfig, match="`focus` must name"):
        small_config("region=null", "synth=null", "focus=c", "regions=" + BOXES % "1")


def test_what_does_not_change_the_tensor_does_not_change_the_draw(small_config: Callable[..., ReleaseConfig]) -> None:
    assert small_config().draw_id == small_config("input.reader=spark").draw_id
    assert small_config().draw_id != small_config("privacy.bounding=weight").draw_id
    two = small_config("region=null", "synth=null", "regions=" + BOXES % "1")
    views = two.views()
    assert {view.draw_id for view in views} == {two.draw_id}
    assert len({view.release_id for view in views}) == 2
    # Layers of the tensor follow the order of regions: in another order they would be other cities' layers.
    turned = two.model_copy(update={"regions": dict(reversed(list((two.regions or {}).items())))})
    assert turned.draw_id != two.draw_id
