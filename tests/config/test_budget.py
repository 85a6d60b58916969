"""Amounts of privacy in the configuration: one currency each, a budget that the release fits into, sentences else."""

from collections.abc import Callable
from fractions import Fraction

import pytest

from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import InvalidConfig
from vdr_spark.plan import make_plan
from vdr_spark.price import Currency, Price
from vdr_spark.privacy.entries import Cap, Grant

Small = Callable[..., ReleaseConfig]
DELTA = Fraction(1, 10**9)
RHO = ("privacy.epsilon=null", "privacy.budget=null", "privacy.rho=1/2", "privacy.delta=1e-9")


def test_a_plain_number_is_pure_epsilon_as_ever(small_config: Small) -> None:
    number, section = small_config("privacy.budget=9"), small_config("privacy.budget={epsilon: 9}")
    assert number == section
    assert make_plan(number).configuration_hash == make_plan(section).configuration_hash
    assert number.model_dump(mode="json", exclude_defaults=True)["privacy"]["budget"] == "9"
    assert make_plan(number).budget_request.opening == Grant(Price.epsilon(9))
    assert make_plan(number).budget_request.budget_currency is Currency.EPSILON


def test_a_budget_in_rho_has_a_delta_of_its_own_or_the_release_s(small_config: Small) -> None:
    own = small_config(*RHO, "privacy.budget={rho: 26, delta: 1e-12}")
    assert make_plan(own).budget_request.opening == Grant(Price.rho(26), Fraction(1, 10**12))
    shared = make_plan(small_config(*RHO, "privacy.budget={rho: 26}", "privacy.cap={rho: 1, per: 1w}")).budget_request
    assert (shared.opening, shared.opening_cap) == (Grant(Price.rho(26), DELTA), Cap(Price.rho(1), 604_800))
    unset = make_plan(small_config(*RHO)).budget_request
    assert (unset.opening, unset.budget_currency) == (Grant(Price.rho("1/2"), DELTA), None)


def test_pure_epsilon_fits_into_a_budget_in_rho_by_half_its_square(small_config: Small) -> None:
    config = small_config("privacy.epsilon=6", "privacy.budget={rho: 18, delta: 1e-9}")
    assert config.privacy.cost_in(Currency.RHO) == 18
    with pytest.raises(InvalidConfig, match=r"`budget` \(rho 17\) must be at least what this release costs .*rho 18"):
        small_config("privacy.epsilon=6", "privacy.budget={rho: 17, delta: 1e-9}")
    # Of two draws each is squared by itself: their sum is not.
    estimated = ("privacy.total_pings=null", "privacy.estimate_total={max_per_user: 9, share: 1/2}")
    both = small_config("privacy.epsilon=6", "privacy.budget={rho: 9, delta: 1e-9}", *estimated)
    assert both.privacy.cost_in(Currency.RHO) == 9


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["privacy.rho=1/2", "privacy.delta=1e-9"], "give the price either as `epsilon`.*not both"),
        (["privacy.epsilon=null"], "give the price either as `epsilon`.*not neither"),
        (["privacy.epsilon=null", "privacy.rho=1/2"], "`rho` must come with a `delta`.*such as delta: 1e-9"),
        (["privacy.delta=1e-9"], "`delta` goes with `rho`: a pure `epsilon` has none"),
        ([*RHO, "privacy.delta=0"], r"privacy.delta: must be a number above 0 and below 1.*received 0"),
        ([*RHO, "privacy.delta=1"], r"privacy.delta: must be a number above 0 and below 1.*received 1"),
        ([*RHO, "privacy.delta=-1e-9"], "above 0 and below 1"),
        ([*RHO, "privacy.delta=1e-30"], "at most 18 digits"),
        ([*RHO, "privacy.rho=0"], "privacy.rho: must be a positive number"),
        ([*RHO, "privacy.mechanism=discrete_laplace"], "must be discrete_gaussian where the price is `rho`"),
        (
            ["privacy.mechanism=discrete_gaussian"],
            "gives it for no epsilon: use discrete_laplace, or give the price as",
        ),
        ([*RHO, "privacy.budget=9"], r"`budget` is one of pure epsilon \(9\), and `rho` is none, however small"),
        ([*RHO, "privacy.budget={epsilon: 9, rho: 9}"], "give the budget either as `epsilon`.*not both"),
        (["privacy.budget={delta: 1e-9}"], "give the budget either as `epsilon`.*not neither"),
        (["privacy.budget={epsilon: 9, delta: 1e-9}"], "`delta` goes with `rho`"),
        (["privacy.budget={rho: 18}"], "`budget` in rho must say its `delta`"),
        ([*RHO, "privacy.budget={rho: 1/3}"], r"`budget` \(rho 1/3\) must be at least .*\(rho 1/2\)"),
        ([*RHO, "privacy.cap={epsilon: 9, per: 1w}"], "`cap` must be in the currency of the budget, rho, not in eps"),
        ([*RHO, "privacy.cap={rho: 1/3, per: 1w}"], r"`cap.rho` \(1/3\) must be at least this release's \(1/2\)"),
        (["privacy.cap={per: 1w}"], "give the cap either as `epsilon`.*not neither"),
        (
            [*RHO, "privacy.rho=2"],
            r"at most 10 unless .*\(received rho 2, which is epsilon 1\d.*at delta 1e-9\).*Lower rho",
        ),
    ],
)
def test_what_does_not_go_together_is_a_sentence(small_config: Small, overrides: list[str], words: str) -> None:
    with pytest.raises(InvalidConfig, match=words):
        small_config(*overrides)


