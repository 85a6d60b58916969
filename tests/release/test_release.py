"""A release as an object: it answers, becomes frames, shows itself, and never hides that it protects nobody."""

import json
import re
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from tests.release.hand_made import hand_made
from vdr_spark.errors import EnvironmentProblem, InvalidQuery
from vdr_spark.grid import Box
from vdr_spark.query import box_series, forecast, nearest_dense_hotspot, nearest_hotspot, range_count
from vdr_spark.release.release import Release
from vdr_spark.report_page import ShownReport

COUNTS = np.arange(1, 1 + 3 * 4 * 4).reshape(3, 4, 4)
SOUTH_WEST = Box(0.0, 0.0, 0.5, 0.25)  # two rows, one column


def test_methods_are_the_functions() -> None:
    release = hand_made(COUNTS, deviation=COUNTS / 10)
    start, end = datetime(2020, 1, 7, 1, tzinfo=UTC), datetime(2020, 1, 7, 5, tzinfo=UTC)
    assert release.range_count(SOUTH_WEST, start, end) == range_count(release, SOUTH_WEST, start, end)
    assert release.nearest_hotspot(0.1, 0.1, 2, 40, 1e6) == nearest_hotspot(release, 0.1, 0.1, 2, 40, 1e6)
    dense = release.nearest_dense_hotspot(0.1, 0.1, 0, 20, 1e6)
    assert dense == nearest_dense_hotspot(release, 0.1, 0.1, 0, 20, 1e6)
    assert "which it reaches with a probability of" in dense._repr_html_()
    np.testing.assert_array_equal(release.series(SOUTH_WEST), box_series(release, SOUTH_WEST))
    longer = hand_made(np.random.default_rng(0).gamma(3, 9, size=(24, 2, 2)))
    for method in ("theta", "holt_winters"):
        ours, theirs = longer.forecast(SOUTH_WEST, 3, method), forecast(longer, SOUTH_WEST, 3, method)
        np.testing.assert_array_equal(ours.mean, theirs.mean)
        assert ours.method == theirs.method


CHICAGO = {"exact": {"timezone": "America/Chicago"}}


def test_answers_and_moments_without_a_zone_are_in_that_of_the_release() -> None:
    release = hand_made(COUNTS, deviation=COUNTS / 10, statement=CHICAGO)
    evening = datetime(2020, 1, 6, 19)  # 01:00 UTC
    answer = release.range_count(SOUTH_WEST, evening, datetime(2020, 1, 7, 5, tzinfo=UTC))
    told = "between 2020-01-06 19:00 America/Chicago (UTC-06:00) and 2020-01-06 23:00 America/Chicago (UTC-06:00)"
    assert told in str(answer)
    assert answer.start == datetime(2020, 1, 7, 1, tzinfo=UTC)
    assert "slice from 2020-01-06 18:00 America/Chicago" in str(release.nearest_hotspot(0.1, 0.1, evening, 3))
    assert "slice from 2020-01-06 18:00 America/Chicago" in str(
        release.nearest_dense_hotspot(0.1, 0.1, evening, 1, 1e6)
    )
    assert "slice from 2020-01-07 03:00 America/Chicago" in str(release.forecast(SOUTH_WEST, 1))
    assert release.to_pandas(start=evening)["slice"].min() == 0
    assert "2020-01-06 18:00 America/Chicago (UTC-06:00) to" in repr(release)
    assert "2020-01-06 18:00 America/Chicago (UTC-06:00) to" in release._repr_html_()
    with pytest.raises(InvalidQuery, match=r"period, 2020-01-06 18:00 America/Chicago .* not 2020-01-06 02:00 America"):
        release.range_count(SOUTH_WEST, datetime(2020, 1, 6, 2))
    with pytest.raises(InvalidQuery, match=r"period, 2020-01-06 18:00 America/Chicago .* not 2020-01-06 02:00 America"):
        release.nearest_hotspot(0.1, 0.1, datetime(2020, 1, 6, 2))


