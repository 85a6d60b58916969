"""What the register says of a release: what it is of, what was promised, and whether it was withdrawn; no cells."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from vdr_spark.epsilon import format_delta
from vdr_spark.grid import Grid
from vdr_spark.promise import Promise
from vdr_spark.release.read import read_grid
from vdr_spark.release.release import zone_of
from vdr_spark.release.withdrawals import Withdrawal


@dataclass(frozen=True)
class ReleaseRecord:
    """A row of `releases`, as far as people ask for it."""

    release_id: str
    region: str | None  # name of its box, where its draw has several
    dataset: str
    grid: Grid
    epsilon: Fraction  # exact where it is pure; else what rho is at delta, rounded up
    k: int
    model: str
    protected: bool  # false: made with a test seed, protects nobody
    created: datetime  # UTC
    statement: dict[str, Any]
    withdrawal: Withdrawal | None = None  # None: it may be used

    @classmethod
    def from_row(cls, row: Mapping[str, Any], withdrawal: Withdrawal | None) -> ReleaseRecord:
        plain = {name: row[name] for name in ("release_id", "dataset", "k", "model", "protected", "created")}
        exact = {"epsilon": Fraction(row["epsilon"]), "statement": json.loads(row["statement"])}
        return cls(region=row["region"] or None, grid=read_grid(row), withdrawal=withdrawal, **plain, **exact)

    @property
    def zone(self) -> ZoneInfo:
        """The time zone in which its period was written."""
        return zone_of(self.statement)

    @property
    def period(self) -> str:
        """Its period in that zone, in days where it consists of days."""
        start, end = (moment.astimezone(self.zone) for moment in (self.grid.start, self.grid.end))
        days = all((moment.hour, moment.minute) == (0, 0) for moment in (start, end))
        form = "%Y-%m-%d" if days else "%Y-%m-%d %H:%M"
        return f"{start:{form}} to {end:{form}}"

    @property
    def promise(self) -> Promise:
        """What is promised, to whom."""
        return Promise.read(self.epsilon, self.statement)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it, without the statement; epsilon exact, as text."""
        grid, delta = self.grid, self.promise.delta
        return {
            "release_id": self.release_id,
            "region": self.region,
            "dataset": self.dataset,
            "period": [grid.start.isoformat(), grid.end.isoformat()],
            "slices": grid.slices,
            "slice_seconds": grid.slice_seconds,
            "cells_per_side": grid.cells_per_side,
            "box": vars(grid.box),
            "epsilon": self.promise.figure,
            "delta": None if delta is None else format_delta(delta),
            "k": self.k,
            "model": self.model,
            "protected": self.protected,
            "created": self.created.isoformat(),
            "withdrawn": self.withdrawal and self.withdrawal.as_dict(),
        }
