import numpy as np
import pytest

from tests.explore.cities import BOX, city
from tests.release.hand_made import hand_made
from vdr_spark.explore.even_odds import EVEN, find_even_odds
from vdr_spark.query.posterior import Posterior
from vdr_spark.query.ruler import Ruler
from vdr_spark.release.release import Release


def by_hand(release: Release, place: tuple[int, int, int], density: float, extent_m: float) -> float | None:
    """Return the distance in cells of the nearest cell with even odds, of all cells one by one."""
    assert release.deviation is not None
    odds, ruler = Posterior.of(release.counts, release.deviation).reaches(density), Ruler.of(release.grid)
    found = []
    for cell in np.argwhere(odds >= EVEN):
        t, y, x = cell - np.array(place)
        metres = np.hypot(y * ruler.height, x * ruler.width)
        if metres <= extent_m:
            found.append(float(np.hypot(metres / ruler.side, t)))
    return min(found, default=None)


@pytest.mark.parametrize("density", [5, 60, 300, 900])
@pytest.mark.parametrize("extent_m", [2000, 9000])
def test_it_is_the_nearest_of_all_cells_with_even_odds(density: float, extent_m: float) -> None:
    release = city(seed=4)
    ruler = Ruler.of(release.grid)
    for place in ((3, 1, 1), (0, 11, 11), (15, 7, 4)):
        lat, lon = release.grid.latitudes()[place[1]], release.grid.longitudes()[place[2]]
        found = find_even_odds(release, lat, lon, place[0], density, extent_m)
        expected = by_hand(release, place, density, extent_m)
        if found is None:
            assert expected is None
            continue
        assert np.hypot(found.distance_m / ruler.side, found.slices_away) == pytest.approx(expected, abs=1e-5)
        assert found.probability >= EVEN
        assert found.count == release.counts[found.slice, found.row, found.column]


def test_of_equally_near_cells_the_likeliest_is_taken() -> None:
    counts = np.zeros((1, 5, 5))
    counts[0, 2, 1], counts[0, 2, 3] = 110, 200
    release = hand_made(counts, np.sqrt(counts + 1), box=BOX)
    lat, lon = release.grid.latitudes()[2], release.grid.longitudes()[2]
    found = find_even_odds(release, lat, lon, 0, 100)
    assert found is not None
    assert (found.row, found.column, found.slices_away) == (2, 3, 0)