def test_across_a_change_of_clocks() -> None:
    start = datetime(2020, 3, 8, 6, tzinfo=UTC)  # midnight in Chicago, two hours before the clocks go forward
    release = hand_made(COUNTS, start=start, statement=CHICAGO)
    answer = release.range_count(SOUTH_WEST, datetime(2020, 3, 8, 1), datetime(2020, 3, 8, 4))
    assert answer.end - answer.start.astimezone(UTC) == timedelta(hours=2)
    assert "2020-03-08 04:00 America/Chicago (UTC-05:00)" in str(answer)


@pytest.mark.parametrize("statement", [{}, {"exact": {}}, {"exact": None}, {"exact": {"timezone": "Mars/Olympus"}}])
def test_a_release_that_names_no_zone_is_in_utc(statement: dict[str, object]) -> None:
    release = hand_made(COUNTS, statement=statement)
    assert release.zone.key == "UTC"
    assert "2020-01-07 01:00 UTC" in str(release.range_count(SOUTH_WEST, datetime(2020, 1, 7, 1)))


def test_pandas_has_a_row_for_each_cell_in_order() -> None:
    release = hand_made(COUNTS, deviation=COUNTS / 10)
    frame = release.to_pandas()
    assert list(frame.columns) == ["slice", "slice_start", "y", "x", "lat", "lon", "count", "deviation"]
    np.testing.assert_array_equal(frame["count"], COUNTS.ravel())
    np.testing.assert_array_equal(frame["deviation"], (COUNTS / 10).astype(np.float32).ravel())
    row = frame.iloc[16 + 2 * 4 + 3]  # slice 1, row 2, column 3
    assert (row["slice"], row["y"], row["x"], row["lat"], row["lon"]) == (1, 2, 3, 0.625, 0.875)
    assert row["slice_start"] == pd.Timestamp("2020-01-07 03:00", tz="UTC")


def test_pandas_of_a_part_holds_the_cells_that_it_touches() -> None:
    release = hand_made(COUNTS)
    start = datetime(2020, 1, 7, 4, tzinfo=UTC)  # inside the second slice
    frame = release.to_pandas(Box(0.1, 0.0, 0.5, 0.25), start)
    assert frame[["slice", "y", "x"]].to_numpy().tolist() == [[1, 0, 0], [1, 1, 0], [2, 0, 0], [2, 1, 0]]
    assert frame["count"].tolist() == [17, 21, 33, 37]
    assert frame["deviation"].isna().all()
    with pytest.raises(InvalidQuery, match="north must lie inside"):
        release.to_pandas(Box(0, 0, 2, 1))


def test_xarray_knows_places_times_and_the_promise() -> None:
    release = hand_made(COUNTS, deviation=COUNTS / 10, epsilon=Fraction(1, 7), protected=False)
    dataset = release.to_xarray()
    assert dataset["count"].dims == ("time", "lat", "lon")
    cell = dataset.sel(time="2020-01-07T03:00", lat=0.625, lon=0.875)
    assert float(cell["count"]) == COUNTS[1, 2, 3]
    assert float(cell["deviation"]) == pytest.approx(COUNTS[1, 2, 3] / 10)
    attributes = dataset.attrs
    assert (attributes["epsilon"], attributes["k"], attributes["protected"]) == ("1/7", 160, 0)
    assert json.loads(attributes["statement"]) == release.statement
    assert np.shares_memory(dataset["count"].to_numpy(), release.counts)
    assert "deviation" not in hand_made(COUNTS).to_xarray()


def test_a_missing_xarray_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(EnvironmentProblem, match=r"xarray.*pip install vdr-spark\[xarray\]"):
        hand_made(COUNTS).to_xarray()


def test_a_release_made_in_memory_has_no_table() -> None:
    with pytest.raises(InvalidQuery, match="not of one made in memory"):
        hand_made(COUNTS).to_spark(None)  # type: ignore[arg-type]


