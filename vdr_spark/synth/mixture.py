"""The paper's synthetic data: a mixture of round Gaussians in the cube of box and period.

Each component is centred on a point of a 9 x 9 x 9 lattice and has the same deviation, counted in cells,
along latitude, longitude and time. What would fall outside is folded back at the cube's faces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Floats
from vdr_spark.grid import Grid
from vdr_spark.synth.pings import Pings
from vdr_spark.synth.power_law import PowerLaw

LATTICE = 9


@dataclass(frozen=True)
class Mixture:
    """Components in the unit cube of (latitude, longitude, time)."""

    centres: Floats  # (components, 3)
    cumulated: Floats  # weights summed up, ends in 1. (components,)
    sigma: Floats  # deviation along each side of the cube. (3,)

    @classmethod
    def plan(cls, seed: int, components: int, weights: str, sigma_cells: float, grid: Grid) -> Mixture:
        """Different lattice points for all components; `weights` is `equal` or `dirichlet`."""
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(2,))))
        points = rng.choice(LATTICE**3, size=components, replace=False)
        centres = (np.stack(np.unravel_index(points, (LATTICE,) * 3), axis=1) + 1) / (LATTICE + 1)
        shares = rng.dirichlet(np.ones(components)) if weights == "dirichlet" else np.ones(components)
        sigma = sigma_cells / np.array([grid.cells_per_side, grid.cells_per_side, grid.slices])
        return cls(centres, np.cumsum(shares / shares.sum()), sigma)

    def sample_block(self, rng: np.random.Generator, users: int, law: PowerLaw, grid: Grid) -> Pings:
        """Sample all pings of `users` people, each from the whole mixture."""
        owner = np.repeat(np.arange(users), law.sample(rng, users))
        last = len(self.cumulated) - 1
        component = np.minimum(np.searchsorted(self.cumulated, rng.random(len(owner)), side="right"), last)
        points = _fold(self.centres[component] + rng.standard_normal((len(owner), 3)) * self.sigma)
        box = grid.box
        seconds = grid.slice_seconds * grid.slices
        return Pings(
            user=owner,
            lat=box.south + points[:, 0] * (box.north - box.south),
            lon=box.west + points[:, 1] * (box.east - box.west),
            ts_us=round(grid.start.timestamp() * 1e6) + (points[:, 2] * seconds * 1e6).astype(np.int64),
        )


def _fold(points: Floats) -> Floats:
    """Mirror at 0 and 1 until everything is inside [0, 1)."""
    folded: Floats = np.abs((points + 1) % 2 - 1)
    return np.minimum(folded, 1 - 1e-9)
