from dataclasses import replace
from datetime import UTC, date, datetime

import numpy as np
import pytest

from vdr_spark.errors import InvalidQuery
from vdr_spark.release.cell_source import CellsInMemory
from vdr_spark.report import maps, plot_day, plot_slices


@pytest.fixture
def plotted(monkeypatch) -> dict[str, list]:
    """The labels and the layers of the panels that would be plotted; an empty picture is quicker."""
    seen: dict[str, list] = {"titles": [], "layers": []}

    def record(_figure, panels, _grid, _columns) -> None:
        seen["titles"] += [name for name, _ in panels]
        seen["layers"] += [layer for _, layer in panels]

    monkeypatch.setattr(maps, "plot_panels", record)
    return seen


def test_compares_slices_side_by_side(city, tmp_path, look) -> None:
    noise = np.random.default_rng(0).laplace(0, 20, size=(24, 24))
    panels = {"true": city.counts[4], "noisy": city.counts[4] + noise, "denoised": city.counts[4]}
    plot_slices(panels, f"{tmp_path}/a.png", "A slice", grid=city.grid, protected=True)
    picture = look(f"{tmp_path}/a.png")
    assert picture.shape[1] > 2 * picture.shape[0]
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 200


def test_north_is_up_and_west_is_left(city, tmp_path, look) -> None:
    plot_slices({"one": city.counts[4]}, f"{tmp_path}/a.png", "", grid=city.grid, protected=True)
    light = look(f"{tmp_path}/a.png").sum(axis=2)
    map_only = light[100:-30, 30 : int(light.shape[1] * 0.7)]  # without title, white frame and colour bar
    middle_y, middle_x = (side // 2 for side in map_only.shape)
    north_west = map_only[:middle_y, :middle_x].mean()
    assert north_west > 1.5 * map_only[middle_y:, :middle_x].mean()
    assert north_west > 1.5 * map_only[:middle_y, middle_x:].mean()


def test_one_noisy_panel_does_not_govern_the_scale(city) -> None:
    quiet = city.counts[4]
    loud = quiet + np.random.default_rng(0).laplace(0, 5000, size=quiet.shape)
    assert maps.scale_end([quiet, loud, quiet]) == pytest.approx(np.percentile(quiet, 99.9))
    assert maps.scale_end([np.zeros((4, 4)), np.zeros((4, 4))]) == 1.0


@pytest.mark.parametrize(("longest", "length"), [(5.7, 5), (4.99, 2), (1.2, 1), (0.31, 0.2)])
def test_scale_bar_has_a_round_length(longest: float, length: float) -> None:
    assert maps.round_length(longest) == pytest.approx(length)


def test_a_day_is_labelled_by_the_clock_of_its_zone(city, tmp_path, plotted) -> None:
    plot_day(city, date(2020, 1, 8), f"{tmp_path}/a.png", "America/Chicago")
    assert plotted["titles"] == [f"{h:02}:00 – {(h + 3) % 24:02}:00" for h in range(0, 24, 3)]


def test_a_day_is_labelled_by_the_clock_of_the_release(city, tmp_path, plotted) -> None:
    plot_day(replace(city, statement={"exact": {"timezone": "Asia/Kolkata"}}), date(2020, 1, 8), f"{tmp_path}/a.png")
    assert plotted["titles"][0] == "23:30 – 02:30"


def test_a_day_is_cut_where_the_period_begins(city, tmp_path, plotted) -> None:
    plot_day(city, date(2020, 1, 7), f"{tmp_path}/a.png")
    assert plotted["titles"][0] == "06:00 – 09:00"
    assert len(plotted["titles"]) == 6
    np.testing.assert_array_equal(plotted["layers"], city.counts[:6])


def test_many_short_slices_are_summed_in_groups(city, tmp_path, plotted) -> None:
    grid = replace(city.grid, slice_seconds=600, slices=144)
    quick = replace(city, grid=grid, cells=CellsInMemory(np.tile(city.counts, (6, 1, 1))))
    plot_day(quick, date(2020, 1, 7), f"{tmp_path}/a.png")
    assert plotted["titles"] == [f"{hour:02}:00 – {(hour + 1) % 24:02}:00" for hour in range(6, 24)]
    np.testing.assert_allclose(plotted["layers"][1], quick.counts[6:12].sum(axis=0))


def test_a_day_of_25_hours_has_25_panels(city, tmp_path, plotted) -> None:
    start = datetime(2020, 11, 1, 0, tzinfo=UTC)
    grid = replace(city.grid, slice_seconds=3600, start=start, slices=48)
    autumn = replace(city, grid=grid, cells=CellsInMemory(np.tile(city.counts, (2, 1, 1))))
    plot_day(autumn, date(2020, 11, 1), f"{tmp_path}/a.png", "America/Chicago")
    assert len(plotted["titles"]) == 25
    assert plotted["titles"][:3] == ["00:00 – 01:00", "01:00 – 01:00", "01:00 – 02:00"]


def test_a_day_outside_is_refused(city, tmp_path) -> None:
    with pytest.raises(InvalidQuery, match=r"day must lie in the release's period, .* not 2020-02-01"):
        plot_day(city, date(2020, 2, 1), f"{tmp_path}/a.png")


def test_maps_of_an_unprotected_release_are_marked(city, tmp_path, look) -> None:
    for protected in (True, False):
        release = replace(city, protected=protected)
        plot_day(release, date(2020, 1, 8), f"{tmp_path}/day-{protected}.png")
        panels = {"true": city.counts[4], "noisy": city.counts[5]}
        name = f"{tmp_path}/slices-{protected}.png"
        plot_slices(panels, name, "A slice", grid=city.grid, protected=protected)
    for kind in ("day", "slices"):
        clean, marked = (look(f"{tmp_path}/{kind}-{protected}.png") for protected in (True, False))
        assert len(np.unique(clean.reshape(-1, 3), axis=0)) > 200
        assert marked.shape[0] > clean.shape[0] + 40
        assert tuple(marked[-3, 3]) == (0xC1, 0x12, 0x1F)
        assert tuple(clean[-3, 3]) == (255, 255, 255)
