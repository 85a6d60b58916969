"""What single settings mean: exact epsilon, k from lambda, nothing that changes."""

from collections.abc import Callable
from fractions import Fraction

import pytest

from tests.conftest import ROOT
from vdr_spark.config import ReleaseConfig, load_config

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
