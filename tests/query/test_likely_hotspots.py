import numpy as np
import pytest

from vdr_spark.query import likely_hotspots
from vdr_spark.query.likely_hotspots import PINGS_PER_CELL, choose_hotspots
from vdr_spark.query.nearest import find_nearest
from vdr_spark.query.posterior import Posterior
from vdr_spark.query.ruler import Ruler

SQUARE = Ruler(30.0, 30.0)


def least_expected_error(counts, deviation, place, density, ruler, extent_m, least):
    """The least expected error over all cells and none, from every cell's probability and plain double loops."""
    cells = []
    for cell in np.ndindex(counts.shape):
        dt, dy, dx = (there - here for there, here in zip(cell, place, strict=True))
        metres = np.hypot(dy * ruler.height, dx * ruler.width)
        if metres <= extent_m:
            posterior = Posterior.of(np.array([counts[cell]]), np.array([deviation[cell]]))
            figures = float(posterior.reaches(density)[0]), float(posterior.shortfall(density)[0])
            cells.append((np.hypot(dt, metres / ruler.side), *figures, cell))
    cells.sort()
    reach = np.hypot(extent_m / ruler.side, len(counts) - 1)
    none, nearest = 1.0, []
    for distance, probability, _, _ in cells:
        nearest.append((distance, none * probability))
        none *= 1 - probability
    nearest.append((reach, none))
    named = [(d, short, cell) for d, probability, short, cell in cells if probability >= least]
    choices = [*named, (reach, density * (1 - none), None)]
    return min(
        (sum(w * abs(d - other) for other, w in nearest) + short / PINGS_PER_CELL, d, cell)
        for d, short, cell in choices
    )


@pytest.mark.parametrize("extent_m", [80.0, 500.0])
@pytest.mark.parametrize("density", [8.0, 20.0])
@pytest.mark.parametrize("least", [0.0, 0.4])
def test_chooses_what_a_search_of_every_cell_expects_to_be_least_wrong(
    extent_m: float, density: float, least: float
) -> None:
    rng = np.random.default_rng(5)
    counts = rng.gamma(0.4, 4.0, size=(4, 11, 11))
    deviation = rng.uniform(0.3, 4.0, size=counts.shape)
    places = np.column_stack([rng.integers(size, size=6) for size in counts.shape])
    found = choose_hotspots(counts, deviation, places, density, SQUARE, extent_m, least=least)
    for number, place in enumerate(places):
        _, distance, cell = least_expected_error(counts, deviation, place, density, SQUARE, extent_m, least)
        assert found.found[number] == (cell is not None)
        if cell is not None:
            assert found.distance[number] == pytest.approx(distance, abs=1e-5)
            assert tuple(found.cells[number]) == cell
            exact = Posterior.of(np.array([counts[cell]]), np.array([deviation[cell]])).reaches(density)[0]
            assert found.probability[number] == pytest.approx(exact, abs=0.003)


def test_a_shrunken_count_is_not_passed_by() -> None:
    counts, deviation = np.zeros((1, 40, 40)), np.full((1, 40, 40), 0.1)
    counts[0, 5, 5], deviation[0, 5, 5] = 36, 20  # each may well be 40
    counts[0, 5, 7], deviation[0, 5, 7] = 36.5, 20
    counts[0, 35, 35], deviation[0, 35, 35] = 60, 2  # surely is, 42 cells away
    place = np.array([[0, 5, 6]])
    assert find_nearest(counts, place, 40, SQUARE, 5000.0).cells.tolist() == [[0, 35, 35]]
    found = choose_hotspots(counts, deviation, place, 40, SQUARE, 5000.0)
    assert found.cells.tolist() == [[0, 5, 7]]
    assert 0.3 < found.probability[0] < 0.5
    assert found.within[0] > 0.5
    deviation[0, 5, 5:8] = 0.5  # now they surely are not
    found = choose_hotspots(counts, deviation, place, 40, SQUARE, 5000.0)
    assert found.cells.tolist() == [[0, 35, 35]]
    assert found.probability[0] > 0.99


