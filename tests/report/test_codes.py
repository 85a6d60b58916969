"""The picture of a codebook: where it looks, and how codes get their colours."""

from datetime import UTC, datetime

import numpy as np
import pytest

from vdr_spark.grid import Box, Grid
from vdr_spark.report import plot_codes
from vdr_spark.report.codes import _busiest_neighbourhood, _cut, _rank_by_busyness

GRID = Grid(Box(29, -96, 30, -95), 80, datetime(2020, 1, 1, tzinfo=UTC), 3600, 1)


def layers(side: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    plotted = rng.gamma(0.5, 4, (side, side))
    return {"true": plotted, "noisy": plotted + rng.laplace(size=plotted.shape), "plotted": plotted}


@pytest.mark.parametrize("side", [2, 18, 80])
def test_it_is_plotted_for_any_side_and_marked(side: int, tmp_path, look) -> None:
    grid = Grid(GRID.box, side, GRID.start, 3600, 1)
    codes = np.random.default_rng(1).integers(0, 9, (-(-side // 4), -(-side // 4)))
    for protected in (True, False):
        path = f"{tmp_path}/{protected}.png"
        plot_codes(layers(side), codes, path, "codes", grid=grid, protected=protected)
    clean, marked = look(f"{tmp_path}/True.png"), look(f"{tmp_path}/False.png")
    assert marked.shape[0] > clean.shape[0] + 40
    assert len(np.unique(clean.reshape(-1, 3), axis=0)) > 20


@pytest.mark.parametrize("peak", [(0, 0), (79, 79), (40, 3)])
def test_the_neighbourhood_holds_the_busiest_place_and_stays_on_the_map(peak: tuple[int, int]) -> None:
    layer = np.zeros((80, 80))
    layer[peak] = 5
    part = _busiest_neighbourhood(layer)
    assert layer[part].shape == (64, 64)
    assert layer[part].max() == 5


def test_the_neighbourhood_has_the_cells_of_the_map() -> None:
    cut = _cut(GRID, (slice(8, 72), slice(0, 64)))
    assert cut.cells_per_side == 64
    assert cut.box.south == pytest.approx(29.1)
    assert cut.box.west == -96
    assert cut.cell_metres == pytest.approx(GRID.cell_metres, rel=0.01)


def test_codes_are_ranked_by_what_is_plotted_where_they_stand() -> None:
    codes = np.array([[7, 2], [2, 5]])
    plotted = np.kron(np.array([[9.0, 1.0], [1.0, 4.0]]), np.ones((4, 4)))[:7, :7]  # the last row and column stick out
    ranks, used = _rank_by_busyness(codes, plotted)
    assert ranks.tolist() == [[2, 0], [0, 1]]
    assert used == 3
