"""The section `series`: releases that belong together, window after window, and what each of them may cost."""

from __future__ import annotations

from datetime import time, timedelta
from fractions import Fraction
from typing import Literal

from pydantic import Field, model_validator

from vdr_spark.config.budget import make_price, require_one_currency
from vdr_spark.config.kinds import Epsilon, Moment, Name, Seconds, WindowName
from vdr_spark.config.settings import Section
from vdr_spark.errors import InvalidConfig
from vdr_spark.price import Price
from vdr_spark.schedule import Kind, Schedule
from vdr_spark.windows import Calendar, Window

_DAY = 86_400  # seconds
_WEEK = 7 * _DAY


class ScheduleSettings(Section):
    """How the budget is spread over windows: equal within a yearly cap, ever less, or a cap per user and week."""

    kind: Literal["yearly", "geometric", "weekly"] = Field(
        description="`yearly`: equal prices, at most the cap in one year; `geometric`: each a ratio of the one before, "
        "at most the cap over all time; `weekly`: equal prices, at most the cap in one week, for a user-week"
    )
    epsilon: Epsilon | None = Field(default=None, description="the cap, in pure epsilon ...")
    rho: Epsilon | None = Field(default=None, description="... or in rho, with `privacy.delta`")
    ratio: Epsilon | None = Field(
        default=None, description="of `geometric`, and required there: of a window's price to that of the one before"
    )

    @model_validator(mode="after")
    def _consistent(self) -> ScheduleSettings:
        require_one_currency("schedule's cap", self.epsilon, self.rho)
        if (self.kind == "geometric") != (self.ratio is not None):
            raise ValueError("`ratio` goes with `kind: geometric`, and that with it; such as ratio: 0.99")
        if self.ratio is not None and self.ratio >= 1:
            raise ValueError(f"`ratio` must be below 1, or the sum over all time has no limit (received {self.ratio})")
        return self

    @property
    def cap(self) -> Price:
        """The most that a year, all time or a week may cost."""
        return make_price(self.epsilon, self.rho)


class SeriesSettings(Section):
    """Releases that belong together: windows of equal length, one draw each, that never overlap."""

    name: Name | None = Field(
        default=None, description="filled in: of the series, which is the file's `name`; a window's own adds its name"
    )
    window: Seconds = Field(description="length of a window: whole days, such as `1d`, `1w`, `4w`")
    first: Moment = Field(description="first day of the first window; a Monday, where windows are weeks")
    late: Seconds = Field(
        default=172_800,
        description="how long after a window's end its pings may still come; it is released after that, not before",
    )
    schedule: ScheduleSettings = Field(description="what windows may cost")
    correction_share: Epsilon | None = Field(
        default=None,
        description="of each window's price, kept back for one correction of it, which supersedes what was published. "
        "Unset: pings that come too late, or are corrected, are left out for ever",
    )
    skip: list[WindowName] = Field(
        default=[], description="names of windows that are never released, such as one whose pings were lost"
    )
    past: int = Field(
        default=8,
        ge=0,
        le=52,
        description="how many earlier windows' stored noisy tensors may serve as evidence in denoising, which costs no "
        "privacy: the latest, as many as 100 million cells hold with the window's own; 0: none",
    )
    retrain: Seconds = Field(
        default=7_862_400,
        description="age of a kept network, by the windows it was trained on, after which it is trained again",
    )

    @model_validator(mode="after")
    def _whole_days(self) -> SeriesSettings:
        if self.window % _DAY:
            raise ValueError(f"`window` must be whole days or weeks, such as 1d or 1w, not {self.window} s")
        if self.first.tzinfo is not None or self.first.time() != time():
            raise ValueError(
                f"`first` must be a day, such as 2020-01-06, which begins at midnight of period.timezone, not "
                f"{self.first}"
            )
        if self.window % _WEEK == 0 and self.first.isoweekday() != 1:
            raise ValueError(
                f"`first` must be a Monday where windows are weeks, which are called by ISO weeks such as 2020-W05; "
                f"{self.first:%Y-%m-%d} is a {self.first:%A}"
            )
        return self

    @model_validator(mode="after")
    def _weeks_hold_whole_windows(self) -> SeriesSettings:
        if self.schedule.kind == "weekly" and self.window not in (_DAY, _WEEK):
            raise ValueError(
                "`schedule.kind: weekly` must come with windows of 1d or 1w: a cap on a user's week says nothing of "
                f"windows that lie in several weeks ({self.window // _DAY} days)"
            )
        return self

    @model_validator(mode="after")
    def _shares_leave_something(self) -> SeriesSettings:
        if self.correction_share is not None and self.correction_share >= 1:
            raise ValueError(f"`correction_share` must be below 1, not {self.correction_share}")
        return self

    def skipped(self, zone: str) -> list[Window]:
        """Return the windows that are never released, in the order in which they are named."""
        calendar = self.calendar(zone)
        try:
            return [calendar.named(name) for name in self.skip]
        except InvalidConfig as problem:
            raise InvalidConfig(f"series.skip must list names of windows: {problem}") from None

    def calendar(self, zone: str) -> Calendar:
        """Return its windows, in a time zone."""
        return Calendar(self.first.date(), self.window // _DAY, zone, timedelta(seconds=self.late))

    def plan_prices(self, zone: str) -> Schedule:
        """Return what its windows cost."""
        schedule, kept_back = self.schedule, self.correction_share or Fraction(0)
        ratio, skipped = schedule.ratio or Fraction(1), frozenset(window.number for window in self.skipped(zone))
        return Schedule(Kind(schedule.kind), schedule.cap, self.calendar(zone), ratio, kept_back, skipped)
