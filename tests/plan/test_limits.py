"""The ledger holds the windows of a series to their schedule, under whatever settings they come."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.series.configurations import weekly_series
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import OtherCurrency
from vdr_spark.plan import Plan, make_plan
from vdr_spark.privacy.decisions import decide_opening, decide_reservation, describe_refusal
from vdr_spark.privacy.entries import Entry, State


def plan_of(folder: Path, window: str, schedule: dict[str, Any], **changes: Any) -> Plan:
    series = {"window": "1d", "first": "2020-01-06", "schedule": schedule} | changes.pop("series", {})
    return make_plan(ReleaseConfig(**weekly_series(folder, window=window, series=series, **changes)))


def reserve(entries: Sequence[Entry], plan: Plan) -> list[Entry]:
    """Return a ledger with what a plan's reservation adds to it."""
    request, found = plan.budget_request, list(entries)
    decisions = [decide_opening(request), *(decide_reservation(request, draw) for draw in request.draws)]
    for decide in decisions:
        posting = decide(found)
        if posting is not None:
            found.append(posting.enter(len(found) + 1, request.dataset, datetime.now(UTC), ""))
    return found


YEARLY = {"kind": "yearly", "epsilon": 366}


def test_a_window_is_not_paid_for_twice_under_other_settings(tmp_path: Path) -> None:
    before = reserve([], plan_of(tmp_path, "2020-01-06", YEARLY))
    again = plan_of(tmp_path, "2020-01-06", YEARLY, grid={"cells_per_side": 9})
    entries = reserve(before, again)
    assert [entry.state for entry in entries] == [State.GRANTED, State.RESERVED, State.REFUSED]
    words = describe_refusal(again.budget_request, entries)
    assert "window 2020-01-06 of series city may cost epsilon 1 together" in words
    assert "requested 1, already reserved or spent 1, remaining 0, short by 1" in words


def test_a_correction_costs_what_was_kept_back_and_there_is_one(tmp_path: Path) -> None:
    settings = {"series": {"correction_share": "1/4"}}
    window = plan_of(tmp_path, "2020-01-06", YEARLY, **settings)
    first = plan_of(tmp_path, "2020-01-06", YEARLY, correction="late", **settings)
    other = plan_of(tmp_path, "2020-01-06", YEARLY, correction="late", grid={"cells_per_side": 9}, **settings)
    entries = reserve(reserve(reserve([], window), first), other)
    assert [entry.state for entry in entries[1:]] == [State.RESERVED, State.RESERVED, State.REFUSED]
    assert sum(entry.price.amount for entry in entries[1:3]) == 1


def test_a_cap_holds_though_the_schedule_was_changed_in_mid_week(tmp_path: Path) -> None:
    weekly = {"kind": "weekly", "epsilon": 7}
    entries = reserve([], plan_of(tmp_path, "2020-01-06", {"kind": "weekly", "epsilon": 49}))  # 7 for its first day
    entries = reserve(entries, plan_of(tmp_path, "2020-01-07", weekly))
    assert entries[-1].state is State.REFUSED
    assert reserve(entries, plan_of(tmp_path, "2020-01-13", weekly))[-1].state is State.RESERVED


def test_an_estimate_of_n_counts_towards_its_window(tmp_path: Path) -> None:
    privacy = {"k": 20, "estimate_total": {"share": "1/10", "max_per_user": 5}}
    plan = plan_of(tmp_path, "2020-01-06", YEARLY, privacy=privacy)
    entries = reserve([], plan)
    assert sum(entry.price.amount for entry in entries[1:]) == Fraction(1)
    assert all(plan.budget_request.limits[0].covers(draw.draw_id) for draw in plan.draws)
    assert reserve(entries, plan) == entries  # booked already


def test_a_series_keeps_its_currency(tmp_path: Path) -> None:
    rho = {"k": 20, "total_pings": 2000, "delta": "1e-9"}
    entries = reserve([], plan_of(tmp_path, "2020-01-06", {"kind": "yearly", "rho": 1}, privacy=rho))
    with pytest.raises(OtherCurrency):
        reserve(entries, plan_of(tmp_path, "2020-01-07", YEARLY, privacy={"k": 20, "total_pings": 2000}))
