"""When people are where: the hours of a day, for working days and weekends.

Hours are local. The configuration's box gives the longitude, and 15 degrees make an hour: Houston's clocks
come out right, a city far from its zone's meridian is an hour off, and no time zone database is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Floats, Integers, Mask
from vdr_spark.grid import Grid

HOME, WORK, LEISURE, TRIP = range(4)
_BIN_SECONDS = 900
_Knots = dict[float, float]  # hour: value, straight lines between

# Pings an hour, relative: phones report less while nothing moves.
_USE: _Knots = {
    0: 0.5,
    2: 0.35,
    5: 0.4,
    7: 0.9,
    9: 1.1,
    12: 1.2,
    15: 1.15,
    17.5: 1.4,
    20: 1.3,
    22: 0.9,
    24: 0.5,
}

# Share of the pings sent at home and on the way; what is left is divided between work and leisure.
_AT_HOME: dict[str, _Knots] = {
    "working": {
        0: 0.94,
        5: 0.95,
        6.5: 0.72,
        8.5: 0.16,
        10: 0.06,
        15.5: 0.07,
        18: 0.36,
        20: 0.6,
        22: 0.84,
        24: 0.94,
    },
    "free": {0: 0.9, 6: 0.95, 9: 0.76, 12: 0.5, 16: 0.46, 19: 0.5, 22: 0.76, 24: 0.9},
}
_ON_THE_WAY: dict[str, _Knots] = {
    "working": {
        0: 0.02,
        5: 0.03,
        7: 0.22,
        8: 0.34,
        9.5: 0.12,
        12: 0.1,
        15: 0.12,
        17.3: 0.34,
        19: 0.17,
        22: 0.06,
        24: 0.02,
    },
    "free": {0: 0.03, 6: 0.02, 10: 0.14, 14: 0.17, 18: 0.16, 22: 0.08, 24: 0.03},
}
# Of what is left, the share at work: lunch breaks, and shops and bars in the evening.
_OF_REST_WORK: _Knots = {
    0: 0.3,
    6: 0.85,
    9: 0.95,
    11.7: 0.9,
    12.5: 0.66,
    13.5: 0.9,
    16.5: 0.85,
    18.5: 0.3,
    21: 0.1,
    24: 0.3,
}


@dataclass(frozen=True)
class Rhythm:
    """The period cut into quarter hours, and what people do in each."""

    start_us: int
    period_us: int
    cumulated: Floats  # share of pings up to the end of each bin. (bins,)
    hour: Floats  # local hour of each bin's middle, 0 to 24. (bins,)
    day: Integers  # local day of each bin, 0 = Monday. (bins,)
    activity: Floats  # cumulated shares of HOME, WORK, LEISURE, TRIP. (2: free or working, bins, 4)

    @classmethod
    def of(cls, grid: Grid) -> Rhythm:
        seconds = grid.slice_seconds * grid.slices
        offset = 3600 * round((grid.box.west + grid.box.east) / 2 / 15)
        middles = np.arange(0, seconds, _BIN_SECONDS) + _BIN_SECONDS / 2
        local = grid.start.timestamp() + offset + middles
        hour = local % 86_400 / 3600
        day = (local // 86_400 + 3).astype(np.int64) % 7  # 1970 began on a Thursday
        use = np.cumsum(_at(_USE, hour))
        activity = np.stack([_shares(hour, np.zeros(len(day), bool)), _shares(hour, day < 5)])
        start_us = round(grid.start.timestamp() * 1_000_000)
        return cls(start_us, seconds * 1_000_000, use / use[-1], hour, day, np.cumsum(activity, axis=2))

    def sample_bins(self, rng: np.random.Generator, size: int) -> Integers:
        """Sample quarter hours in which something begins, as often as phones are used in them. (size,)"""
        found = np.searchsorted(self.cumulated, rng.random(size), side="right")
        return np.minimum(found, len(self.cumulated) - 1).astype(np.int64)

    def sample_activities(self, rng: np.random.Generator, bins: Integers, works: Mask) -> Integers:
        """Sample HOME, WORK, LEISURE or TRIP for each bin, by whether the person goes to work. (n,)"""
        shares = self.activity[works.astype(np.int64), bins]  # (n, 4)
        activities: Integers = (rng.random(len(bins))[:, None] >= shares[:, :3]).sum(axis=1)
        return activities

    def moments(self, bins: Integers, seconds: Floats) -> Integers:
        """Microseconds since 1970, `seconds` after a bin begins; past the period's end is its begin."""
        offset = bins * (_BIN_SECONDS * 1_000_000) + (seconds * 1e6).astype(np.int64)
        return self.start_us + offset % self.period_us


def _at(knots: _Knots, hour: Floats) -> Floats:
    return np.interp(hour, list(knots), list(knots.values()))


def _shares(hour: Floats, working: Mask) -> Floats:
    """Shares of the four activities in bins of working and of free time. (bins, 4)"""
    home = np.where(working, _at(_AT_HOME["working"], hour), _at(_AT_HOME["free"], hour))
    trip = np.where(working, _at(_ON_THE_WAY["working"], hour), _at(_ON_THE_WAY["free"], hour))
    rest = np.maximum(1 - home - trip, 0)
    work = rest * np.where(working, _at(_OF_REST_WORK, hour), 0.12)
    shares = np.stack([home, work, rest - work, trip], axis=1)
    normal: Floats = shares / shares.sum(axis=1, keepdims=True)
    return normal
