"""Maps of a release: which slices are shown, what is added up, and what is left out where there is nothing to show."""

from dataclasses import replace
from datetime import UTC, date, datetime

import numpy as np
import pytest

from vdr_spark.release.cell_source import CellsInMemory
from vdr_spark.report import draw_release, release_maps

CHICAGO = {"exact": {"timezone": "America/Chicago"}}


@pytest.fixture
def plotted(monkeypatch) -> list:
    """The panels that would be plotted, as (title, layer); an empty picture is quicker."""
    seen: list = []
    monkeypatch.setattr(release_maps, "plot_panels", lambda _figure, panels, *_, **__: seen.extend(panels))
    return seen


def test_all_maps_of_a_release(city, tmp_path, look) -> None:
    with_bars = replace(city, cells=CellsInMemory(city.counts, np.sqrt(city.counts + 1)), statement=CHICAGO)
    paths = draw_release(with_bars, f"{tmp_path}/maps")
    assert [path.rsplit("/", 1)[1] for path in paths] == ["slices.png", "period.png", "day.png", "error.png"]
    for path in paths:
        assert len(np.unique(look(path).reshape(-1, 3), axis=0)) > 200


def test_what_there_is_none_of_is_left_out(city, tmp_path) -> None:
    days = replace(city, grid=replace(city.grid, slice_seconds=86_400))
    paths = draw_release(days, str(tmp_path))
    assert [path.rsplit("/", 1)[1] for path in paths] == ["slices.png", "period.png"]


def test_slices_from_the_quietest_to_the_busiest_in_order_of_time(city, tmp_path, plotted) -> None:
    totals = city.counts.sum(axis=(1, 2))
    chosen = release_maps.choose_slices(city)
    assert chosen == sorted(chosen)
    assert len(chosen) == 6
    assert {totals[chosen].min(), totals[chosen].max()} == {totals.min(), totals.max()}
    release_maps.plot_few_slices(replace(city, statement=CHICAGO), f"{tmp_path}/a.png")
    first = city.grid.slice_start(chosen[0])
    assert first.tzinfo is UTC
    assert plotted[0][0] == f"Tue 2020-01-07 {(first.hour - 6) % 24:02}:00"


def test_a_release_of_one_slice(city) -> None:
    assert release_maps.choose_slices(replace(city, cells=CellsInMemory(city.counts[:1]))) == [0]


def test_slices_are_added_up_and_errors_as_variances(city, tmp_path, plotted) -> None:
    release = replace(city, cells=CellsInMemory(city.counts, np.full_like(city.counts, 2.0)))
    release_maps.plot_period(release, f"{tmp_path}/a.png")
    release_maps.plot_error(release, f"{tmp_path}/b.png")
    (_, total), (_, error) = plotted
    np.testing.assert_allclose(total, city.counts.sum(axis=0), rtol=1e-5)
    np.testing.assert_allclose(error, 2 * np.sqrt(len(city.counts)))


def test_the_busiest_day_is_one_of_the_releases_zone(city) -> None:
    counts = city.counts.copy()
    counts[7] += 1e4  # from 2020-01-08 03:00 UTC: the evening before in Chicago
    assert city.grid.slice_start(7) == datetime(2020, 1, 8, 3, tzinfo=UTC)
    busy = replace(city, cells=CellsInMemory(counts))
    assert release_maps.find_busiest_day(busy) == date(2020, 1, 8)
    assert release_maps.find_busiest_day(replace(busy, statement=CHICAGO)) == date(2020, 1, 7)


def test_maps_of_an_unprotected_release_are_marked(city, tmp_path, look) -> None:
    release = replace(city, cells=CellsInMemory(city.counts, city.counts), protected=False)
    for path in draw_release(release, str(tmp_path)):
        assert tuple(look(path)[-3, 3]) == (0xC1, 0x12, 0x1F)
