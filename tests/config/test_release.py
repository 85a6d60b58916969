"""What the settings of a release mean together: which of them make which id, where regions lie, what to beware of."""

from collections.abc import Callable

import pytest

from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import InvalidConfig

Small = Callable[..., ReleaseConfig]


@pytest.mark.parametrize(
    "override",
    [
        *(
            "privacy.k=21",
            "privacy.epsilon=5",
            "privacy.test_seed=1",
            "grid.cells_per_side=17",
            "dataset=other",
            "name=other",
        ),
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
    assert used.release_id != small_config("denoise.model=vae", "denoise.vae.epochs=9").release_id


def test_what_auto_may_choose_from_is_part_of_the_release(small_config: Small) -> None:
    auto = small_config("denoise.model=auto")
    assert auto.release_id != small_config("denoise.model=auto", "denoise.candidates=[temporal]").release_id
    assert auto.release_id != small_config("denoise.model=auto", "denoise.blindspot.steps=7").release_id
    assert auto.release_id == small_config("denoise.model=auto", "denoise.vqvae.epochs=9").release_id
    assert small_config("denoise.candidates=[ridge]").release_id == small_config().release_id


def test_how_a_network_is_trained_is_no_part_of_the_release(small_config: Small) -> None:
    """A training may be continued on another machine."""
    release = small_config("denoise.model=vqvae").release_id
    for how in ("device=cpu", "precision=mixed", "compile=true", "processes=4", "processes_on=executors"):
        assert small_config("denoise.model=vqvae", f"denoise.{how}").release_id == release


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
