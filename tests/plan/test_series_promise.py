"""What a window says of its series: for people, and exact for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.series.configurations import weekly_series
from vdr_spark.config import ReleaseConfig
from vdr_spark.plan import make_plan
from vdr_spark.plan.series_promise import describe_series, exact_series, opened_lasts


def config_of(folder: Path, series: dict[str, Any] | None = None, **changes: Any) -> ReleaseConfig:
    settings = weekly_series(folder)["series"] | (series or {})
    return ReleaseConfig(**weekly_series(folder, window="2020-W03", series=settings, **changes))


def test_which_window_what_all_cost_and_what_is_left_out(tmp_path: Path) -> None:
    window, meaning, caution, late = describe_series(config_of(tmp_path))
    assert window.startswith("Window 2020-W03, number 2 of series city: windows of 7 days")
    assert "It costs epsilon 9/5" in window
    assert "at most epsilon 20" in meaning
    assert caution.startswith("As the sum over all time, epsilon 20 is a weak promise")
    assert late.endswith("is left out for ever.")


def test_of_a_correction(tmp_path: Path) -> None:
    series = {"correction_share": "1/4"}
    assert "unless one correction is paid for" in describe_series(config_of(tmp_path, series))[-1]
    correction = config_of(tmp_path, series, correction="one vendor's phones")
    told = " ".join(describe_series(correction))
    assert told.startswith("A correction of window 2020-W03")
    assert "(one vendor's phones)" in told
    exact = exact_series(correction)
    assert exact is not None
    assert exact["supersedes"] == make_plan(config_of(tmp_path, series)).cells_draw.draw_id


def test_exact(tmp_path: Path) -> None:
    rho = {"schedule": {"kind": "yearly", "rho": "1/10"}}
    privacy = {"k": 20, "total_pings": 2000, "delta": "1e-9"}
    exact = exact_series(config_of(tmp_path, rho, privacy=privacy))
    assert exact is not None
    assert (exact["name"], exact["window"], exact["number"]) == ("city", "2020-W03", 2)
    assert (exact["schedule"], exact["rho_cap"], exact["cap_of"]) == ("yearly", "1/10", "one year")
    assert exact["supersedes"] is None
    assert "at delta 1e-9" in exact["meaning"]


def test_until_when_the_opening_budget_lasts(tmp_path: Path) -> None:
    privacy = {"k": 20, "total_pings": 2000, "budget": 5}
    assert str(opened_lasts(config_of(tmp_path, privacy=privacy))) == "pays for 2 further windows, until 2020-W03"
    # Windows of pure epsilon out of a budget in rho: 2**2 / 2, 1.8**2 / 2, ...
    in_rho = {"k": 20, "total_pings": 2000, "budget": {"rho": 4, "delta": "1e-9"}}
    assert str(opened_lasts(config_of(tmp_path, privacy=in_rho))) == "pays for 2 further windows, until 2020-W03"
