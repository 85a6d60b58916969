"""The paper's mixture: its centres on the lattice, its deviation in cells, its pings in the domain."""

from datetime import UTC, datetime

import numpy as np

from vdr_spark.grid import Box, Grid
from vdr_spark.synth.mixture import Mixture
from vdr_spark.synth.power_law import PowerLaw

GRID = Grid(Box.around(29.76, -95.37, 20_000), 200, datetime(2020, 1, 7, tzinfo=UTC), 3600, 120)
LAW = PowerLaw(2.5, 60, 1000)


def plan(components: int = 50, weights: str = "equal", sigma: float = 2.0, seed: int = 1) -> Mixture:
    return Mixture.plan(seed, components, weights, sigma, GRID)


def draw(mixture: Mixture, users: int = 300) -> np.ndarray:
    """Cells (slice, y, x) of a block's pings; every one of them is inside. (n, 3)"""
    pings = mixture.sample_block(np.random.Generator(np.random.PCG64(5)), users, LAW, GRID)
    flat = GRID.cell_of(pings.lat, pings.lon, pings.ts_us)
    assert (flat >= 0).all()
    return np.stack(np.unravel_index(flat, GRID.shape), axis=1)


def test_centres_are_different_points_of_the_lattice() -> None:
    centres = plan().centres
    steps = centres * 10
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    assert steps.min() > 0.5
    assert steps.max() < 9.5
    assert len(np.unique(np.round(steps), axis=0)) == 50
    assert not np.array_equal(centres, plan(seed=2).centres)


def test_pings_lie_around_the_centre_with_the_deviation_in_cells() -> None:
    mixture = plan(components=1)
    cells = draw(mixture)
    lat, lon, time = mixture.centres[0]
    np.testing.assert_allclose(cells.mean(axis=0) + 0.5, [time * 120, lat * 200, lon * 200], atol=0.2)
    np.testing.assert_allclose(cells.std(axis=0), 2.0, atol=0.15)


def test_a_wide_component_stays_inside() -> None:
    assert len(draw(plan(sigma=150.0))) > 300


def test_weights() -> None:
    np.testing.assert_allclose(np.diff(plan().cumulated), 1 / 50)
    uneven = np.diff(plan(weights="dirichlet").cumulated, prepend=0)
    assert uneven.sum() == 1
    assert uneven.max() > 2 / 50
