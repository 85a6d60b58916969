"""What makes the pings look like a city: water without people, roads, days that differ from nights."""

from datetime import UTC, datetime

import numpy as np
import pytest

from vdr_spark.grid import METRES_PER_DEGREE, Box, Grid
from vdr_spark.synth.people import Town
from vdr_spark.synth.pings import Pings
from vdr_spark.synth.power_law import PowerLaw
from vdr_spark.synth.rhythm import HOME, LEISURE, TRIP, WORK, Rhythm

# From Tuesday midnight in Houston, seven days.
GRID = Grid(Box.around(29.7604, -95.3698, 20_000), 192, datetime(2020, 1, 7, 6, tzinfo=UTC), 10_800, 56)
LAW = PowerLaw(2.5, 60, 5_000)


def rng(seed: int = 11) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


@pytest.fixture(scope="module")
def town() -> Town:
    return Town.of(7, GRID)


@pytest.fixture(scope="module")
def pings(town: Town) -> Pings:
    return town.sample_block(rng(), 3000, LAW)


def test_nearly_all_pings_are_in_the_domain_and_all_in_the_period(pings: Pings) -> None:
    outside = (GRID.cell_of(pings.lat, pings.lon, pings.ts_us) < 0).mean()
    assert outside < 0.02
    assert pings.ts_us.min() >= GRID.start.timestamp() * 1e6
    assert pings.ts_us.max() < GRID.end.timestamp() * 1e6


def test_boxes_of_any_size_and_shape() -> None:
    for box in (Box.around(0, 0, 900), Box(50.0, 8.0, 50.1, 9.0), Box(-10.0, 20.0, 10.0, 40.0)):
        grid = Grid(box, 16, GRID.start, 3600, 30)
        drawn = Town.of(3, grid).sample_block(rng(), 200, LAW)
        assert (grid.cell_of(drawn.lat, drawn.lon, drawn.ts_us) < 0).mean() < 0.1


def test_homes_and_jobs_keep_out_of_the_river(town: Town) -> None:
    ground = town.city.ground
    for density in (town.city.homes, town.city.jobs):
        points = density.sample(rng(), 20_000)
        away = np.abs(points[:, 1] - ground.river_at(points[:, 0]))
        assert (away < ground.river_width / 4).mean() < 0.001


def test_routes_cross_the_river_on_bridges_only(town: Town) -> None:
    start, goal = town.city.homes.sample(rng(1), 4000), town.city.jobs.sample(rng(2), 4000)
    routes = town.roads.routes(rng(3), start, goal)
    trip = np.repeat(np.arange(4000), 20)
    at = town.roads.positions(routes, trip, rng(4).random(len(trip)))
    ground = town.city.ground
    wet = np.abs(at[:, 1] - ground.river_at(at[:, 0])) < ground.river_width / 2
    assert 0 < wet.mean() < 0.05
    assert routes.bridged[trip[wet]].all()


def test_routes_begin_and_end_where_they_should(town: Town) -> None:
    start, goal = town.city.homes.sample(rng(1), 500), town.city.jobs.sample(rng(2), 500)
    routes = town.roads.routes(rng(3), start, goal)
    trips = np.arange(500)
    for share, ends in ((0.0, start), (1 - 1e-9, goal)):
        gap = np.abs(town.roads.positions(routes, trips, np.full(500, share)) - ends).max(axis=1)
        # A stub that ends in the water is moved to the bank.
        assert np.median(gap) < 0.01
        assert gap.max() < town.city.ground.river_width


def test_homes_stand_along_streets(town: Town) -> None:
    points = town.city.homes.sample(rng(1), 5000)
    homes = town.roads.along_streets(rng(2), points)
    spacing = town.roads.spacing
    parts = town.roads.parts[tuple((np.floor(points / spacing).astype(int) % 64).T)]  # (n, 2)
    width = spacing / parts
    to_street = np.abs(homes - np.round(homes / width) * width).min(axis=1)
    assert np.quantile(to_street, 0.99) < 22
    assert np.median(to_street) > 4


def test_nights_are_at_home_and_noons_at_work(town: Town) -> None:
    bins = np.arange(len(town.rhythm.hour))
    working = town.rhythm.activity[1]
    shares = np.diff(working, axis=1, prepend=0)  # (bins, 4)
    tuesday = town.rhythm.day == 1

    def at(hour: float) -> np.ndarray:
        here: np.ndarray = shares[bins[tuesday][np.abs(town.rhythm.hour[tuesday] - hour).argmin()]]
        return here

    assert at(3)[HOME] > 0.9
    assert at(11)[WORK] > 0.6
    assert at(8)[TRIP] > 2 * at(14)[TRIP]
    assert at(20.5)[LEISURE] > at(10)[LEISURE]
    saturday = town.rhythm.day == 5
    assert shares[saturday][:, WORK].max() < 0.15


def test_hours_are_local(town: Town) -> None:
    """The period begins at midnight in Houston, on a Tuesday, which is 6 o'clock UTC."""
    assert town.rhythm.hour[0] == pytest.approx(0.125)
    assert town.rhythm.day[0] == 1
    tokyo = Rhythm.of(Grid(Box.around(35.68, 139.77, 20_000), 10, datetime(2020, 1, 7, tzinfo=UTC), 3600, 24))
    assert tokyo.hour[0] == pytest.approx(9.125)


def test_a_person_is_mostly_at_a_few_places(pings: Pings) -> None:
    user = np.bincount(pings.user).argmax()
    mine = pings.user == user
    places = np.round(np.stack([pings.lat[mine], pings.lon[mine]]) * METRES_PER_DEGREE / 150).astype(int)
    visits = np.sort(np.unique(places, axis=1, return_counts=True)[1])[::-1]
    assert visits[:20].sum() > 0.5 * mine.sum()


def test_the_city_is_uneven_as_cities_are(pings: Pings) -> None:
    image, *_ = np.histogram2d(
        pings.lat,
        pings.lon,
        bins=96,
        range=[[GRID.box.south, GRID.box.north], [GRID.box.west, GRID.box.east]],
    )
    ranked = np.sort(image.ravel())[::-1] / image.sum()
    assert ranked[: len(ranked) // 20].sum() > 0.35  # a twentieth of the area has a third of the pings
    assert (image == 0).mean() > 0.05


def test_one_person_with_ninety_thousand_pings(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PowerLaw, "sample", lambda _law, _rng, size: np.full(size, 90_000))
    pings = town.sample_block(rng(), 1, LAW)
    assert len(pings) == 90_000
    assert (GRID.cell_of(pings.lat, pings.lon, pings.ts_us) < 0).mean() < 0.05
