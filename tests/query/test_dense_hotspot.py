from datetime import UTC, datetime

import numpy as np
import pytest

from vdr_spark.errors import InvalidQuery
from vdr_spark.grid import METRES_PER_DEGREE
from vdr_spark.query import nearest_dense_hotspot, nearest_dense_hotspots
from vdr_spark.query.posterior import Posterior

CELL = METRES_PER_DEGREE / 5  # metres, of a 5 x 5 grid over a degree at the equator
FAR = 1e6


def tensor(**cells: float) -> np.ndarray:
    """Four slices of 5 x 5 cells from `t1y1x4=7` style cells, the others as good as empty."""
    values = np.full((4, 5, 5), 0.01)
    for name, count in cells.items():
        values[int(name[1]), int(name[3]), int(name[5])] = count
    return values


def test_finds_the_nearest_in_space_and_time(make_release) -> None:
    release = make_release(tensor(t0y0x3=50, t3y0x1=40), deviation=np.full((4, 5, 5), 0.01))
    found = nearest_dense_hotspot(release, 0.1, 0.1, 1, density=20, extent_m=FAR)
    assert (found.slice, found.row, found.column, found.slices_away) == (3, 0, 1, 2)  # sqrt(5), not sqrt(10)
    assert found.distance_cells == pytest.approx(np.sqrt(5), abs=1e-3)
    assert found.distance_m == pytest.approx(CELL, rel=1e-3)
    assert (found.lat, found.lon) == pytest.approx((0.1, 0.3))
    assert (found.count, found.threshold) == (40, 20)
    assert found.probability == pytest.approx(1)
    assert found.slice_start == datetime(2020, 1, 7, 9, tzinfo=UTC)


def test_tells_probability_and_that_of_the_neighbourhood(make_release) -> None:
    deviation = np.full((4, 5, 5), 0.01)
    deviation[1, 2, 2] = deviation[1, 2, 3] = 8
    release = make_release(tensor(t1y2x2=21, t1y2x3=23), deviation=deviation)
    found = nearest_dense_hotspot(release, 0.5, 0.5, 1, density=20, extent_m=FAR)
    own, beside = Posterior.of(np.array([21.0, 23.0]), np.array([8.0, 8.0])).reaches(20)
    assert found.distance_m == 0
    assert found.probability == pytest.approx(own, abs=0.003)
    assert found.probability_within == pytest.approx(own, abs=0.003)  # the other is farther away
    assert beside > own


def test_what_lies_beyond_the_extent_is_not_read_and_not_named(make_release) -> None:
    release = make_release(tensor(t0y0x3=50, t0y4x0=90), deviation=np.full((4, 5, 5), 0.01))
    assert nearest_dense_hotspot(release, 0.1, 0.1, 0, density=20, extent_m=3.01 * CELL).column == 3
    with pytest.raises(InvalidQuery, match=r"density .* within .* km may reach, not 20: .* is 0\.01"):
        nearest_dense_hotspot(release, 0.1, 0.1, 0, density=20, extent_m=2.5 * CELL)


def test_many_at_once_are_the_same_as_one_by_one(make_release) -> None:
    rng = np.random.default_rng(3)
    release = make_release(rng.gamma(0.5, 8, size=(4, 12, 12)), deviation=rng.uniform(0.5, 6, size=(4, 12, 12)))
    places = np.column_stack([rng.integers(size, size=15) for size in (4, 12, 12)])
    together = nearest_dense_hotspots(release, places, 15, extent_m=40_000)
    for (t, y, x), cells, probability in zip(places, together.cells, together.probability, strict=True):
        lat, lon = release.grid.latitudes()[y], release.grid.longitudes()[x]
        one = nearest_dense_hotspot(release, float(lat), float(lon), int(t), 15, extent_m=40_000)
        assert [one.slice, one.row, one.column] == cells.tolist()
        assert one.probability == pytest.approx(probability)


def test_says_the_answer_in_a_sentence(make_release) -> None:
    deviation = np.full((4, 5, 5), 0.01)
    deviation[0, 0, 1] = 12
    release = make_release(tensor(t0y0x1=45), deviation=deviation)
    sentence = nearest_dense_hotspot(release, 0.1, 0.1, 1, 40, extent_m=FAR).sentence()
    assert sentence == (
        "The nearest hot spot is 22,238 m away, 1 slice earlier, at 0.10000, 0.30000: about 45 pings (± 12, one "
        "standard deviation) in the slice from 2020-01-07 00:00 UTC; the density asked for is 40, which it reaches "
        "with a probability of 65 %."
    )
    plain = nearest_dense_hotspot(make_release(tensor(t0y0x1=45)), 0.1, 0.1, 0, 40, extent_m=FAR)
    assert plain.probability is None
    assert plain.sentence().endswith(
        "22,238 m away, in the same slice, at 0.10000, 0.30000: about 45 pings in the slice from "
        "2020-01-07 00:00 UTC; the density asked for is 40."
    )


@pytest.mark.parametrize(
    ("density", "extent", "words"),
    [
        (0.5, 100, "density must be at least one ping in a cell, not 0.5"),
        (float("nan"), 100, "density must be"),
        (10, -1, "extent must be a number of metres, not -1"),
    ],
)
def test_refuses_what_means_nothing(make_release, density: float, extent: float, words: str) -> None:
    with pytest.raises(InvalidQuery, match=words):
        nearest_dense_hotspot(make_release(tensor()), 0.1, 0.1, 0, density, extent)


def test_refuses_places_outside_the_grid(make_release) -> None:
    with pytest.raises(InvalidQuery, match="places must lie in the grid"):
        nearest_dense_hotspots(make_release(tensor()), np.array([[0, 5, 0]]), 10)
