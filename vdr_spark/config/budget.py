"""Settings that are amounts of privacy: a dataset's budget, how fast it may be spent, what of a price pays for what."""

from __future__ import annotations

from fractions import Fraction

from pydantic import Field, model_validator

from vdr_spark.config.kinds import Count, Delta, Epsilon, Seconds
from vdr_spark.config.settings import Section
from vdr_spark.price import Price


class TotalEstimate(Section):
    """How N is found where it is not public: all pings, of each user a limited number, with noise of their own."""

    share: Epsilon = Field(default=Fraction(1, 20), description="of the release's epsilon or rho, that it costs")
    max_per_user: Count = Field(
        ge=1, description="pings of one user that count: more, and the noise of N grows; fewer, and N shrinks"
    )

    @model_validator(mode="after")
    def _leaves_something(self) -> TotalEstimate:
        if self.share >= 1:
            raise ValueError(f"`share` must be below 1, or nothing is left for the cells (received {self.share})")
        return self


class SizeHistogram(Section):
    """A histogram of pings per user, by which `vdr advise` chooses k: one user, one bin, with noise of its own."""

    share: Epsilon = Field(default=Fraction(1, 50), description="of the release's epsilon or rho, that it costs")


class Budget(Section):
    """What all releases of a dataset may cost together. A plain number is pure epsilon: `budget: 52`."""

    epsilon: Epsilon | None = Field(default=None, description="in pure epsilon: for releases with `epsilon` only")
    rho: Epsilon | None = Field(
        default=None, description="or in rho: for releases with `rho`, and those with `epsilon` at epsilon^2 / 2 each"
    )
    delta: Delta | None = Field(
        default=None,
        description="with rho: at which people are told an epsilon of all releases together; unset: `privacy.delta`",
    )

    @model_validator(mode="after")
    def _one_currency(self) -> Budget:
        require_one_currency("budget", self.epsilon, self.rho)
        if self.delta is not None and self.rho is None:
            raise ValueError("`delta` goes with `rho`: a pure epsilon has none. Remove it, or give `rho`")
        return self

    @property
    def price(self) -> Price:
        """All of it."""
        return make_price(self.epsilon, self.rho)


class Cap(Section):
    """How fast a budget may be spent: at most so much, in the budget's currency, within any stretch of `per`."""

    epsilon: Epsilon | None = Field(default=None, description="at most so much, of a budget in pure epsilon ...")
    rho: Epsilon | None = Field(default=None, description="or so much, of a budget in rho ...")
    per: Seconds = Field(description="... within any stretch of this length")

    @model_validator(mode="after")
    def _one_currency(self) -> Cap:
        require_one_currency("cap", self.epsilon, self.rho)
        return self

    @property
    def price(self) -> Price:
        """The most within a stretch."""
        return make_price(self.epsilon, self.rho)


def require_one_currency(what: str, epsilon: Fraction | None, rho: Fraction | None) -> None:
    """Raise a ValueError unless an amount is given in exactly one currency."""
    if (epsilon is None) == (rho is None):
        raise ValueError(
            f"give the {what} either as `epsilon`, pure differential privacy, or as `rho`, zero-concentrated; not "
            f"{'neither' if epsilon is None else 'both'}"
        )


def make_price(epsilon: Fraction | None, rho: Fraction | None) -> Price:
    """Return an amount that is given in one of two currencies."""
    if epsilon is not None:
        return Price.epsilon(epsilon)
    assert rho is not None
    return Price.rho(rho)
