"""The section `privacy`: who is protected, how strongly, and what of epsilon pays for what."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from vdr_spark.config.kinds import Count, Epsilon, Seconds
from vdr_spark.config.settings import Section
from vdr_spark.epsilon import GOOD_PRACTICE, WEAK, describe_odds
from vdr_spark.units import WEIGHT_UNIT

_MAX_SCALE = 2**50  # beyond, noise might not fit the 64-bit integers it is stored in


class TotalEstimate(Section):
    """How N is found where it is not public: all pings, of each user a limited number, with noise of their own."""

    share: Epsilon = Field(default=Fraction(1, 20), description="of epsilon, that it costs")
    max_per_user: Count = Field(
        ge=1, description="pings of one user that count: more, and the noise of N grows; fewer, and N shrinks"
    )

    @model_validator(mode="after")
    def _leaves_something(self) -> TotalEstimate:
        if self.share >= 1:
            raise ValueError(f"`share` must be below 1, or nothing is left for the cells (received {self.share})")
        return self


class Cap(Section):
    """How fast a budget may be spent: at most `epsilon` within any stretch of `per`."""

    epsilon: Epsilon = Field(description="at most so much ...")
    per: Seconds = Field(description="... within any stretch of this length")


class PrivacySettings(Section):
    """Who is protected, and how strongly. Everything here is public."""

    epsilon: Epsilon = Field(description="price of the whole release, and strength of its promise: smaller is stronger")
    accept_weak_promise: bool = Field(
        default=False, description="an epsilon above 10 is meant, and no slip of the pen; without this it is refused"
    )
    k: Count | None = Field(default=None, ge=1, description="the most pings that are kept of each user")
    lambda_: float | None = Field(default=None, alias="lambda", gt=0, le=1, description="or k = lambda * N")
    total_pings: Count | None = Field(
        default=None,
        ge=1,
        description="N, the number of pings inside box and period (of all regions together, before bounding), as "
        "public knowledge. Released counts are scaled to it",
    )
    estimate_total: TotalEstimate | None = Field(
        default=None, description="or have the same N estimated, for a share of epsilon"
    )
    budget: Epsilon | None = Field(
        default=None, description="of the dataset, granted by its first release; unset: this epsilon"
    )
    cap: Cap | None = Field(default=None, description="of the dataset, set by its first release; unset: none")
    bounding: Literal["sample", "weight"] = Field(
        default="sample", description="k of a user's pings, or all of them weighted k / n"
    )
    mechanism: Literal["discrete_laplace"] = Field(default="discrete_laplace", description="the noise")
    test_seed: int | None = Field(
        default=None, ge=0, description="for tests: seeded noise protects nobody, and the release says so"
    )

    @field_validator("mechanism", mode="before")
    @classmethod
    def _pure_epsilon(cls, mechanism: Any) -> Any:
        if mechanism == "discrete_gaussian":
            raise ValueError(
                "discrete_gaussian noise gives pure epsilon for no epsilon, and budgets are counted in epsilon; "
                "use discrete_laplace"
            )
        return mechanism

    @model_validator(mode="after")
    def _weak_by_word_only(self) -> PrivacySettings:
        if self.epsilon > WEAK and not self.accept_weak_promise:
            raise ValueError(
                f"`epsilon` must be at most {WEAK} unless `accept_weak_promise: true` says that a weak promise is "
                f"meant (received {self.epsilon}): {describe_odds(self.epsilon)}. Lower epsilon, below {GOOD_PRACTICE} "
                "is good practice, or say the word"
            )
        return self

    @model_validator(mode="after")
    def _consistent(self) -> PrivacySettings:
        if (self.k is None) == (self.lambda_ is None):
            raise ValueError("give either `k` or `lambda` (k = lambda * total_pings), not both, not neither")
        if (self.total_pings is None) == (self.estimate_total is None):
            raise ValueError(
                "give either `total_pings`, the number of pings inside box and period as public knowledge, or "
                "`estimate_total`, which pays for it out of epsilon; not both, not neither"
            )
        if self.lambda_ is not None and self.total_pings is not None and self.bound(self.total_pings) < 1:
            raise ValueError(f"lambda * total_pings must be at least 1, not {self.lambda_} * {self.total_pings}")
        known = self.k or (self.total_pings and self.bound(self.total_pings))
        if known:
            self.check_scale(known)
        if self.estimate_total is not None and self.estimate_total.max_per_user / self.total_epsilon > _MAX_SCALE:
            raise ValueError(
                "max_per_user / (share * epsilon), the scale of the noise of N, must be at most 2**50, not "
                f"{float(self.estimate_total.max_per_user / self.total_epsilon):.3g}"
            )
        if self.budget is not None and self.budget < self.epsilon:
            raise ValueError(f"`budget` ({self.budget}) must be at least `epsilon` ({self.epsilon})")
        if self.cap is not None and self.cap.epsilon < self.epsilon:
            raise ValueError(f"`cap.epsilon` ({self.cap.epsilon}) must be at least `epsilon` ({self.epsilon})")
        return self

    def check_scale(self, k: int) -> None:
        """Raise a ValueError where noise for this bound would not fit the integers that it is stored in."""
        scale = k / self.cells_epsilon * self.units_per_ping
        if scale > _MAX_SCALE:
            raise ValueError(
                f"k / epsilon, the scale of the noise, must be at most 2**50 units of 1 / {self.units_per_ping}, "
                f"not {float(scale):.3g}"
            )

    def bound(self, total_pings: int) -> int:
        """Return k, the number of pings kept of each user, where N is `total_pings`."""
        if self.k is not None:
            return self.k
        assert self.lambda_ is not None
        k = round(self.lambda_ * total_pings)
        return k if self.estimate_total is None else max(1, k)

    @property
    def total_epsilon(self) -> Fraction:
        """What of epsilon pays for N; 0 where N is declared."""
        return self.epsilon * self.estimate_total.share if self.estimate_total else Fraction(0)

    @property
    def cells_epsilon(self) -> Fraction:
        """What of epsilon pays for the cells."""
        return self.epsilon - self.total_epsilon

    @property
    def units_per_ping(self) -> int:
        """Counts and their noise are whole multiples of 1 / units_per_ping: weighted pings are fractions of one."""
        return WEIGHT_UNIT if self.bounding == "weight" else 1

    @property
    def protected(self) -> bool:
        return self.test_seed is None
