"""What a release promises, in words: to whom, or to what of them, and how strongly. One wording for all who tell it.

The unit says what two neighbouring data sets differ by, and that is what a release's price protects:

* `user`: all that one user did in the release's period.
* `user_day`, `user_week`: all that one user did on one day, or in one week. The release's period lies within that day
  or week (`config.release` refuses any other), so all of it that the release sees is the user's part of the period,
  and the bound on a user's pings in the period is one on the pings of that day or week. The noise is the same.

What differs is what further releases mean. Under `user` their prices add up over all periods. Under a day, only those
over the same day do: a release of Tuesday has seen nothing of Monday. But a person is more than a day: whoever was
there every day is protected by the sum of all, and that sum is what the ledger keeps, whatever the unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from vdr_spark.epsilon import format_delta, format_epsilon
from vdr_spark.errors import DamagedTable


class Unit(StrEnum):
    """What of a person is protected by the price of one release."""

    USER = "user"
    USER_DAY = "user_day"
    USER_WEEK = "user_week"

    @property
    def stretch(self) -> str | None:
        """The stretch of time that it is about; None: the release's period, whatever its length."""
        return {Unit.USER_DAY: "day", Unit.USER_WEEK: "week"}.get(self)

    @property
    def level(self) -> str:
        """Its name, as it is spoken: user, user-day, user-week."""
        return self.value.replace("_", "-")

    @property
    def whom(self) -> str:
        """What is added or removed."""
        return f"one person's pings of one {self.stretch}" if self.stretch else "one person with their whole history"

    @property
    def adjacency(self) -> str:
        """What two neighbouring data sets differ by."""
        within = f" within one calendar {self.stretch}" if self.stretch else ""
        return f"two data sets that differ by all the pings of one user{within}, added or removed"

    @property
    def over_time(self) -> str:
        """What that does and does not promise where there are several releases."""
        if self.stretch is None:
            return (
                "A release's price protects all that a user did in its period. Over several releases, of whatever "
                "periods, prices add up, and the sum, which the ledger keeps, protects all that a user did in all of "
                "them."
            )
        return (
            f"A release's price protects what a user did in one {self.stretch}, in which its period lies. Releases "
            f"over other {self.stretch}s have seen nothing of it; those over the same {self.stretch} add up. It does "
            f"not protect a user over several {self.stretch}s, nor what they show together: where somebody lives, that "
            "somebody is there at all. Those are protected by the sum of all releases only, which the ledger keeps and "
            "limits as for any other unit."
        )


@dataclass(frozen=True)
class Promise:
    """What is promised to people: a unit, and an epsilon, pure or at a delta."""

    epsilon: Fraction
    delta: Fraction | None = None
    unit: Unit = Unit.USER

    @classmethod
    def read(cls, epsilon: Fraction, statement: Mapping[str, Any]) -> Promise:
        """Return the promise of a release by its epsilon and its statement; older ones name no delta."""
        exact = statement.get("exact", {})
        delta = exact.get("delta")
        return cls(epsilon, None if delta is None else Fraction(delta), _read_unit(exact))

    @property
    def beyond(self) -> str:
        """What follows the factor: that a probability of delta is beyond it. Nothing where the epsilon is pure."""
        return "" if self.delta is None else f", and by delta = {format_delta(self.delta)} beyond that"

    @property
    def parameters(self) -> str:
        """The epsilon as it is told, and the delta where there is one."""
        return format_epsilon(self.epsilon, self.delta)

    @property
    def figure(self) -> str:
        """The epsilon as a figure: exact where it is pure; else it was rounded up, and is a decimal."""
        return str(self.epsilon) if self.delta is None else f"{float(self.epsilon):g}"

    def sentence(self) -> str:
        return (
            f"Adding or removing {self.unit.whom} changes the probability of any possible release by at most a factor "
            f"of e^epsilon, with epsilon = {self.figure}{self.beyond}."
        )


def _read_unit(exact: Mapping[str, Any]) -> Unit:
    said = exact.get("privacy_unit", Unit.USER)
    try:
        return Unit(said)
    except ValueError:
        raise DamagedTable(
            f"the statement of a release says privacy_unit {said!r}, and this software knows "
            f"{', '.join(unit.value for unit in Unit)}: it was changed, or a newer version wrote it"
        ) from None
