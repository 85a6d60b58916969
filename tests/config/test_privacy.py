"""The section `privacy`: a weak promise is made by word only, and noise without an epsilon is not to be had."""

from collections.abc import Callable

import pytest

from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import InvalidConfig
from vdr_spark.price import Currency, Price

Small = Callable[..., ReleaseConfig]
WORD = "privacy.accept_weak_promise=true"
MUCH = "privacy.budget=1000"
ESTIMATED = ("privacy.total_pings=null", "privacy.estimate_total={max_per_user: 9, share: 1/2}")


@pytest.mark.parametrize("epsilon", ["10.01", "11", "1000"])
def test_an_epsilon_above_ten_wants_a_word(small_config: Small, epsilon: str) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        small_config(f"privacy.epsilon={epsilon}", MUCH)
    for words in ("`epsilon` must be at most 10", "accept_weak_promise: true", "to 1. Lower epsilon"):
        assert words in str(refusal.value)
    assert small_config(f"privacy.epsilon={epsilon}", MUCH, WORD).privacy.accept_weak_promise


def test_ten_wants_none(small_config: Small) -> None:
    assert not small_config("privacy.epsilon=10", MUCH).privacy.accept_weak_promise


def test_it_is_the_whole_release_that_is_weak(small_config: Small) -> None:
    """Cells and N are protected together: 6 for each of them is 12."""
    with pytest.raises(InvalidConfig, match=r"at most 10 .*received 12"):
        small_config("privacy.epsilon=12", MUCH, *ESTIMATED)


def test_noise_that_gives_no_pure_epsilon_is_refused(small_config: Small) -> None:
    with pytest.raises(
        InvalidConfig, match=r"pure epsilon where the price is `epsilon`.*for no epsilon: use discrete_laplace, or give"
    ):
        small_config("privacy.mechanism=discrete_gaussian")


def test_a_histogram_and_an_estimate_leave_the_rest_to_the_cells(small_config: Small) -> None:
    half = "privacy.estimate_total={max_per_user: 9, share: 1/2}"
    privacy = small_config("privacy.total_pings=null", half, "privacy.size_histogram={share: 1/6}").privacy
    assert (privacy.sizes_price, privacy.total_price, privacy.cells_price) == (
        Price.epsilon(1),
        Price.epsilon(3),
        Price.epsilon(2),
    )
    assert privacy.cost_in(Currency.EPSILON) == 6
    with pytest.raises(InvalidConfig, match="must add up to less than 1"):
        small_config("privacy.total_pings=null", half, "privacy.size_histogram={share: 1/2}")


def test_a_histogram_that_would_be_noise_alone_is_refused(small_config: Small) -> None:
    with pytest.raises(InvalidConfig, match=r"1 / epsilon, the scale of the noise of the histogram, must be at most"):
        small_config("privacy.size_histogram={share: 1e-17}")
