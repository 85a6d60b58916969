"""Sources: what they refuse, and what they say."""

from collections.abc import Callable

import pytest

from vdr_spark.advise.sources import Declared, find_declared, know_declared, know_histogram, learn_sizes
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import InvalidQuery
from vdr_spark.plan import make_plan

Small = Callable[..., ReleaseConfig]


@pytest.mark.parametrize(
    ("law", "words"),
    [
        ((1.0, 100, 3.0, None), "--exponent must be above 1"),
        ((float("nan"), 100, 3.0, None), "--exponent must be above 1"),
        ((2.0, 0, 3.0, None), "--most, .* must be 1 to"),
        ((2.0, 10**9, 3.0, None), "--most, .* must be 1 to"),
        ((2.0, 100, None, None), "either --users"),
        ((2.0, 100, 3.0, 50), "either --users"),
        ((2.0, 100, -1.0, None), "--shift must be at least 0"),
        ((2.0, 100, None, 0), "--users must be at least 1"),
    ],
)
def test_a_law_that_is_none(law: tuple[float, int, float | None, int | None], words: str) -> None:
    with pytest.raises(InvalidQuery, match=words):
        Declared(*law)


def test_a_declared_law_says_so() -> None:
    known = know_declared(Declared(2.3, 1000, users=500), total=10_000)
    assert known.sizes.mean == pytest.approx(20, rel=0.01)
    assert known.sentence == "pings per user as declared: exponent 2.3, at most 1,000, 500 users"


def test_generated_pings_declare_their_law(small_config: Small) -> None:
    assert find_declared(small_config()) == Declared(2.7, 90_000, 30.0)
    assert find_declared(small_config("synth=null")) is None


@pytest.mark.parametrize("bounding", ["sample", "weight", "l2"])
def test_an_earlier_bound_tells_the_sizes(bounding: str) -> None:
    few, many = (learn_sizes("people", bounding, 8, kept, slices=28) for kept in (0.6, 0.1))
    assert few is not None
    assert many is not None
    assert few.mean < many.mean  # who kept less had larger users


@pytest.mark.parametrize("kept", [-0.1, 0.0, 0.99, 1.2])
def test_a_bound_that_kept_all_or_nothing_tells_none(kept: float) -> None:
    assert learn_sizes("people", "sample", 8, kept, slices=28) is None


def test_a_histogram_that_drowns_is_told(small_config: Small) -> None:
    noise = make_plan(small_config("privacy.size_histogram={share: 1/50}")).noise_of_sizes
    assert noise is not None
    assert noise.deviation == pytest.approx(2**0.5 * 50 / 6, rel=0.01)  # epsilon 6, a sensitivity of one
    with pytest.raises(InvalidQuery, match="no bin of it stands out from its noise"):
        know_histogram([3, -4, 12], noise, "epsilon 3/25")
    assert know_histogram([3000, 2000, 12], noise, "epsilon 3/25").sizes.users.tolist() == [3000, 2000]
