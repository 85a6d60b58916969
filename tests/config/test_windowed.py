"""A window of a series is an ordinary release: what follows from the series is filled in, and said nowhere else."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.series.configurations import weekly_series
from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.config.windowed import name_first_window
from vdr_spark.errors import InvalidConfig
from vdr_spark.plan import make_plan
from vdr_spark.price import Price


def settle(folder: Path, **changes: Any) -> ReleaseConfig:
    return ReleaseConfig(**weekly_series(folder, **{"window": "2020-W05"} | changes))


def with_series(**changes: Any) -> dict[str, Any]:
    series: dict[str, Any] = weekly_series(Path())["series"]
    return series | changes


def test_name_period_and_price_follow_from_the_window(tmp_path: Path) -> None:
    config = settle(tmp_path)
    assert config.name == "city-2020-w05"
    assert (config.period.start, config.period.end) == (datetime(2020, 1, 27), datetime(2020, 2, 3))
    assert config.privacy.price == Price.epsilon(Fraction(20) / 10 * Fraction(9, 10) ** 3)
    assert config.privacy.opening_price == Price.epsilon(20)
    assert ReleaseConfig(**config.model_dump()) == config  # filled in once


def test_days_may_be_what_yaml_takes_for_dates(tmp_path: Path) -> None:
    series = with_series(window="1d", skip=[date(2020, 1, 8)])
    assert settle(tmp_path, series=series, window=date(2020, 1, 7)).window == "2020-01-07"
    with pytest.raises(InvalidConfig, match=r"series\.skip names, and 2020-01-08"):
        settle(tmp_path, series=series, window=date(2020, 1, 8))


def test_a_file_of_a_series_asks_for_a_window(tmp_path: Path) -> None:
    import yaml

    file = tmp_path / "series.yaml"
    file.write_text(yaml.safe_dump(weekly_series(tmp_path)))
    with pytest.raises(InvalidConfig, match="window is missing"):
        load_config(file)
    assert load_config(file, ["window=2020-W03"]).window == "2020-W03"


def test_what_is_said_of_all_windows_is_said_of_the_first_that_is_not_skipped(tmp_path: Path) -> None:
    series = with_series(skip=["2020-W03", "2020-W02"])
    assert name_first_window(weekly_series(tmp_path, series=series)) == "2020-W04"
    with pytest.raises(InvalidConfig, match="such as --window 2020-W04; other commands take --set window=2020-W04"):
        settle(tmp_path, series=series, window=None)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"series": with_series(skip=["2020-W01"])}, r"series\.skip must list names of windows: .* before the first"),
        ({"window": "2020-W01"}, "before the first of the series, 2020-W02"),
        ({"period": {"slice": "6h", "start": "2020-01-06"}}, r"period\.start follows from `series`"),
        ({"privacy": {"k": 20, "total_pings": 2000, "epsilon": 1}}, r"privacy\.epsilon follows from `series`"),
        ({"period": {"slice": "6h", "timezone": "America/Chicago"}}, "slices of 1h fit; or name a zone .* Etc/GMT.6"),
        ({"period": {"slice": "5h"}}, "every window must be a whole number of slices"),
        ({"correction": "late pings"}, "correction_share is not set"),
        ({"series": with_series(window="90min")}, "whole days or weeks"),
        ({"series": with_series(first="2020-01-07")}, "must be a Monday where windows are weeks.* is a Tuesday"),
        ({"series": with_series(first="2020-01-06T01:00")}, "must be a day"),
        ({"series": with_series(window="4w", schedule={"kind": "weekly", "epsilon": 1})}, "windows of 1d or 1w"),
        ({"series": with_series(schedule={"kind": "geometric", "epsilon": 1})}, "`ratio` goes with"),
        ({"series": with_series(schedule={"kind": "geometric", "epsilon": 1, "ratio": 1})}, "must be below 1"),
        ({"series": with_series(schedule={"kind": "yearly", "epsilon": 1, "rho": 1})}, "either as `epsilon`"),
        ({"series": with_series(correction_share=1)}, "must be below 1"),
    ],
)
def test_what_cannot_be_is_told(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidConfig, match=words):
        settle(tmp_path, **changes)


def test_a_filled_in_price_cannot_be_changed(tmp_path: Path) -> None:
    settled = settle(tmp_path).model_dump()
    with pytest.raises(InvalidConfig, match=r"the price must be what series\.schedule says of window 2020-W05"):
        ReleaseConfig(**settled | {"privacy": settled["privacy"] | {"epsilon": 3}})


def test_a_window_without_its_series_is_none(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="`window` and `correction` are of a series"):
        ReleaseConfig(**settle(tmp_path).model_dump() | {"series": None})


def test_a_weekly_cap_states_its_unit(tmp_path: Path) -> None:
    config = settle(tmp_path, series=with_series(schedule={"kind": "weekly", "epsilon": 1}))
    assert config.privacy.unit == "user_week"
    assert config.privacy.opening_price == Price.epsilon(53)


def test_a_correction_is_another_draw_at_the_price_that_was_kept_back(tmp_path: Path) -> None:
    series = with_series(correction_share="1/4")
    window, correction = settle(tmp_path, series=series), settle(tmp_path, series=series, correction="late pings")
    whole = Fraction(20) / 10 * Fraction(9, 10) ** 3
    assert (window.privacy.epsilon, correction.privacy.epsilon) == (whole * 3 / 4, whole / 4)
    assert correction.name == "city-2020-w05-c"
    assert make_plan(correction).cells_draw.draw_id != make_plan(window).cells_draw.draw_id
