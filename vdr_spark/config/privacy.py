"""The section `privacy`: who is protected, how strongly, and what of the price pays for what."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

from pydantic import Field, field_serializer, model_validator

from vdr_spark.config.bounds import check_bound
from vdr_spark.config.budget import Budget, Cap, SizeHistogram, TotalEstimate, make_price, require_one_currency
from vdr_spark.config.kinds import Count, Delta, Epsilon
from vdr_spark.config.settings import Section
from vdr_spark.conversion import describe_price, epsilon_at
from vdr_spark.epsilon import GOOD_PRACTICE, WEAK, describe_odds
from vdr_spark.price import Currency, Price
from vdr_spark.promise import Promise, Unit
from vdr_spark.units import WEIGHT_UNIT

_MAX_SCALE = 2**50  # beyond, noise might not fit the 64-bit integers it is stored in
# Of each currency, the noise that is drawn for it, the usual one first.
_MECHANISMS = {Currency.EPSILON: ("discrete_laplace",), Currency.RHO: ("discrete_gaussian",)}


class PrivacySettings(Section):
    """Who is protected, and how strongly. Everything here is public."""

    epsilon: Epsilon | None = Field(
        default=None,
        description="price of the whole release in pure epsilon, and strength of its promise: smaller is stronger",
    )
    rho: Epsilon | None = Field(
        default=None,
        description="or its price in rho, of zero-concentrated privacy: what many releases are together grows more "
        "slowly then. `vdr budget convert` says which rho is which epsilon",
    )
    delta: Delta | None = Field(
        default=None,
        description="required with rho, and only then: the delta at which people are told an epsilon. Below 1 / N",
    )
    unit: Literal["user", "user_day", "user_week"] = Field(
        default="user",
        description="what the price protects: `user`, all that one did in the period; `user_day` or `user_week`, what "
        "one did on one calendar day, or in one week from Monday on, within which the period must then lie. Prices of "
        "all releases add up in the ledger all the same",
    )
    accept_weak_promise: bool = Field(
        default=False,
        description="an epsilon above 10, told for rho or given, is meant, and no slip of the pen; without this it is "
        "refused",
    )
    k: Count | None = Field(default=None, ge=1, description="the most pings that are kept of each user")
    lambda_: float | None = Field(default=None, alias="lambda", gt=0, le=1, description="or k = lambda * N")
    norm: Count | None = Field(
        default=None,
        ge=1,
        description="with `bounding: l2`, in place of k: the largest L2 norm, in pings, of a user's counts",
    )
    total_pings: Count | None = Field(
        default=None,
        ge=1,
        description="N, the number of pings inside box and period (of all regions together, before bounding), as "
        "public knowledge. Released counts are scaled to it",
    )
    estimate_total: TotalEstimate | None = Field(
        default=None, description="or have the same N estimated, for a share of epsilon or rho"
    )
    size_histogram: SizeHistogram | None = Field(
        default=None,
        description="have a histogram of pings per user drawn, for a share of epsilon or rho: `vdr advise --pay` "
        "chooses k, or the norm, by it",
    )
    budget: Budget | None = Field(
        default=None,
        description="of the dataset, granted by its first release: a number, of pure epsilon, or a section; unset: "
        "this release's price",
    )
    cap: Cap | None = Field(default=None, description="of the dataset, set by its first release; unset: none")
    bounding: Literal["sample", "weight", "l2"] = Field(
        default="sample",
        description="k of a user's pings; or all of them weighted k / n; or, with `rho` only, all of them weighted so "
        "that the user's counts have an L2 norm of at most `norm`",
    )
    mechanism: Literal["discrete_laplace", "discrete_gaussian"] = Field(
        default="discrete_laplace", description="the noise; with `rho` it is discrete_gaussian"
    )
    test_seed: int | None = Field(
        default=None, ge=0, description="for tests: seeded noise protects nobody, and the release says so"
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: Any) -> Any:
        """Fill in the noise that is drawn for a currency. A budget that is a plain number is one of pure epsilon.

        Whoever changes a price from epsilon to rho would else have turned a budget of epsilon 6 into one of rho 6.
        """
        if not isinstance(given, dict):
            return given
        currency = Currency.EPSILON if given.get("rho") is None else Currency.RHO
        filled: dict[str, Any] = {"mechanism": _MECHANISMS[currency][0]} | given
        budget = given.get("budget")
        if budget is not None and not isinstance(budget, dict | Budget):
            filled["budget"] = {"epsilon": budget}
        return filled

    @field_serializer("budget")
    def _write_budget(self, budget: Budget | None) -> Any:
        """Write pure epsilon as the number that it was before there was rho: the configuration's hash stays."""
        if budget is None:
            return None
        return str(budget.epsilon) if budget.epsilon is not None else budget.model_dump(mode="json", exclude_none=True)

    @model_validator(mode="after")
    def _one_currency(self) -> PrivacySettings:
        require_one_currency("price", self.epsilon, self.rho)
        if self.rho is not None and self.delta is None:
            raise ValueError("`rho` must come with a `delta`, at which people are told an epsilon, such as delta: 1e-9")
        if self.rho is None and self.delta is not None:
            raise ValueError("`delta` goes with `rho`: a pure `epsilon` has none. Remove it, or give `rho` for epsilon")
        if self.mechanism not in _MECHANISMS[self.price.currency]:
            raise ValueError(_describe_wrong_noise(self.mechanism, self.price))
        return self

    @model_validator(mode="after")
    def _weak_by_word_only(self) -> PrivacySettings:
        epsilon = self.told_epsilon
        if epsilon > WEAK and not self.accept_weak_promise:
            received = f"received {epsilon}" if self.rho is None else f"received {self.described_price}"
            raise ValueError(
                f"`epsilon` must be at most {WEAK} unless `accept_weak_promise: true` says that a weak promise is "
                f"meant ({received}): {describe_odds(epsilon, self.delta)}. Lower {self.price.currency}, an epsilon "
                f"below {GOOD_PRACTICE} is good practice, or say the word"
            )
        return self

    @model_validator(mode="after")
    def _consistent(self) -> PrivacySettings:
        check_bound(self.bounding, self.price.currency, self.k, self.lambda_, self.norm)
        if (self.total_pings is None) == (self.estimate_total is None):
            raise ValueError(
                "give either `total_pings`, the number of pings inside box and period as public knowledge, or "
                f"`estimate_total`, which pays for it out of {self.price.currency}; not both, not neither"
            )
        if self._shares >= 1:
            raise ValueError(
                "the shares of `estimate_total` and `size_histogram` must add up to less than 1, or nothing is left "
                f"for the cells (received {self._shares})"
            )
        if self.lambda_ is not None and self.total_pings is not None and self.bound(self.total_pings) < 1:
            raise ValueError(f"lambda * total_pings must be at least 1, not {self.lambda_} * {self.total_pings}")
        if self.known_bound:
            self.check_scale(self.known_bound)
        if self.estimate_total is not None and self.total_price is not None:
            _check_scale("max_per_user", "noise of N", self.estimate_total.max_per_user, self.total_price, 1)
        if self.sizes_price is not None:
            _check_scale("1", "noise of the histogram", 1, self.sizes_price, 1)
        return self

    @model_validator(mode="after")
    def _affordable(self) -> PrivacySettings:
        """Refuse a budget or a cap that the release itself would break, or in which it has no price."""
        budget, currency = self.opening_price, self.opening_price.currency
        if currency is Currency.EPSILON and self.rho is not None:
            raise ValueError(
                f"`budget` is one of pure epsilon ({budget.amount}), and `rho` is none, however small: give it as "
                "budget: {rho: ...}, or the release's price as `epsilon` with discrete_laplace noise"
            )
        if currency is Currency.RHO and self.opening_delta is None:
            raise ValueError(
                "`budget` in rho must say its `delta`, at which people are told an epsilon of all releases"
            )
        cost = self.cost_in(currency)
        if budget.amount < cost:
            raise ValueError(f"`budget` ({budget}) must be at least what this release costs of it ({currency} {cost})")
        if self.cap is None:
            return self
        if self.cap.price.currency is not currency:
            raise ValueError(f"`cap` must be in the currency of the budget, {currency}, not in {self.cap.price}")
        if self.cap.price.amount < cost:
            raise ValueError(f"`cap.{currency}` ({self.cap.price.amount}) must be at least this release's ({cost})")
        return self

    @property
    def known_bound(self) -> int | None:
        """What bounds a user, in pings: k, or the norm; None where it waits for an estimate of N."""
        return self.k or self.norm or (self.total_pings and self.bound(self.total_pings))

    @property
    def bound_name(self) -> str:
        """What that is called: k, or norm."""
        return "norm" if self.bounding == "l2" else "k"

    def check_scale(self, bound: int) -> None:
        """Raise a ValueError where noise for this bound would not fit the integers that it is stored in."""
        _check_scale(self.bound_name, "noise", bound, self.cells_price, self.units_per_ping)

    def bound(self, total_pings: int) -> int:
        """Return what bounds a user where N is `total_pings`, in pings: k, or the largest norm (`config.bounds`)."""
        if self.norm is not None:
            return self.norm
        if self.k is not None:
            return self.k
        assert self.lambda_ is not None
        k = round(self.lambda_ * total_pings)
        return k if self.estimate_total is None else max(1, k)

    @property
    def price(self) -> Price:
        """What the whole release costs."""
        return make_price(self.epsilon, self.rho)

    @property
    def total_price(self) -> Price | None:
        """What of it pays for N; None where N is declared."""
        return self.price.share(self.estimate_total.share) if self.estimate_total else None

    @property
    def sizes_price(self) -> Price | None:
        """What of it pays for a histogram of pings per user; None where none is drawn."""
        return self.price.share(self.size_histogram.share) if self.size_histogram else None

    @property
    def cells_price(self) -> Price:
        """What of it pays for the cells."""
        return self.price.share(1 - self._shares)

    @property
    def _shares(self) -> Fraction:
        """What of the price is not for the cells."""
        return sum((part.share for part in (self.estimate_total, self.size_histogram) if part), Fraction(0))

    def cost_in(self, currency: Currency) -> Fraction:
        """Return what the release takes of a budget in a currency: the sum over its draws."""
        prices = (self.sizes_price, self.total_price, self.cells_price)
        return sum((price.amount_in(currency) for price in prices if price), Fraction(0))

    @property
    def told_epsilon(self) -> Fraction:
        """The epsilon that people are told: the price itself where it is pure, else what it is at delta, rounded up."""
        if self.epsilon is not None:
            return self.epsilon
        assert self.rho is not None
        assert self.delta is not None
        return epsilon_at(self.rho, self.delta)

    @property
    def promise(self) -> Promise:
        """What is promised, to whom, by the price of the whole release."""
        return Promise(self.told_epsilon, self.delta, Unit(self.unit))

    @property
    def described_price(self) -> str:
        """The price in words, in both languages where it is rho."""
        return describe_price(self.price, self.delta)

    @property
    def opening_price(self) -> Price:
        """The budget of a dataset that is not known yet."""
        return self.budget.price if self.budget else self.price

    @property
    def opening_delta(self) -> Fraction | None:
        """The delta at which people are told an epsilon of that budget; None of pure epsilon."""
        if self.opening_price.currency is Currency.EPSILON:
            return None
        return (self.budget and self.budget.delta) or self.delta

    @property
    def units_per_ping(self) -> int:
        """Counts and their noise are whole multiples of 1 / units_per_ping: weighted pings are fractions of one."""
        return 1 if self.bounding == "sample" else WEIGHT_UNIT

    @property
    def protected(self) -> bool:
        return self.test_seed is None


