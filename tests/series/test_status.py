"""Where a series stands, by a ledger and a register that are made by hand; and whose turn it is then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.plan.test_limits import reserve
from tests.series.configurations import weekly_series
from vdr_spark.config import ReleaseConfig
from vdr_spark.config.windowed import another_window
from vdr_spark.errors import BudgetExceeded, InvalidConfig, LedgerConflict
from vdr_spark.plan import make_plan
from vdr_spark.privacy.entries import Entry
from vdr_spark.release.record import ReleaseRecord
from vdr_spark.release.withdrawals import Withdrawal
from vdr_spark.series.status import SeriesStatus, Stand, look
from vdr_spark.series.turn import (
    choose_named,
    choose_next,
    choose_until,
    read_until,
    require_budget,
    require_correction,
    require_same_settings,
)

NOW = datetime(2020, 2, 5, tzinfo=UTC)  # W02 to W05 are due, W06 is open

AT_DELTA = {"exact": {"delta": "1/1000000000"}}


def series(folder: Path, **changes: Any) -> ReleaseConfig:
    return ReleaseConfig(**weekly_series(folder, **{"window": "2020-W02"} | changes))


def book(config: ReleaseConfig, *names: str) -> list[Entry]:
    entries: list[Entry] = []
    for name in names:
        entries = reserve(entries, make_plan(another_window(config, name)))
    return entries


def publish(config: ReleaseConfig, name: str, withdrawn: bool = False, correction: str | None = None) -> ReleaseRecord:
    plan = make_plan(another_window(config, name, correction))
    release_id = plan.release_id(plan.regions[0])
    gone = Withdrawal(release_id, NOW, "wrong", "0") if withdrawn else None
    epsilon = plan.config.privacy.told_epsilon
    grid = plan.grids[0]
    return ReleaseRecord(release_id, None, config.dataset, grid, epsilon, 20, "temporal", True, NOW, {}, gone)


def stands(status: SeriesStatus) -> list[str]:
    return [one.stand.value for one in status.windows]


def test_windows_are_told_apart(tmp_path: Path) -> None:
    config = series(tmp_path)
    status = look(config, [], [], NOW)
    assert stands(status) == ["due", "due", "due", "due", "open"]
    assert status.lasting.for_ever
    entries = book(config, "2020-W02", "2020-W03", "2020-W05")
    records = [publish(config, "2020-W02"), publish(config, "2020-W03", withdrawn=True)]
    status = look(config, entries, records, NOW)
    assert stands(status) == ["published", "withdrawn", "missing", "unfinished", "open"]
    assert status.spent == status.account.committed == sum(w.spent for w in status.windows)
    assert [one.window.name for one in status.unpublished] == ["2020-W04", "2020-W05"]


def test_what_is_skipped_is_not_due(tmp_path: Path) -> None:
    settings = weekly_series(tmp_path)["series"] | {"skip": ["2020-W03"]}
    status = look(series(tmp_path, series=settings), [], [], NOW)
    assert stands(status)[:2] == ["due", "skipped"]
    with pytest.raises(InvalidConfig, match=r"series\.skip names"):
        choose_named(status, "2020-W03")


def test_windows_come_in_order(tmp_path: Path) -> None:
    config = series(tmp_path)
    status = look(config, [], [], NOW)
    assert [one.window.name for one in choose_next(status)] == ["2020-W02"]
    assert [one.window.name for one in choose_named(status, "2020-W02")] == ["2020-W02"]
    with pytest.raises(InvalidConfig, match=r"2020-W02, 2020-W03 are not published\..*--until 2020-01-29T00:00"):
        choose_named(status, "2020-W04")
    done = look(config, book(config, "2020-W02"), [publish(config, "2020-W02")], NOW)
    assert [one.window.name for one in choose_next(done)] == ["2020-W03"]
    assert [one.window.name for one in choose_named(done, "2020-W02")] == ["2020-W02"]  # complete already, says the run


def test_an_open_window_is_refused_until_late_pings_have_come(tmp_path: Path) -> None:
    config = series(tmp_path)
    end = datetime(2020, 1, 13, tzinfo=UTC)
    with pytest.raises(InvalidConfig, match=r"2020-W02 ends on 2020-01-13T00:00, .* until 2020-01-15T00:00"):
        choose_named(look(config, [], [], end + timedelta(days=1)), "2020-W02")
    assert choose_named(look(config, [], [], end + timedelta(days=2)), "2020-W02")
    with pytest.raises(InvalidConfig, match="2031-W02 ends on"):
        choose_named(look(config, [], [], NOW), "2031-W02")


def test_until_a_day_and_never_beyond_now(tmp_path: Path) -> None:
    status = look(series(tmp_path), [], [], NOW)
    until = read_until("2020-01-22", "UTC", NOW)
    assert [one.window.name for one in choose_until(status, until)] == ["2020-W02", "2020-W03"]
    assert len(choose_until(status, read_until("today", "UTC", NOW))) == 4
    with pytest.raises(InvalidConfig, match="must not lie in the future"):
        choose_until(status, NOW + timedelta(days=1))
    with pytest.raises(InvalidConfig, match="takes today, or a day"):
        read_until("soon", "UTC", NOW)


def test_a_budget_that_ends_within_the_range_is_told_before_the_first_window(tmp_path: Path) -> None:
    privacy = weekly_series(tmp_path)["privacy"] | {"budget": 5}
    config = series(tmp_path, privacy=privacy)
    status = look(config, [], [], NOW)  # 2, 1.8, 1.62, 1.458
    with pytest.raises(BudgetExceeded, match=r"epsilon 3439/500, remaining 5, short by 939/500; .* until 2020-W03"):
        require_budget(status, status.unpublished, [])
    require_budget(status, status.unpublished[:2], [])
    assert (status.lasting.windows, str(status.lasting)) == (2, "pays for 2 further windows, until 2020-W03")


def test_a_window_that_is_paid_for_already_is_not_asked_for_again(tmp_path: Path) -> None:
    privacy = weekly_series(tmp_path)["privacy"] | {"budget": 2}
    config = series(tmp_path, privacy=privacy)
    entries = book(config, "2020-W02")
    status = look(config, entries, [], NOW)
    require_budget(status, choose_next(status), entries)
    assert str(status.lasting) == "pays for no further window"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"grid": {"cells_per_side": 9}}, r"grid\.cells_per_side was 8 and is 9"),
        ({"period": {"slice": "3h"}}, r"period\.slice was 21600 s and is 10800 s"),
        ({"privacy": {"k": 21, "total_pings": 2000}}, "the bound of a user was 20 and is 21"),
        ({"region": {"center": [29.7604, -95.3698], "side_m": 21000}}, "the box was"),
    ],
)
def test_settings_do_not_change_in_mid_series(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    config = series(tmp_path)
    entries, records = book(config, "2020-W02"), [publish(config, "2020-W02")]
    require_same_settings(look(config, entries, records, NOW), records)
    changed = look(series(tmp_path, **changes), entries, records, NOW)
    with pytest.raises(LedgerConflict, match=words):
        require_same_settings(changed, records)


@pytest.mark.parametrize("change", [{"window": "1d"}, {"window": "2w", "first": "2020-01-20"}, {"first": "2020-01-13"}])
def test_windows_of_another_length_or_first_day_would_overlap_those_that_were_drawn(
    tmp_path: Path, change: dict[str, str]
) -> None:
    entries = book(series(tmp_path), "2020-W02")
    changed = weekly_series(tmp_path)["series"] | change
    first = "2020-01-20" if change.get("window") == "1d" else "2020-W04"
    status = look(series(tmp_path, series=changed, window=first), entries, [], NOW)
    with pytest.raises(LedgerConflict, match=r"must stay what they were, or windows would overlap: city-2020-w02-"):
        require_same_settings(status)


def test_another_series_whose_name_begins_alike_is_no_stray(tmp_path: Path) -> None:
    entries = book(series(tmp_path, name="city-north"), "2020-W02")
    assert look(series(tmp_path), entries, [], NOW).strays == ()


def test_a_ledger_that_knows_nothing_of_what_is_published_is_refused(tmp_path: Path) -> None:
    config = series(tmp_path)
    records = [publish(config, "2020-W02")]
    require_same_settings(look(config, book(config, "2020-W02"), records, NOW), records)
    with pytest.raises(LedgerConflict, match="of city 2020-W02 is published in this output, and the ledger has booked"):
        require_same_settings(look(config, [], records, NOW), records)


def test_what_differs_is_named_and_nothing_else(tmp_path: Path) -> None:
    schedule = {"window": "1w", "first": "2020-01-06", "schedule": {"kind": "yearly", "rho": "1"}}
    privacy = {"k": 20, "total_pings": 2000, "delta": "1e-9"}
    config = series(tmp_path, series=schedule, privacy=privacy)
    entries, told = book(config, "2020-W02"), replace(publish(config, "2020-W02"), statement=AT_DELTA)
    changed = series(
        tmp_path, series=schedule, privacy=privacy, period={"slice": "6h", "timezone": "Etc/GMT+6"}, name="city"
    )
    with pytest.raises(LedgerConflict) as problem:
        require_same_settings(look(changed, entries, [told], NOW), [told])
    assert "the window's start was 2020-01-06T00:00:00+00:00 and is 2020-01-06T06:00:00+00:00" in str(problem.value)
    assert "epsilon" not in str(problem.value)


def test_a_window_that_was_begun_can_be_skipped_and_one_that_is_published_cannot(tmp_path: Path) -> None:
    settings = weekly_series(tmp_path)["series"] | {"skip": ["2020-W03"]}
    config = series(tmp_path)
    entries, records = book(config, "2020-W02", "2020-W03"), [publish(config, "2020-W02")]
    skipping = look(series(tmp_path, series=settings), entries, records, NOW)
    require_same_settings(skipping, records)
    assert (stands(skipping)[1], skipping.windows[1].spent) == ("skipped", Fraction(9, 5))
    assert [one.window.name for one in choose_next(skipping)] == ["2020-W04"]
    seen = [*records, publish(config, "2020-W03")]
    with pytest.raises(InvalidConfig, match="must not name windows that are published, and 2020-W03 is"):
        require_same_settings(look(series(tmp_path, series=settings), entries, seen, NOW), seen)


def test_a_correction_is_compared_with_the_budget_before_it_begins(tmp_path: Path) -> None:
    settings = weekly_series(tmp_path)["series"] | {"correction_share": "1/4"}
    privacy = weekly_series(tmp_path)["privacy"] | {"budget": "8/5"}
    config = series(tmp_path, series=settings, privacy=privacy)
    entries = book(config, "2020-W02")
    status = look(config, entries, [publish(config, "2020-W02")], NOW)
    with pytest.raises(BudgetExceeded, match="a correction of window 2020-W02: it costs epsilon 1/2, remaining 1/10"):
        require_budget(status, status.windows[:1], entries, "late")
    with pytest.raises(InvalidConfig, match=r"--correct must say why, .* \(received ' '\)"):
        require_correction(status, status.windows[0], " ")


@pytest.mark.parametrize("text", ["2020-W05", "20200203", "2020W05", ""])
def test_a_week_is_not_taken_for_its_monday(text: str) -> None:
    with pytest.raises(InvalidConfig, match="--until takes today, or a day"):
        read_until(text, "UTC", NOW)


def test_another_denoiser_is_no_other_series(tmp_path: Path) -> None:
    config = series(tmp_path)
    entries = book(config, "2020-W02")
    require_same_settings(look(series(tmp_path, denoise={"model": "ridge"}), entries, [], NOW))


def test_corrections(tmp_path: Path) -> None:
    settings = weekly_series(tmp_path)["series"] | {"correction_share": "1/4"}
    config = series(tmp_path, series=settings)
    entries: Sequence[Entry] = book(config, "2020-W02")
    status = look(config, entries, [], NOW)
    with pytest.raises(InvalidConfig, match="2020-W02 is unfinished; release it"):
        require_correction(status, status.windows[0], "late")
    records = [publish(config, "2020-W02")]
    require_correction(look(config, entries, records, NOW), look(config, entries, records, NOW).windows[0], "late")
    entries = reserve(entries, make_plan(another_window(config, "2020-W02", "late")))
    records.append(publish(config, "2020-W02", correction="late"))
    status = look(config, entries, records, NOW)
    assert (status.windows[0].stand, status.windows[0].correction) == (Stand.PUBLISHED, Stand.PUBLISHED)
    assert status.windows[0].spent == Fraction(2)
    with pytest.raises(InvalidConfig, match="was corrected already"):
        require_correction(status, status.windows[0], "late")


def test_as_json(tmp_path: Path) -> None:
    config = series(tmp_path)
    found = look(config, book(config, "2020-W02"), [publish(config, "2020-W02")], NOW).as_dict()
    assert (found["spent"], found["remaining"], found["lasts_for_ever"]) == ("2", "18", True)
    assert found["windows"][0]["state"] == "published"
    assert "however many there will ever be" in found["meaning"]


def test_one_release_is_no_series(tmp_path: Path) -> None:
    alone = series(tmp_path).model_dump() | {"series": None, "window": None}
    with pytest.raises(InvalidConfig, match="has no section `series`"):
        look(ReleaseConfig(**alone), [], [], NOW)