def test_rho_brings_its_noise_and_its_promise_along(small_config: Small) -> None:
    privacy = small_config(*RHO, "privacy.k=20").privacy
    assert privacy.mechanism == "discrete_gaussian"
    assert privacy.promise.parameters == "epsilon 6.475 at delta 1e-9"
    (release,) = make_plan(small_config(*RHO, "privacy.k=20")).releases(5000)
    assert (release.scale, release.sigma_squared) == (None, 400)
    assert release.noise.deviation == pytest.approx(20)


@pytest.mark.parametrize(
    ("unit", "start", "end", "fits"),
    [
        ("user_day", "2020-01-07", "2020-01-08", True),
        ("user_day", "2020-01-07T06:00", "2020-01-08", True),
        ("user_day", "2020-01-07T21:00", "2020-01-08T03:00", False),
        ("user_week", "2020-01-06", "2020-01-13", True),
        ("user_week", "2020-01-07", "2020-01-09", True),
        ("user_week", "2020-01-07", "2020-01-14", False),
        ("user_week", "2019-12-30", "2020-01-06", True),
        ("user", "2020-01-07", "2020-01-19", True),
    ],
)
def test_a_unit_of_time_holds_the_whole_period(
    small_config: Small, unit: str, start: str, end: str, fits: bool
) -> None:
    """A user is bounded once in a period: only within one unit is that a bound per unit."""
    overrides = (f"privacy.unit={unit}", f"period.start={start}", f"period.end={end}", "period.slice=3h")
    if fits:
        assert small_config(*overrides).privacy.promise.unit == unit
        return
    with pytest.raises(InvalidConfig, match=rf"privacy.unit: {unit}` must come with a period within one calendar"):
        small_config(*overrides)


def test_a_day_is_one_of_the_period_s_zone(small_config: Small) -> None:
    in_utc = ("period.start=2020-01-07T00:00Z", "period.end=2020-01-08T00:00Z", "privacy.unit=user_day")
    assert small_config(*in_utc, "period.timezone=UTC").privacy.unit == "user_day"
    with pytest.raises(InvalidConfig, match="2020-01-06 to 2020-01-07"):
        small_config(*in_utc, "period.timezone=America/Chicago")
