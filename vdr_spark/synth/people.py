"""The pings of a block of people, sampled at once.

Everyone has a home, a place of work and five favourite places. A phone reports in sessions of about seven
pings: either at one place, scattered by its GPS, or along a trip between two. When a session begins decides
what its person is likely to do then. Loops over people or pings would take hours; there are none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Floats, Integers, Mask
from vdr_spark.grid import Grid
from vdr_spark.synth.city import City, plan_city
from vdr_spark.synth.pings import Pings
from vdr_spark.synth.power_law import PowerLaw
from vdr_spark.synth.rhythm import HOME, LEISURE, TRIP, WORK, Rhythm
from vdr_spark.synth.roads import Roads

_WORKING = 0.68  # share of people who go to work on working days
_PINGS_PER_SESSION = 7
_FAVOURITES = np.cumsum([0.38, 0.24, 0.17, 0.13, 0.08])
_GPS_METRES = 11.0
_MATCH_DAYS = (2, 5)  # Wednesday and Saturday


@dataclass(frozen=True)
class Town:
    """A city with its roads and its week: all that people need to live in."""

    city: City
    roads: Roads
    rhythm: Rhythm

    @classmethod
    def of(cls, seed: int, grid: Grid) -> Town:
        city = plan_city(seed, grid.box)
        return cls(city, Roads.of(city.ground, seed), Rhythm.of(grid))

    def sample_block(self, rng: np.random.Generator, users: int, law: PowerLaw) -> Pings:
        """Sample all pings of `users` people."""
        owner = np.repeat(np.arange(users), law.sample(rng, users))
        return self.follow(rng, self.settle(rng, users), owner)

    def settle(self, rng: np.random.Generator, users: int) -> People:
        """Sample where `users` people live, work and go out."""
        return _settle(rng, self, users)

    def follow(self, rng: np.random.Generator, people: People, owner: Integers) -> Pings:
        """Sample pings of people who have settled; `owner` says whose each is, in rising order. (n,)"""
        opens = rng.random(len(owner)) < 1 / _PINGS_PER_SESSION
        opens[np.flatnonzero(np.diff(owner, prepend=-1))] = True
        session = np.cumsum(opens) - 1
        sessions = _begin(rng, self, people, owner[opens])
        points, seconds = _follow(rng, self, people, sessions, session)
        lat, lon = self.city.ground.to_world(points)
        return Pings(owner, lat, lon, self.rhythm.moments(sessions.bins[session], seconds))


@dataclass(frozen=True)
class People:
    home: Floats  # (n, 2)
    work: Floats  # (n, 2)
    works: Mask  # (n,)
    favourites: Integers  # numbers of places, the dearest first. (n, 5)


@dataclass(frozen=True)
class Sessions:
    user: Integers  # (s,)
    bins: Integers  # quarter hours they begin in. (s,)
    activity: Integers  # (s,)


def _settle(rng: np.random.Generator, town: Town, users: int) -> People:
    home = town.roads.along_streets(rng, town.city.homes.sample(rng, users))
    work = town.roads.along_streets(rng, town.city.jobs.sample(rng, users))
    flies = rng.random(users) < 0.012
    work[flies] = town.city.airport + 260 * rng.standard_normal((int(flies.sum()), 2)) * [1.0, 0.35]
    return People(home, work, rng.random(users) < _WORKING, _favourites(rng, town.city, home))


def _favourites(rng: np.random.Generator, city: City, home: Floats) -> Integers:
    """Popular places, but not the far ones: of four sampled by popularity the nearest. (n, 5)"""
    candidates = _popular(rng, city, (len(home), len(_FAVOURITES), 4))
    distance = ((city.leisure.at[candidates] - home[:, None, None]) ** 2).sum(axis=3)
    nearest = distance.argmin(axis=2)[..., None]
    return np.take_along_axis(candidates, nearest, axis=2)[..., 0]


def _popular(rng: np.random.Generator, city: City, shape: tuple[int, ...]) -> Integers:
    found = np.searchsorted(city.leisure.cumulated, rng.random(shape), side="right")
    return np.minimum(found, len(city.leisure.at) - 1).astype(np.int64)


def _begin(rng: np.random.Generator, town: Town, people: People, user: Integers) -> Sessions:
    bins = town.rhythm.sample_bins(rng, len(user))
    return Sessions(user, bins, town.rhythm.sample_activities(rng, bins, people.works[user]))


def _follow(
    rng: np.random.Generator, town: Town, people: People, sessions: Sessions, session: Integers
) -> tuple[Floats, Floats]:
    """Where each ping is sent, and how many seconds after its session's quarter hour began."""
    stay, length = _stays(rng, town, people, sessions)
    begin = rng.random(len(length)) * 900
    moved = np.flatnonzero(sessions.activity == TRIP)
    start, goal = _ends(rng, town, people, sessions.user[moved], sessions.bins[moved])
    routes = town.roads.routes(rng, start, goal)
    length[moved] = routes.seconds
    share = rng.random(len(session))
    points = stay[session]
    trip = np.full(len(stay), -1)
    trip[moved] = np.arange(len(moved))
    travelling = np.flatnonzero(trip[session] >= 0)
    points[travelling] = town.roads.positions(routes, trip[session[travelling]], share[travelling])
    return points + _gps_error(rng, len(points)), begin[session] + share * length[session]


