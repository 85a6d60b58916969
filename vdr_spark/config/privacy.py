"""The section `privacy`: who is protected, how strongly, and what of epsilon pays for what."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from pydantic import Field, PrivateAttr, model_validator

from vdr_spark.config.settings import Count, Epsilon, Seconds, Section
from vdr_spark.errors import InvalidConfig, StageMissing
from vdr_spark.units import WEIGHT_UNIT

_LARGEST_SCALE = 2**50  # beyond, noise might not fit the 64-bit integers it is stored in


class TotalEstimate(Section):
    """How N is found where it is not public: all pings, of each user a limited number, with noise of their own."""

    share: Epsilon = Fraction(1, 20)  # of epsilon, that it costs
    most_per_user: Count = Field(ge=1)  # pings of one user that count: more, and the noise grows; fewer, and N shrinks

    @model_validator(mode="after")
    def _leaves_something(self) -> TotalEstimate:
        if self.share >= 1:
            raise ValueError(f"`share` must be below 1, or nothing is left for the cells (received {self.share})")
        return self


class Cap(Section):
    """How fast a budget may be spent: at most `epsilon` within any stretch of `per`."""

    epsilon: Epsilon
    per: Seconds


class PrivacySettings(Section):
    """Who is protected, and how strongly. Everything here is public."""

    epsilon: Epsilon  # of the whole release
    k: Count | None = Field(default=None, ge=1)  # pings kept of each user
    lambda_: float | None = Field(default=None, alias="lambda", gt=0, le=1)  # or k = lambda * N
    total_pings: Count | None = Field(default=None, ge=1)  # N, declared public
    estimate_total: TotalEstimate | None = None  # or estimated, for a share of epsilon
    budget: Epsilon | None = None  # of the dataset, granted by the first release; None: this epsilon
    cap: Cap | None = None  # of the dataset, set by the first release; None: none
    bounding: Literal["sample", "weight"] = "sample"  # k of a user's pings, or all of them weighted k / n
    mechanism: Literal["discrete_laplace"] = "discrete_laplace"
    test_seed: int | None = Field(default=None, ge=0)  # seeded noise protects nobody, and the release says so

    _estimated: int | None = PrivateAttr(default=None)  # N, once it was drawn and stored

    @model_validator(mode="after")
    def _consistent(self) -> PrivacySettings:
        if (self.k is None) == (self.lambda_ is None):
            raise ValueError("give either `k` or `lambda` (k = lambda * total_pings), not both, not neither")
        if (self.total_pings is None) == (self.estimate_total is None):
            raise ValueError(
                "give either `total_pings`, the number of all pings as public knowledge, or `estimate_total`, which "
                "pays for it out of epsilon; not both, not neither"
            )
        if self.lambda_ is not None and self.total_pings is not None and self.bound < 1:
            raise ValueError(f"lambda * total_pings must be at least 1, not {self.lambda_} * {self.total_pings}")
        if self.k is not None or self.total_pings is not None:
            self._check_scale()
        if self.estimate_total is not None and self.estimate_total.most_per_user / self.total_epsilon > _LARGEST_SCALE:
            raise ValueError(
                "most_per_user / (share * epsilon), the scale of the noise of N, must be at most 2**50, not "
                f"{float(self.estimate_total.most_per_user / self.total_epsilon):.3g}"
            )
        if self.budget is not None and self.budget < self.epsilon:
            raise ValueError(f"`budget` ({self.budget}) must be at least `epsilon` ({self.epsilon})")
        if self.cap is not None and self.cap.epsilon < self.epsilon:
            raise ValueError(f"`cap.epsilon` ({self.cap.epsilon}) must be at least `epsilon` ({self.epsilon})")
        return self

    def _check_scale(self) -> None:
        if self.scale * self.unit > _LARGEST_SCALE:
            raise ValueError(
                f"k / epsilon, the scale of the noise, must be at most 2**50 units of 1 / {self.unit}, "
                f"not {float(self.scale * self.unit):.3g}"
            )

    def with_total(self, total: int) -> PrivacySettings:
        """The same settings once N has been estimated."""
        settled = self.model_copy()
        settled._estimated = total
        try:
            settled._check_scale()
        except ValueError as problem:
            raise InvalidConfig(f"privacy: {problem}; give `k` instead of `lambda`") from None
        return settled

    @property
    def total_is_known(self) -> bool:
        return self.total_pings is not None or self._estimated is not None

    @property
    def total(self) -> int:
        """N, the number of all pings: declared, or as it was estimated."""
        total = self.total_pings if self.total_pings is not None else self._estimated
        if total is None:
            raise StageMissing("privacy.estimate_total: the number of pings is not estimated yet; run `vdr collect`")
        return total

    @property
    def bound(self) -> int:
        """k, the number of pings kept of each user."""
        if self.k is not None:
            return self.k
        assert self.lambda_ is not None
        k = round(self.lambda_ * self.total)
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
    def scale(self) -> Fraction:
        """k / epsilon, the scale of the Laplace noise of a cell, exact."""
        return self.bound / self.cells_epsilon

    @property
    def unit(self) -> int:
        """Counts are whole multiples of 1 / unit, and so is their noise: weighted pings are fractions of one."""
        return WEIGHT_UNIT if self.bounding == "weight" else 1

    @property
    def protected(self) -> bool:
        return self.test_seed is None
