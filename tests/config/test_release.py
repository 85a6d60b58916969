"""What the sections of a release may say together, in YAML and in Python."""

from collections.abc import Callable

import pytest

from vdr_spark import ReleaseConfig
from vdr_spark.config.privacy import PrivacySettings
from vdr_spark.errors import InvalidConfig

Small = Callable[..., ReleaseConfig]
BOXES = "{a: {south: 0, west: 0, north: 1, east: 1}, b: {south: 0, west: %s, north: 1, east: 2}}"


def test_regions_that_overlap_are_refused(small_config: Small) -> None:
    touching = small_config("region=null", "synth=null", "regions=" + BOXES % "1")
    assert [name for name, _ in touching.boxes] == ["a", "b"]
    with pytest.raises(InvalidConfig, match="regions `a` and `b` overlap"):
        small_config("region=null", "synth=null", "regions=" + BOXES % "0.9")


def test_a_region_or_regions_but_not_both(small_config: Small) -> None:
    with pytest.raises(InvalidConfig, match="either `region`"):
        small_config("synth=null", "regions=" + BOXES % "1")
    with pytest.raises(InvalidConfig, match="either `region`"):
        small_config("region=null", "synth=null")


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (
            ["region.side_m=10"],
            r"not 0\.62 m x 0\.62 m; give at most grid.cells_per_side: 10, or a `region` of at least 16 m",
        ),
        (["region.side_m=1.2"], r"not 0\.075 m x 0\.075 m; give a `region` of at least 16 m each way"),
        (
            ["region.side_m=5000", "grid.cells_per_side=8192"],
            r"not 0\.61 m x 0\.61 m; give at most grid.cells_per_side: 5000",
        ),
        (
            ["region=null", "synth=null", "regions={a: {center: [9, 9], side_m: 9}, b: {center: [1, 1], side_m: 900}}"],
            r"a `regions\.a` of at least 16 m",
        ),
    ],
)
def test_cells_of_no_size_are_refused(small_config: Small, overrides: list[str], words: str) -> None:
    with pytest.raises(InvalidConfig, match=words):
        small_config(*overrides)


def test_cells_of_a_metre_are_taken(small_config: Small) -> None:
    assert small_config("region.side_m=16").region is not None


def test_mistakes_in_python_are_told_in_sentences(small_config: Small) -> None:
    """One who builds settings in a notebook gets parameter, rule, value received and what to do."""
    with pytest.raises(InvalidConfig, match=r"epsilon: must be a positive number.*\(received -1\)"):
        PrivacySettings(epsilon=-1, k=3, total_pings=10)
    settings = small_config().model_dump(by_alias=True)
    with pytest.raises(InvalidConfig) as refusal:
        ReleaseConfig(**(settings | {"colour": "blue", "privacy": {"epsilon": 0}}))
    assert "colour: is not a known setting; remove it or mend its spelling" in str(refusal.value)
    assert "privacy.epsilon: must be a positive number" in str(refusal.value)


def test_a_configuration_made_in_python_is_the_one_in_yaml(small_config: Small) -> None:
    config = small_config()
    assert ReleaseConfig(**config.model_dump(by_alias=True)) == config
