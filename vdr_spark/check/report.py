"""What a check found, for terminals, programs and notebooks: exact figures, and the words that they are not private."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from vdr_spark.check.hints import Hint, choose_k
from vdr_spark.check.measure import Measured
from vdr_spark.check.wording import describe_difference, percent, round_total
from vdr_spark.plan import Plan

NOT_PRIVATE = (
    "NOT PRIVATE. These figures are exact: they come from the pings themselves, without any noise. They are shown here "
    "and kept nowhere. Do not publish, log or store them. A setting that is chosen by them is taken from the pings, "
    "and no epsilon pays for it: where you can, set k and N by what is public."
)
_PERCENTILES = {"median": 0.5, "80th percentile": 0.8, "99th percentile": 0.99}
_OTHER_K = (0.5, 2)  # of k, to show what another one would keep


@dataclass(frozen=True)
class CheckReport:
    """The exact figures of the pings beside what a configuration says of them. NOT private."""

    plan: Plan
    measured: Measured
    hints: tuple[Hint, ...]

    @property
    def fine(self) -> bool:
        """Whether nothing looks wrong."""
        return not any(hint.wrong for hint in self.hints)

    @property
    def verdict(self) -> str:
        return "Nothing looks wrong." if self.fine else "Something looks wrong."

    @property
    def k(self) -> int | None:
        return choose_k(self.plan, self.measured)

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for programs, the words that they are not private among them."""
        it, users = self.measured, self.measured.per_user
        return {
            "private": False,
            "warning": NOT_PRIVATE,
            "fine": self.fine,
            "rows": it.rows,
            "in_box": it.in_box,
            "in_period": it.in_period,
            "in_box_and_period": it.pings,
            "in_box_and_period_by_region": it.by_region,
            "columns": {ours: asdict(column) for ours, column in it.columns.items()},
            "in_box_if": it.otherwise,
            "times_us": asdict(it.times) if it.times else None,
            "users": users.total_users,
            "pings_per_user": {name: users.percentile(share) for name, share in _PERCENTILES.items()}
            | {"max": users.most},
            "k": self.k,
            "kept": None if self.k is None else users.kept(self.k),
            "total_pings": {"measured": it.pings, "rounded": round_total(it.pings), "declared": self.declared},
            "hints": [asdict(hint) for hint in self.hints],
        }

    @property
    def declared(self) -> int | None:
        """N as the configuration declares it; None where it is estimated."""
        return self.plan.declared_total

    def __str__(self) -> str:
        return "\n".join([NOT_PRIVATE, "", *self.lines()])

    def lines(self) -> Iterator[str]:
        """Return the figures and hints, line by line, without the words that stand above them."""
        yield from _section(f"Rows of {self.plan.config.input.location}", self._describe_rows())
        yield from _section("Users inside box and period", self._describe_users())
        yield from _section("N, the pings inside box and period (privacy.total_pings)", self._describe_total())
        for title, wrong in (("Looks wrong", True), ("Worth knowing", False)):
            if found := [hint.sentence for hint in self.hints if hint.wrong is wrong]:
                yield from (title, *(f"  {'!' if wrong else '-'} {sentence}" for sentence in found), "")
        yield self.verdict

    def _describe_rows(self) -> Iterator[tuple[str, str]]:
        it = self.measured
        yield "read", f"{it.rows:,}"
        yield "inside the box", self._share(it.in_box)
        yield "inside the period", self._share(it.in_period)
        yield "inside both", self._share(it.pings)
        for name, pings in it.by_region.items():
            yield f"  region {name}", self._share(pings)
        for ours, column in it.columns.items():
            yield ours, f"{self._percent(column.null)} null, {self._percent(column.unreadable)} unreadable"

    def _describe_users(self) -> Iterator[tuple[str, str]]:
        users, k = self.measured.per_user, self.k
        yield "number", f"{users.total_users:,}"
        if not users.total_users:
            return
        figures = ", ".join(f"{name} {users.percentile(share):,}" for name, share in _PERCENTILES.items())
        yield "pings of a user", f"{figures}, most {users.most:,}"
        if k is None:
            yield "kept", "depends on how they are spread: bounding is by the L2 norm"
            return
        yield f"k = {k:,} keeps", f"n = {users.kept(k):,} of {self.measured.pings:,} pings ({self._kept(k)})"
        others = sorted({max(1, round(k * factor)) for factor in _OTHER_K} - {k})
        yield "another k", ", ".join(f"{other:,} would keep {self._kept(other)}" for other in others)

    def _describe_total(self) -> Iterator[tuple[str, str]]:
        pings, declared = self.measured.pings, self.declared
        yield "measured", f"{pings:,}; to two digits {round_total(pings):,}"
        if declared is None:
            yield "declared", "not: it is estimated, for a share of epsilon"
        elif pings:
            yield "declared", f"{declared:,}, {describe_difference(declared, pings)} measured"
        else:
            yield "declared", f"{declared:,}"

    def _share(self, rows: int) -> str:
        return f"{rows:,} ({self._percent(rows)})"

    def _percent(self, rows: int) -> str:
        return percent(rows / self.measured.rows) if self.measured.rows else "none"

    def _kept(self, k: int) -> str:
        return percent(self.measured.per_user.kept(k) / self.measured.pings)

    def _repr_html_(self) -> str:
        body = html.escape("\n".join(self.lines()))
        alarm = "background:#c1121f;color:#fff;font-weight:700;padding:.7rem 1rem"
        return f'<div style="{alarm}">{html.escape(NOT_PRIVATE)}</div><pre>{body}</pre>'


def _section(title: str, facts: Iterator[tuple[str, str]]) -> Iterator[str]:
    return iter((title, *(f"  {name:<20}{value}" for name, value in facts), ""))
