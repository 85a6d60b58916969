"""Every mistake that a check knows is named in a sentence, and pings that fit get none."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.check.made import READINGS, fitting, plan_of
from vdr_spark.check.hints import Hint, choose_k, find_hints
from vdr_spark.check.measure import ColumnFigures, PingsPerUser, TimeRange
from vdr_spark.config import ReleaseConfig

Small = Callable[..., ReleaseConfig]
HOUR_US = 3_600_000_000


def hints_of(config: ReleaseConfig, **changes: object) -> dict[str, Hint]:
    plan = plan_of(config)
    return {hint.name: hint for hint in find_hints(plan, fitting(plan, **changes))}


def test_pings_that_fit_get_no_hint(small_config: Small) -> None:
    assert hints_of(small_config()) == {}


def test_no_rows(small_config: Small) -> None:
    (hint,) = hints_of(small_config(), rows=0).values()
    assert "There is no row in path" in hint.sentence


@pytest.mark.parametrize(
    ("reading", "words"),
    [
        ("swapped", "latitude and longitude were swapped"),
        ("longitude_mirrored", "longitudes had the other sign"),
        ("latitude_mirrored", "latitudes had the other sign"),
        ("millionths", "divided by a million"),
    ],
)
def test_degrees_that_mean_something_else(small_config: Small, reading: str, words: str) -> None:
    otherwise = dict.fromkeys(READINGS, 0) | {reading: 7900}
    hints = hints_of(small_config(), in_box=12, pings=10, otherwise=otherwise)
    assert words in hints[reading].sentence
    assert "12 of 10,000 rows lie in the box, and 7,900 would" in hints[reading].sentence
    assert hints[reading].wrong


def test_a_handful_that_would_lie_in_the_box_is_no_sign(small_config: Small) -> None:
    """Of a whole country some pings lie anywhere."""
    hints = hints_of(small_config(), in_box=0, pings=0, otherwise=dict.fromkeys(READINGS, 3))
    assert set(hints) == {"empty_box"}


def test_a_box_with_nearly_no_pings(small_config: Small) -> None:
    assert hints_of(small_config(), in_box=5, pings=4)["empty_box"].wrong
    few = hints_of(small_config(), in_box=50, pings=40)["few_in_box"]
    assert not few.wrong
    assert "0.5 % of the rows" in few.sentence


@pytest.mark.parametrize(
    ("kind", "words"),
    [("string", "it is text, read as 2020-01-07T06:00:00"), ("timestamp", "outside the years 1 to 9999")],
)
def test_times_that_cannot_be_read(small_config: Small, kind: str, words: str) -> None:
    columns = fitting(plan_of(small_config())).columns | {"ts": ColumnFigures("seen_at", kind, 0, 9000)}
    hints = hints_of(small_config(), columns=columns, in_period=0, pings=0, times=None)
    assert words in hints["unreadable_ts"].sentence
    assert f"90.0 % of the rows have a `seen_at` ({kind}, our `ts`)" in hints["unreadable_ts"].sentence


def test_degrees_that_cannot_be_read_and_columns_that_are_empty(small_config: Small) -> None:
    columns = fitting(plan_of(small_config())).columns | {
        "lat": ColumnFigures("lat", "string", 0, 200),
        "user_id": ColumnFigures("device", "string", 4000, 0),
    }
    hints = hints_of(small_config(), columns=columns)
    assert "decimal point" in hints["unreadable_lat"].sentence
    assert "40.0 % of the rows have no `device` (our `user_id`)" in hints["null_user_id"].sentence


@pytest.mark.parametrize("hours", [-6, 5.5, 13])
def test_a_wrong_zone(small_config: Small, hours: float) -> None:
    grid, shift = plan_of(small_config()).grids[0], round(hours * HOUR_US)
    times = TimeRange(grid.start_us + shift + 10**8, grid.start_us, grid.end_us + shift - 10**8)
    hint = hints_of(small_config(), times=times)["shifted_times"]
    assert f"{abs(hours):.1f} hours {'later' if hours > 0 else 'earlier'}" in hint.sentence
    assert "input.timezone" in hint.sentence


def test_pings_that_begin_late_and_end_early_are_not_shifted(small_config: Small) -> None:
    grid = plan_of(small_config()).grids[0]
    times = TimeRange(grid.start_us + HOUR_US, grid.start_us + 2 * HOUR_US, grid.end_us - HOUR_US)
    assert hints_of(small_config(), times=times) == {}


@pytest.mark.parametrize("factor", [1000, 1_000_000])
def test_a_wrong_unit(small_config: Small, factor: int) -> None:
    grid = plan_of(small_config()).grids[0]
    found = (grid.start_us + grid.end_us) // 2 // factor
    hint = hints_of(small_config(), times=TimeRange(found - 9, found, found + 9), in_period=0, pings=0)["empty_period"]
    assert f"multiplied by {factor:,} they would lie in it" in hint.sentence


def test_times_near_1970_and_elsewhere(small_config: Small) -> None:
    early = hints_of(small_config(), times=TimeRange(0, 10**6, 10**7), in_period=0, pings=0)["empty_period"]
    assert "near 1970" in early.sentence
    other = TimeRange(10**15, 10**15 + 1, 10**15 + 2)
    hint = hints_of(small_config(), times=other, in_period=0, pings=0)["empty_period"]
    assert "from 2001-09-09 01:46 UTC" in hint.sentence
    assert "period.start" in hint.sentence
    assert not hints_of(small_config(), in_period=50, pings=50)["few_in_period"].wrong


def test_other_places_at_that_time(small_config: Small) -> None:
    assert "nearly none in both" in hints_of(small_config(), pings=3)["apart"].sentence


def test_a_region_without_a_ping(small_config: Small) -> None:
    hints = hints_of(small_config(), by_region={"houston": 6000, "dallas": 0})
    assert hints["empty_region"].sentence.startswith("No ping lies in region `dallas`")


def test_an_id_that_stands_for_many(small_config: Small) -> None:
    users = PingsPerUser(np.array([10, 5000]), np.array([100, 1]))
    assert "One user has 83.3 % of all pings" in hints_of(small_config(), per_user=users)["heavy_id"].sentence
    two_people = PingsPerUser(np.array([1000, 5000]), np.array([1, 1]))
    assert "heavy_id" not in hints_of(small_config(), per_user=two_people)


def test_a_k_that_bounds_nobody_or_keeps_little(small_config: Small) -> None:
    assert not hints_of(small_config("privacy.k=40"))["large_k"].wrong
    hint = hints_of(small_config("privacy.k=1"))["small_k"]
    assert "k = 1 keeps 5.0 % of the pings" in hint.sentence
    assert not hint.wrong


def test_a_norm_that_bounds_nobody(small_config: Small) -> None:
    """What a smaller one keeps depends on how pings are spread, which is not measured."""
    norm = "privacy={rho: 1/2, delta: 1e-9, total_pings: 6000, bounding: l2, norm: %s}"
    hints = hints_of(small_config(norm % 40))
    assert "No user has more than norm = 40 pings" in hints["large_norm"].sentence
    assert not hints_of(small_config(norm % 1)).keys() & {"large_norm", "large_k", "small_k"}


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (6000, None),
        (6250, None),
        (5600, "6.7 % fewer than"),
        (9000, "50.0 % more than"),
        (60_000, "10 times the pings"),
    ],
)
def test_a_declared_total_is_compared(small_config: Small, declared: int, words: str | None) -> None:
    hints = hints_of(small_config(f"privacy.total_pings={declared}"))
    assert ("total_pings" in hints) is (words is not None)
    if words is not None:
        assert words in hints["total_pings"].sentence
        assert "about 6,000" in hints["total_pings"].sentence


def test_an_estimate_that_misses_much_of_the_total(small_config: Small) -> None:
    estimate = "privacy={epsilon: 6, lambda: 1e-2, estimate_total: {max_per_user: %s}}"
    assert "misses 50.0 % of N" in hints_of(small_config(estimate % 10))["max_per_user"].sentence
    assert "max_per_user" not in hints_of(small_config(estimate % 40))


def test_k_follows_from_the_total_that_an_estimate_would_find(small_config: Small) -> None:
    plan = plan_of(small_config("privacy={epsilon: 6, lambda: 1e-2, estimate_total: {max_per_user: 10}}"))
    assert choose_k(plan, fitting(plan)) == 30  # of 300 users ten pings each count
    assert choose_k(plan, replace(fitting(plan), per_user=PingsPerUser(np.array([]), np.array([])))) == 1
