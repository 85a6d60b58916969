import math
from datetime import UTC, datetime

import numpy as np
import pytest

from vdr_spark.errors import InvalidQuery
from vdr_spark.grid import METRES_PER_DEGREE
from vdr_spark.query import nearest_dense_hotspot, nearest_dense_hotspots
from vdr_spark.query.posterior import Posterior
from vdr_spark.sum_errors import CLUMP_BY_CHANCE, Spread, SumErrors, widen_by_clumps

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


def test_an_unlikely_cell_is_told_with_what_is_likely_of_all_that_are_as_near(make_release) -> None:
    counts, deviation = np.full((4, 5, 5), 4.0), np.full((4, 5, 5), 4.0)
    found = nearest_dense_hotspot(make_release(counts, deviation=deviation), 0.5, 0.5, 1, 12, extent_m=FAR)
    assert found.probability < 0.1 < found.probability_within
    said = (100 * found.probability, 100 * found.probability_within)
    assert found.sentence().endswith(
        "which it reaches with a probability of {:.0f} %; that some cell as near does has {:.0f} %.".format(*said)
    )


def test_what_error_bars_allow_for_asking_at_a_ping_makes_no_hot_spot(make_release) -> None:
    clumps = SumErrors(1.0, (Spread(1, 1, 0.1, clump=20.0),))
    counts, own = np.full((4, 5, 5), 3.0), 2.0
    told = np.sqrt(own**2 + widen_by_clumps(20.0, counts))
    release = make_release(counts, deviation=told, sum_errors=clumps)
    chance = math.sqrt(own**2 + CLUMP_BY_CHANCE * 20 * 3)
    one = nearest_dense_hotspot(release, 0.5, 0.5, 1, 20, extent_m=FAR)
    posterior = Posterior.of(np.array([3.0]), np.array([chance]))
    assert one.deviation == pytest.approx(told[0, 0, 0])
    assert one.probability == pytest.approx(posterior.reaches(20)[0], abs=0.003)
    many = nearest_dense_hotspots(release, np.array([[1, 2, 2]]), 20, extent_m=FAR)
    assert many.probability[0] == pytest.approx(one.probability, abs=1e-6)
    here = nearest_dense_hotspot(release, 0.5, 0.5, 1, 3, extent_m=FAR, at_ping=True)
    assert here.distance_cells == 0
    assert here.probability == pytest.approx(posterior.at_a_ping().reaches(3)[0], abs=0.001)


def test_names_only_what_is_likely_enough(make_release) -> None:
    counts, deviation = tensor(t0y0x1=12, t0y0x4=30), np.full((4, 5, 5), 0.01)
    deviation[0, 0, 1] = 5
    release = make_release(counts, deviation=deviation)
    assert nearest_dense_hotspot(release, 0.1, 0.3, 0, 10, extent_m=FAR).column == 1
    sure = nearest_dense_hotspot(release, 0.1, 0.3, 0, 10, extent_m=FAR, least_probability=0.9)
    assert (sure.column, sure.probability) == (4, pytest.approx(1))
    with pytest.raises(InvalidQuery, match=r"reach with a probability of 0.9, not 40.*lower the density or least_prob"):
        nearest_dense_hotspot(release, 0.1, 0.3, 0, 40, extent_m=FAR, least_probability=0.9)


@pytest.mark.parametrize(
    ("density", "extent", "least", "words"),
    [
        (0.5, 100, 0, "density must be at least one ping in a cell, not 0.5"),
        (float("nan"), 100, 0, "density must be"),
        (10, -1, 0, "extent must be a number of metres, not -1"),
        (10, 100, 1, "least_probability must be at least 0 and below 1, not 1"),
        (10, 100, float("nan"), "least_probability must be"),
    ],
)
def test_refuses_what_means_nothing(make_release, density: float, extent: float, least: float, words: str) -> None:
    with pytest.raises(InvalidQuery, match=words):
        nearest_dense_hotspot(make_release(tensor()), 0.1, 0.1, 0, density, extent, least_probability=least)


def test_refuses_places_outside_the_grid(make_release) -> None:
    with pytest.raises(InvalidQuery, match="places must lie in the grid"):
        nearest_dense_hotspots(make_release(tensor()), np.array([[0, 5, 0]]), 10)
