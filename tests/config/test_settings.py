"""What single settings mean: exact epsilon, k from lambda, nothing that changes."""

from collections.abc import Callable
from fractions import Fraction

import pytest

from tests.conftest import ROOT
from tests.plans import grid_of, scale_of
from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.config.values import parse_seconds
from vdr_spark.errors import InvalidConfig

Small = Callable[..., ReleaseConfig]


@pytest.mark.parametrize(
    ("name", "total", "k"),
    [("houston", 221_000_000, 55), ("los_angeles", 80_000_000, 20), ("salt_lake", 41_000_000, 10)],
)
def test_the_papers_settings(name: str, total: int, k: int) -> None:
    config = load_config(ROOT / f"conf/{name}.yaml")
    assert grid_of(config).shape == (96, 576, 576)
    assert config.privacy.total_pings == total
    assert config.privacy.bound(total) == k
    assert scale_of(config) == Fraction(k, 6)
    assert config.refine.concentration == 5e-5
    assert 19_990 < grid_of(config).cell_metres[0] * 576 < 20_010


@pytest.mark.parametrize(("text", "value"), [("0.1", Fraction(1, 10)), ("1/3", Fraction(1, 3)), ("6", Fraction(6))])
def test_epsilon_is_exact(small_config: Small, text: str, value: Fraction) -> None:
    config = small_config(f"privacy.epsilon={text}")
    assert config.privacy.epsilon == value
    assert scale_of(config) == 20 / value


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("privacy.epsilon=1e1_000", "must be a positive number"),
        ("privacy.cap={epsilon: 6, per: 36526d}", "must be at most 100 years"),
    ],
)
def test_numbers_of_absurd_size_are_refused(small_config: Small, setting: str, words: str) -> None:
    with pytest.raises(InvalidConfig, match=words):
        small_config(setting)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("30min", 1800), ("3h", 10_800), ("1d", 86_400), ("1w", 604_800), ("2 w", 1_209_600)],
)
def test_lengths_of_time(text: str, seconds: int) -> None:
    assert parse_seconds(text) == seconds


def test_a_slice_of_a_week(small_config: Small) -> None:
    assert grid_of(small_config("period.end=2020-01-21", "period.slice=1w")).slices == 2


def test_a_change_of_clocks_is_named(small_config: Small) -> None:
    """A week in March is an hour short in Chicago, which a person who wrote two dates does not see."""
    with pytest.raises(InvalidConfig, match=r"change of clocks in America/Chicago .* slices of 1h fit"):
        small_config("period.start=2020-03-07", "period.end=2020-03-14")
    assert grid_of(small_config("period.start=2020-03-07", "period.end=2020-03-14", "period.slice=1h")).slices == 167


def test_settings_cannot_be_changed(small_config: Small) -> None:
    with pytest.raises(ValueError, match="frozen"):
        small_config().privacy.k = 3  # type: ignore[misc]