def _describe_wrong_noise(mechanism: str, price: Price) -> str:
    usual = _MECHANISMS[price.currency][0]
    if price.currency is Currency.EPSILON:
        return (
            f"`mechanism` must give pure epsilon where the price is `epsilon`, and {mechanism} noise gives it for no "
            f"epsilon: use {usual}, or give the price as `rho` and `delta`"
        )
    return (
        f"`mechanism` must be {usual} where the price is `rho`, not {mechanism}: that gives pure epsilon, which "
        "promises more. Give its price as `epsilon`; a `budget` in rho counts it as epsilon^2 / 2"
    )


def _check_scale(bound: str, what: str, sensitivity: int, price: Price, units_per_ping: int) -> None:
    """Raise a ValueError where noise would have a scale, or a sigma, that does not fit."""
    units = sensitivity * units_per_ping
    if price.currency is Currency.EPSILON:
        fits, scale, formula = units / price.amount <= _MAX_SCALE, float(units / price.amount), f"{bound} / epsilon"
    else:
        squared = units**2 / (2 * price.amount)
        fits, scale, formula = squared <= _MAX_SCALE**2, float(squared) ** 0.5, f"{bound} / sqrt(2 rho)"
    if not fits:
        raise ValueError(
            f"{formula}, the scale of the {what}, must be at most 2**50 units of 1 / {units_per_ping}, not {scale:.3g}"
        )
