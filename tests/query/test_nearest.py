import numpy as np
import pytest

from vdr_spark.query.nearest import find_nearest
from vdr_spark.query.ruler import Ball, Ruler

SQUARE = Ruler(30.0, 30.0)


def brute_force(tensor, place, least, ruler, extent_m):
    """Distance and count of the nearest cell, by looking at every cell of the tensor."""
    best = (np.inf, 0.0)
    for cell in np.ndindex(tensor.shape):
        dt, dy, dx = (there - here for there, here in zip(cell, place, strict=True))
        metres = ((dy * ruler.height) ** 2 + (dx * ruler.width) ** 2) ** 0.5
        cells = (dt**2 + metres**2 / (ruler.height * ruler.width)) ** 0.5
        if tensor[cell] >= least and metres <= extent_m:
            best = min(best, (round(cells, 6), -float(tensor[cell])))
    return best[0], -best[1]


@pytest.mark.parametrize("ruler", [SQUARE, Ruler(40.0, 25.0)])
@pytest.mark.parametrize("extent_m", [65.0, 200.0, np.inf])
def test_finds_what_a_search_of_every_cell_finds(ruler: Ruler, extent_m: float) -> None:
    rng = np.random.default_rng(4)
    tensor = rng.poisson(2.0, size=(7, 12, 12)).astype(np.float32)
    places = np.column_stack([rng.integers(size, size=40) for size in tensor.shape])
    found = find_nearest(tensor, places, 5, ruler, extent_m)
    for number, place in enumerate(places):
        distance, count = brute_force(tensor, place, 5, ruler, extent_m)
        assert found.distance[number] == pytest.approx(distance)
        if np.isfinite(distance):  # of equally near ones the one that holds most
            assert tensor[tuple(found.cells[number])] == count
        else:
            assert (found.cells[number] == -1).all()


def test_a_limit_over_ground_does_not_bound_the_time() -> None:
    tensor = np.zeros((9, 9, 9))
    tensor[0, 0, 6] = tensor[8, 0, 1] = 5  # nearer in cells, but 180 m away; 8 slices later, but 30 m away
    place = np.array([[0, 0, 0]])
    assert find_nearest(tensor, place, 5, SQUARE).cells.tolist() == [[0, 0, 6]]
    within = find_nearest(tensor, place, 5, SQUARE, 100.0)
    assert within.cells.tolist() == [[8, 0, 1]]
    assert within.distance == pytest.approx(np.sqrt(65))


def test_a_ball_holds_every_cell_within_its_radius_and_extent_once() -> None:
    ruler = Ruler(40.0, 25.0)
    ball = Ball.of(ruler, 4.0, 100.0, slices=3)
    expected = {
        (t, y, x)
        for t, y, x in np.ndindex(5, 21, 21)
        for t, y, x in [(t - 2, y - 10, x - 10)]
        if np.hypot(y * 40, x * 25) <= 100 and t**2 + (y**2 * 1600 + x**2 * 625) / 1000 <= 16
    }
    assert len(ball.offsets) == len(expected)
    assert set(map(tuple, ball.offsets.tolist())) == expected
    assert (np.diff(ball.distance) >= 0).all()
    assert ball.offsets[0].tolist() == [0, 0, 0]


@pytest.mark.parametrize("largest", [(1, 3, 5), (1, 5, 3), (0, 4, 5), (2, 4, 5)])
def test_of_equally_near_cells_the_one_that_holds_most(largest: tuple[int, int, int]) -> None:
    tensor = np.zeros((3, 9, 9))
    tensor[1, 3, 5] = tensor[1, 5, 3] = 20  # both sqrt(2) away
    tensor[0, 4, 5] = tensor[2, 4, 5] = 20  # so are these, in other slices
    tensor[largest] = 30
    found = find_nearest(tensor, np.array([[1, 4, 4]]), 20, SQUARE)
    assert found.distance[0] == pytest.approx(np.sqrt(2))
    assert tensor[tuple(found.cells[0])] == 30
