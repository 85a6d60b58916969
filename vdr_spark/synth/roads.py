"""Streets, arterials, a ring road and radial highways of a planned city, and the routes that people drive.

Arterials run every kilometre, and the streets between two of them divide it into 5 to 11 parts, each block of
a square kilometre in its own way. A route has five legs: to the next arterial, along it, the long middle leg
(another arterial, a highway or the ring, whichever is quickest), and the same again at the other end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Floats, Integers, Mask
from vdr_spark.synth.ground import Ground

_STREET, _ARTERIAL, _HIGHWAY = 6.0, 8.5, 24.0  # metres a second
_BLOCKS = 64  # the pattern of streets repeats after as many kilometres


@dataclass(frozen=True)
class Routes:
    """Ways of n trips. A leg is straight, but for middle legs on the ring road."""

    corners: Floats  # (n, 6, 2)
    until: Floats  # share of the way at the end of each leg. (n, 5)
    seconds: Floats  # (n,)
    on_ring: Mask  # (n,)
    arc: Floats  # where on the ring the middle leg begins, and how far it goes, in radians. (n, 2)
    bridged: Mask  # whether the middle leg may cross water. (n,)


@dataclass(frozen=True)
class Roads:
    ground: Ground
    spacing: float  # of arterials, metres
    parts: Floats  # streets between two arterials, per block and direction. (_BLOCKS, _BLOCKS, 2)
    radials: Floats  # directions of the highways out of downtown, radians. (5,)
    ring: float  # radius of the ring road, metres
    bridges: Floats  # u of the arterials that cross the river, ascending

    @classmethod
    def of(cls, ground: Ground, seed: int) -> Roads:
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(3,))))
        spacing = min(1000.0, ground.reach / 5)
        parts = rng.integers(5, 12, (_BLOCKS, _BLOCKS, 2)).astype(np.float64)
        # Far from the axis of u, along which a highway would be an arterial.
        radials = np.radians([38, 100, 148, 222, 317]) + rng.uniform(-0.14, 0.14, 5)
        numbers = np.arange(-math.ceil(ground.half[0] / spacing), math.ceil(ground.half[0] / spacing) + 1)
        carried = rng.random(len(numbers)) < np.where(np.abs(numbers) < 4, 0.8, 0.4)
        carried[len(numbers) // 2] = True
        return cls(ground, spacing, parts, radials, 0.52 * ground.reach, numbers[carried] * spacing)

    def along_streets(self, rng: np.random.Generator, points: Floats) -> Floats:
        """The points moved to the sides of the streets next to them, where buildings are. (n, 2)"""
        block = np.floor(points / self.spacing).astype(np.int64) % _BLOCKS
        axis = rng.integers(0, 2, len(points))
        rows = np.arange(len(points))
        width = self.spacing / self.parts[block[:, 0], block[:, 1], axis]
        side = rng.choice([-1.0, 1.0], len(points)) * (13 + 3 * rng.standard_normal(len(points)))
        moved = points.copy()
        moved[rows, axis] = np.round(points[rows, axis] / width) * width + side
        return moved

    def gates(self, rng: np.random.Generator, size: int) -> Floats:
        """Points where highways leave the box. (size, 2)"""
        angle = self.radials[rng.integers(0, len(self.radials), size)]
        direction = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        edge: Floats = (self.ground.half / np.maximum(np.abs(direction), 1e-9)).min(axis=1)
        gates: Floats = self.ground.downtown + direction * (1.12 * edge[:, None])
        return gates

    def routes(self, rng: np.random.Generator, start: Floats, goal: Floats) -> Routes:
        """The quickest way for each trip, as drivers see it: their estimates differ a little."""
        rows = np.round(np.stack([start[:, 1], goal[:, 1]], axis=1) / self.spacing) * self.spacing  # (n, 2)
        middles = [self._by_arterial(rng, start, goal, rows), self._by_ring(start, goal, rows)]
        middles += [self._by_radial(angle, rows) for angle in self.radials]
        u1, u2, seconds = (np.stack(columns, axis=1) for columns in zip(*middles, strict=True))  # (n, 7)
        total = np.abs(u1 - start[:, :1]) / _ARTERIAL + seconds + np.abs(u2 - goal[:, :1]) / _ARTERIAL
        best = np.argmin(total * rng.lognormal(0, 0.12, total.shape), axis=1)
        chosen = np.arange(len(start)), best
        return self._drive(start, goal, rows, np.stack([u1[chosen], u2[chosen]], axis=1), seconds[chosen], best)

    def positions(self, routes: Routes, trip: Integers, share: Floats) -> Floats:
        """Where trips are after a share of their way. (m, 2)"""
        until = routes.until[trip]
        leg = (share[:, None] >= until[:, :4]).sum(axis=1)
        begins = np.where(leg > 0, until[np.arange(len(leg)), np.maximum(leg - 1, 0)], 0.0)
        length = np.maximum(until[np.arange(len(leg)), leg] - begins, 1e-12)
        part = (share - begins) / length
        points = routes.corners[trip, leg] * (1 - part)[:, None] + routes.corners[trip, leg + 1] * part[:, None]
        turning = routes.on_ring[trip] & (leg == 2)
        angle = routes.arc[trip[turning], 0] + part[turning] * routes.arc[trip[turning], 1]
        points[turning] = self.ground.downtown + self.ring * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return self._dry(points, routes.bridged[trip] & (leg == 2))

    def _by_arterial(
        self, rng: np.random.Generator, start: Floats, goal: Floats, rows: Floats
    ) -> tuple[Floats, Floats, Floats]:
        between = start[:, 0] + rng.random(len(start)) * (goal[:, 0] - start[:, 0])
        u = np.round(between / self.spacing) * self.spacing
        bridge = self.bridges[np.abs(self.bridges[:, None] - between).argmin(axis=0)]
        u = np.where(self._crosses(start, goal), bridge, u)
        return u, u, np.abs(rows[:, 1] - rows[:, 0]) / _ARTERIAL

    def _by_radial(self, angle: float, rows: Floats) -> tuple[Floats, Floats, Floats]:
        out = rows - self.ground.downtown[1]
        u = self.ground.downtown[0] + out / math.tan(angle)
        # A highway begins downtown: rows on the other side do not meet it.
        there = (out * math.sin(angle) >= 0).all(axis=1)
        seconds = np.abs(rows[:, 1] - rows[:, 0]) / abs(math.sin(angle)) / _HIGHWAY
        return u[:, 0], u[:, 1], np.where(there, seconds, np.inf)

    def _by_ring(self, start: Floats, goal: Floats, rows: Floats) -> tuple[Floats, Floats, Floats]:
        out = rows - self.ground.downtown[1]
        side = np.sign(np.stack([start[:, 0], goal[:, 0]], axis=1) - self.ground.downtown[0])
        u = self.ground.downtown[0] + side * np.sqrt(np.maximum(self.ring**2 - out**2, 0))
        there = (np.abs(out) < 0.97 * self.ring).all(axis=1)
        seconds = self.ring * np.abs(self._arc(u, rows)[:, 1]) / _HIGHWAY
        return u[:, 0], u[:, 1], np.where(there, seconds, np.inf)

    def _arc(self, u: Floats, rows: Floats) -> Floats:
        """Begin, and way to the end by the shorter side, of the arc between two points of the ring. (n, 2)"""
        angle = np.arctan2(rows - self.ground.downtown[1], u - self.ground.downtown[0])
        way = (angle[:, 1] - angle[:, 0] + math.pi) % (2 * math.pi) - math.pi
        return np.stack([angle[:, 0], way], axis=1)

    def _drive(self, start: Floats, goal: Floats, rows: Floats, u: Floats, middle: Floats, kind: Integers) -> Routes:
        corners = np.stack(
            [
                start,
                np.stack([start[:, 0], rows[:, 0]], axis=1),
                np.stack([u[:, 0], rows[:, 0]], axis=1),
                np.stack([u[:, 1], rows[:, 1]], axis=1),
                np.stack([goal[:, 0], rows[:, 1]], axis=1),
                goal,
            ],
            axis=1,
        )
        legs = np.abs(np.diff(corners, axis=1)).sum(axis=2)
        legs[:, 2] = middle * np.where(kind == 0, _ARTERIAL, _HIGHWAY)
        seconds = middle + legs[:, [0, 4]].sum(axis=1) / _STREET + legs[:, [1, 3]].sum(axis=1) / _ARTERIAL
        # A moving phone reports by metres rather than by minutes, so the legs' shares are those of the way.
        until = np.cumsum(legs, axis=1) / np.maximum(legs.sum(axis=1), 1.0)[:, None]
        bridged = (kind > 0) | self._crosses(start, goal)
        return Routes(corners, until, seconds, kind == 1, self._arc(u, rows), bridged)

    def _crosses(self, start: Floats, goal: Floats) -> Mask:
        north, ends_north = (points[:, 1] > self.ground.river_at(points[:, 0]) for points in (start, goal))
        crosses: Mask = north != ends_north
        return crosses

    def _dry(self, points: Floats, bridged: Mask) -> Floats:
        """Points in the water moved to the nearer bank: a road runs along the river on both sides."""
        middle = self.ground.river_at(points[:, 0])
        away = points[:, 1] - middle
        bank = self.ground.river_width / 2 + 15
        wet = (np.abs(away) < bank) & ~bridged
        points[:, 1] = np.where(wet, middle + np.where(away < 0, -bank, bank), points[:, 1])
        return points