def test_repr_is_short_and_prints_no_array() -> None:
    text = repr(hand_made(np.zeros((40, 9, 9)), epsilon=Fraction(1, 3)))
    assert len(text.splitlines()) <= 2
    assert "epsilon 1/3 at user level; 40 slices of 9 x 9 cells" in text
    assert "array" not in text
    assert "0." not in text


def test_repr_of_an_unprotected_release_promises_nothing() -> None:
    text = repr(hand_made(COUNTS, protected=False))
    assert "UNPROTECTED" in text
    assert "epsilon" not in text


def test_the_card_says_promise_error_period_and_grid() -> None:
    card = hand_made(COUNTS, estimated_rmse=1.234, region="north")._repr_html_()
    words = (
        "ε = 6",
        "= 403.4",
        "one person with their whole history",
        "1.23 pings",
        "4 x 4 cells",
        "3 of 3 h",
        "north",
    )
    for text in (*words, "north", "2020-01-07 00:00 UTC to 2020-01-07 09:00 UTC", "at most 160"):
        assert text in card
    assert re.search(r'<img src="data:image/png;base64,iVBOR', card)
    assert "UNPROTECTED" not in card
    assert "http" not in card


def test_the_card_of_an_unprotected_release_is_an_alarm_and_no_promise() -> None:
    card = hand_made(COUNTS, protected=False)._repr_html_()
    assert "background:#c1121f" in card
    assert "UNPROTECTED" in card
    assert "whole history" not in card
    assert "ε" not in card


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**9), Fraction(100_000)])
def test_the_card_writes_any_epsilon(epsilon: Fraction) -> None:
    assert f"ε = {epsilon}" in hand_made(COUNTS, epsilon=epsilon)._repr_html_()


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>'])
def test_nothing_on_the_card_can_run(text: str) -> None:
    card = hand_made(COUNTS, release_id=text, dataset=text, region=text, model=text)._repr_html_()
    assert text not in card
    assert card.count("<img") == 1  # ours


def test_the_card_does_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    card = hand_made(COUNTS)._repr_html_()
    assert "<img" not in card
    assert "ε = 6" in card


def test_answers_show_their_sentence_and_the_mark() -> None:
    answer = hand_made(COUNTS).range_count(SOUTH_WEST)
    assert str(answer) == answer.sentence()
    assert answer.sentence() in answer._repr_html_()
    marked = replace(answer, protected=False)
    assert "UNPROTECTED" in str(marked)
    assert "UNPROTECTED" in marked._repr_html_()


def test_a_map_of_a_slice_by_number_or_moment(tmp_path: Path) -> None:
    release = hand_made(np.arange(3 * 16).reshape(3, 4, 4))
    whole, second = release.map(), release.map(1)
    assert whole._repr_png_().startswith(b"\x89PNG")
    assert second.title == "Tue 2020-01-07 03:00, UTC"
    assert release.map(datetime(2020, 1, 7, 5)).png == second.png != release.map(2).png
    assert Path(second.save(tmp_path / "maps/second.png")).read_bytes() == second.png
    for outside in (3, -1, datetime(2020, 1, 8)):
        with pytest.raises(InvalidQuery, match="a number from 0 to 2, or a moment from 2020-01-07 00:00 UTC"):
            release.map(outside)


def test_it_is_explored_where_that_can_be_and_else_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    release = hand_made(np.ones((2, 4, 4)))
    explorer = ModuleType("vdr_spark.explore.serve")
    monkeypatch.setitem(sys.modules, "vdr_spark.explore", ModuleType("vdr_spark.explore"))
    monkeypatch.setitem(sys.modules, "vdr_spark.explore.serve", explorer)
    explorer.open_explorer = lambda of: ("opened", of)  # type: ignore[attr-defined]
    assert release.explore() == ("opened", release)

    def elsewhere(_: Release) -> None:
        raise EnvironmentProblem("the browser is on another machine")

    explorer.open_explorer = elsewhere  # type: ignore[attr-defined]
    assert isinstance(release.explore(), ShownReport)
    monkeypatch.setitem(sys.modules, "vdr_spark.explore.serve", None)  # as good as not installed
    assert isinstance(release.explore(), ShownReport)