def _stays(rng: np.random.Generator, town: Town, people: People, sessions: Sessions) -> tuple[Floats, Floats]:
    """Where a session's person is, and for how many seconds the session lasts. (s, 2), (s,)"""
    at = people.home[sessions.user]
    spread = np.full(len(at), 5.0)
    busy = sessions.activity == WORK
    at[busy], spread[busy] = people.work[sessions.user[busy]], 22.0
    out = np.flatnonzero(sessions.activity == LEISURE)
    at[out], spread[out] = _outings(rng, town, people, sessions.user[out], sessions.bins[out])
    seconds = np.where(sessions.activity == HOME, 1500, 900) * rng.standard_exponential(len(at))
    return at + spread[:, None] * rng.standard_normal(at.shape), seconds


def _outings(
    rng: np.random.Generator, town: Town, people: People, user: Integers, bins: Integers
) -> tuple[Floats, Floats]:
    """A favourite place mostly, a popular one at times, the stadium when there is a match, or the airport."""
    rank = np.searchsorted(_FAVOURITES, rng.random(len(user)) * _FAVOURITES[-1], side="right")
    place = people.favourites[user, np.minimum(rank, len(_FAVOURITES) - 1)]
    place = np.where(rng.random(len(user)) < 0.14, _popular(rng, town.city, user.shape), place)
    at, spread = town.city.leisure.at[place], town.city.leisure.spread[place]
    hour, day = town.rhythm.hour[bins], town.rhythm.day[bins]
    match = np.isin(day, _MATCH_DAYS) & (hour > 18) & (hour < 22) & (rng.random(len(user)) < 0.2)
    at[match], spread[match] = town.city.stadium, min(85.0, town.city.ground.reach / 50)
    flight = ~match & (rng.random(len(user)) < 0.035)
    at[flight], spread[flight] = town.city.airport, min(190.0, town.city.ground.reach / 50)
    return at, spread


def _ends(
    rng: np.random.Generator, town: Town, people: People, user: Integers, bins: Integers
) -> tuple[Floats, Floats]:
    """Both ends of trips: to work and back in the rush hours, else between home and somewhere. (n, 2) each"""
    hour, workday = town.rhythm.hour[bins], town.rhythm.day[bins] < 5
    rush = (np.abs(hour - 7.8) < 2.2) | (np.abs(hour - 17.5) < 2)
    commutes = people.works[user] & workday & (rng.random(len(user)) < np.where(rush, 0.8, 0.25))
    elsewhere, _ = _outings(rng, town, people, user, bins)
    away = np.where(commutes[:, None], people.work[user], elsewhere)
    home = people.home[user]
    passing = rng.random(len(user)) < 0.06
    home[passing] = town.roads.gates(rng, int(passing.sum()))
    leaves = np.where(commutes, hour < 12, rng.random(len(user)) < 0.5)[:, None]
    return np.where(leaves, home, away), np.where(leaves, away, home)


def _gps_error(rng: np.random.Generator, size: int) -> Floats:
    """Metres; one ping in 25 is a bad one, between high buildings. (size, 2)"""
    deviation = np.where(rng.random(size) < 0.04, 5 * _GPS_METRES, _GPS_METRES)
    error: Floats = rng.standard_normal((size, 2)) * deviation[:, None]
    return error