def test_many_that_are_unlikely_make_one_likely() -> None:
    counts, deviation = np.full((1, 41, 41), 3.0), np.full((1, 41, 41), 3.0)
    found = choose_hotspots(counts, deviation, np.array([[0, 20, 20]]), 10, SQUARE, 5000.0)
    probability = Posterior.of(np.array([3.0]), np.array([3.0])).reaches(10)[0]
    assert probability < 0.06
    assert 1 < found.distance[0] < 5  # at 0.04 each, half of the chance lies within 16 cells
    assert found.within[0] == pytest.approx(1 - (1 - found.probability[0]) ** round_cells(found.distance[0]), abs=1e-6)


def test_who_will_go_there_is_told_a_likely_one_however_far() -> None:
    counts, deviation = np.full((1, 61, 61), 3.0), np.full((1, 61, 61), 3.0)
    counts[0, 30, 56], deviation[0, 30, 56] = 14, 3  # beyond the ball of cells that are looked at first
    place = np.array([[0, 30, 30]])
    near = choose_hotspots(counts, deviation, place, 10, SQUARE, 5000.0)
    assert near.probability[0] < 0.06
    likely = choose_hotspots(counts, deviation, place, 10, SQUARE, 5000.0, least=0.5)
    assert likely.cells.tolist() == [[0, 30, 56]]
    assert likely.probability[0] > 0.8
    assert not choose_hotspots(counts, deviation, place, 10, SQUARE, 5000.0, least=0.99).found.any()


def round_cells(distance: float) -> int:
    return sum(y * y + x * x <= distance**2 + 1e-6 for y in range(-9, 10) for x in range(-9, 10))


def test_none_is_named_where_none_is_likely() -> None:
    counts, deviation = np.full((2, 9, 9), 0.1), np.full((2, 9, 9), 0.1)
    found = choose_hotspots(counts, deviation, np.array([[0, 4, 4], [1, 0, 0]]), 10, SQUARE, 5000.0)
    assert not found.found.any()
    assert found.cells.tolist() == [[-1, -1, -1]] * 2
    assert found.probability.tolist() == [0, 0]


def test_who_stands_at_a_ping_is_told_the_own_cell_sooner() -> None:
    counts, deviation = np.full((1, 30, 30), 0.01), np.full((1, 30, 30), 0.01)
    counts[0, 15, 15], deviation[0, 15, 15] = 8, 5
    counts[0, 15, 18], deviation[0, 15, 18] = 30, 2
    place = np.array([[0, 15, 15]])
    assert choose_hotspots(counts, deviation, place, 10, SQUARE, 5000.0).distance[0] == 3
    at_ping = choose_hotspots(counts, deviation, place, 10, SQUARE, 5000.0, at_pings=True)
    assert at_ping.distance[0] == 0
    expected = Posterior.of(np.array([8.0]), np.array([5.0])).at_a_ping().reaches(10)[0]
    assert at_ping.probability[0] == pytest.approx(expected)


def test_without_error_bars_it_is_the_nearest_that_reaches_the_density() -> None:
    rng = np.random.default_rng(6)
    counts = rng.poisson(1.0, size=(6, 30, 30)).astype(np.float32)
    places = np.column_stack([rng.integers(size, size=50) for size in counts.shape])
    found = choose_hotspots(counts, None, places, 6, SQUARE, 5000.0)
    assert found.distance == pytest.approx(find_nearest(counts, places, 6, SQUARE, 5000.0).distance)


def test_the_answers_do_not_depend_on_how_many_are_asked_at_once(monkeypatch) -> None:
    rng = np.random.default_rng(7)
    counts, deviation = rng.gamma(0.2, 3.0, size=(4, 40, 40)), rng.uniform(0.1, 3.0, size=(4, 40, 40))
    places = np.column_stack([rng.integers(size, size=30) for size in counts.shape])
    together = choose_hotspots(counts, deviation, places, 15, SQUARE, 900.0)
    monkeypatch.setattr(likely_hotspots, "_NUMBERS_AT_ONCE", 1)
    monkeypatch.setattr(likely_hotspots, "_RADIUS", 2.0)
    alone = choose_hotspots(counts, deviation, places, 15, SQUARE, 900.0)
    assert (together.cells == alone.cells).all()
    assert together.within == pytest.approx(alone.within)
