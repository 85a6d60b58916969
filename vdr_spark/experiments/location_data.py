"""Location data that releases are measured on: real files, and cities that `vdr synth` generates, as arrays.

In most presets every ping counts (k = 1). Where people are protected, they are those of the file (`users: own`), or a
taxi's pings cut into users whose numbers of pings follow a power law (`users: cut`). With `users: apart` the heavy ones
live apart from the light ones: the pings of a taxi north of the box's middle make users of three times as many pings,
those south of it users of half as many. All of it is exact, so it is for experiments on public or generated pings and
never part of a release.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import csv

from vdr_spark.collect.bounding import Norm
from vdr_spark.errors import InvalidInput
from vdr_spark.grid import Box, Grid
from vdr_spark.synth.blocks import Population, sample_block
from vdr_spark.synth.power_law import PowerLaw
from vdr_spark.units import WEIGHT_UNIT

Users = Literal["none", "own", "cut", "apart"]
_NORTH, _SOUTH = 3.0, 0.5  # times the pings of a user, where heavy users live apart
_PINGS_PER_BLOCK = 150_000  # expected, as `vdr synth` cuts its people
_ROWS_AT_A_TIME = 10_000_000  # of pings that are sorted by user


@dataclass(frozen=True)
class City:
    """What can be generated: its seed, how many pings people have, and about how many there are in all.

    With `sigma_cells` it is the paper's mixture of Gaussians of that deviation, in cells; without, a city.
    """

    seed: int
    law: PowerLaw
    pings: int
    sigma_cells: float | None = None


@dataclass(frozen=True)
class Preset:
    """Box, period and slices of a data set, as the paper and our design use them."""

    box: Box
    start: datetime
    hours: int  # of a slice
    slices: int
    cells: int = 576  # along each side
    users: Users = "none"  # who is protected: a ping, those of the file, or those that its pings are cut into
    k: int = 1  # pings of a user, unless said otherwise
    roam: bool = False  # vehicles, not people
    city: City | None = None  # generated where no file is given

    def grid(self, cells: int | None = None) -> Grid:
        return Grid(self.box, cells or self.cells, self.start, 3600 * self.hours, self.slices)

    def only(self, t: int) -> Preset:
        """Return the preset of slice t alone."""
        return replace(self, start=self.start + timedelta(hours=t * self.hours), slices=1)


_BEIJING = Box.around(39.9075, 116.3972, 20_000)
_HOUSTON = Box.around(29.7604, -95.3698, 20_000)
_CABS = Box(37.60793, -122.45129, 37.80792, -122.21134)
USER_SIZES = PowerLaw(exponent=2.018, shift=25.5, cutoff=30_000)
_DEMO_CITY = City(7, PowerLaw(exponent=2.7, shift=30, cutoff=90_000), 8_000_000)  # that of conf/demo.yaml
_MONDAY_IN_SF, _NIGHT_IN_HOUSTON = datetime(2008, 5, 19, tzinfo=UTC), datetime(2020, 1, 7, 6, tzinfo=UTC)
PRESETS = {
    "cabs_sf": Preset(_CABS, datetime(2008, 5, 17, tzinfo=UTC), 24, 24),
    "tdrive": Preset(_BEIJING, datetime(2008, 2, 2, tzinfo=UTC), 3, 56),
    "gowalla_nyc": Preset(Box.around(40.745, -73.985, 20_000), datetime(2009, 4, 6, tzinfo=UTC), 24 * 28, 20),
    "tdrive_users": Preset(_BEIJING, datetime(2008, 2, 2, tzinfo=UTC), 3, 56, cells=192, users="cut", k=64, roam=True),
    "tdrive_apart": Preset(
        _BEIJING, datetime(2008, 2, 2, tzinfo=UTC), 3, 56, cells=192, users="apart", k=64, roam=True
    ),
    # Nothing was tuned on these: few pings in 150 x 150 cells, as of shared bikes, and dense traces of all cabs.
    "cabs_sf_hours": Preset(_CABS, _MONDAY_IN_SF, 3, 56, cells=150),
    "cabspotting": Preset(Box.around(37.7749, -122.4194, 20_000), _MONDAY_IN_SF, 3, 56, cells=288),
    "cabspotting_users": Preset(
        Box.around(37.7749, -122.4194, 20_000), _MONDAY_IN_SF, 3, 56, cells=150, users="own", k=500, roam=True
    ),
    # Pings that `vdr synth` made of conf/demo.yaml and, with a section `synth` of its own, of conf/houston.yaml.
    "demo": Preset(_HOUSTON, _NIGHT_IN_HOUSTON, 3, 56, cells=192, users="own", k=160, city=_DEMO_CITY),
    "houston": Preset(_HOUSTON, _NIGHT_IN_HOUSTON, 3, 96, users="own", k=13, city=City(1, USER_SIZES, 50_000_000)),
}


@dataclass(frozen=True)
class Data:
    """Pings inside the grid: their cells, in file order, and who made each, where that counts."""

    grid: Grid
    cells: NDArray[np.int64]
    users: NDArray[np.int64] | None
    _last_kept: dict[tuple[int, str, int], NDArray[np.float32]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def truth(self) -> NDArray[np.float32]:
        """The exact counts, (T, M, M); not to be written to."""
        return self.counted(self.cells)

    def counted(self, cells: NDArray[np.int64], weights: NDArray[np.float64] | None = None) -> NDArray[np.float32]:
        return np.bincount(cells, weights, minlength=self.grid.size).reshape(self.grid.shape).astype(np.float32)

    def only_share(self, share: float) -> Data:
        """Return the pings of a share of the users, always the same ones: a smaller feed of the same city."""
        assert self.users is not None
        chosen = np.random.default_rng(5).random(int(self.users.max()) + 1) < share
        stays = chosen[self.users]
        if not stays.any():
            raise InvalidInput(f"a share of {share:g} of the users leaves no ping; take a larger one, or more pings")
        return Data(self.grid, self.cells[stays], self.users[stays])

    def last(self, slices: int) -> Data:
        """Return the pings of the last so many slices."""
        first = self.grid.slices - slices
        grid = replace(self.grid, start=self.grid.slice_start(first), slices=slices)
        cells = self.cells - (self.grid.size - grid.size)
        later = cells >= 0
        return Data(grid, cells[later], None if self.users is None else self.users[later])

    def kept(self, bound: int, bounding: str, draw: int) -> NDArray[np.float32]:
        """The counts that get noise: every ping, or of every user at most k, or with weights by a sum or a norm.

        Not to be written to: the last ones are remembered, since methods are compared over the same.
        """
        if self.users is None:
            return self.truth
        key = (bound, bounding, draw)
        if key not in self._last_kept:
            self._last_kept.clear()
            self._last_kept[key] = self._bound(bound, bounding, draw)
        return self._last_kept[key]

    def number_kept(self, k: int) -> int:
        """Return n: the pings that a bound of k keeps, or their weights in sum."""
        return len(self.cells) if self.users is None else int(np.minimum(np.bincount(self.users), k).sum())

    def _bound(self, k: int, bounding: str, draw: int) -> NDArray[np.float32]:
        assert self.users is not None
        if bounding == "l2":
            return self._bound_norms(k)
        pings = np.bincount(self.users)[self.users]
        if bounding == "weight":
            return self.counted(self.cells, np.minimum(1, k / pings))
        chances = np.random.default_rng([1, draw]).random(len(self.users))
        stays = (self._find_first(chances, block, k) for block in self._blocks_of_users())
        return self.counted(self.cells[np.concatenate(list(stays))])

    def _blocks_of_users(self) -> Iterator[NDArray[np.int64]]:
        """Yield the rows of so many users at a time that sorting them takes little memory beside the pings."""
        assert self.users is not None
        cumulated = np.cumsum(np.bincount(self.users))
        ends = np.unique(np.searchsorted(cumulated, np.arange(_ROWS_AT_A_TIME, cumulated[-1], _ROWS_AT_A_TIME)))
        bounds = [0, *(ends + 1), len(cumulated)]
        for low, high in pairwise(bounds):
            yield np.flatnonzero((self.users >= low) & (self.users < high))

    def _find_first(self, chances: NDArray[np.float64], rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
        """Return which of some rows, those of whole users, are among the first so many of their user by chance."""
        assert self.users is not None
        rows = rows[np.lexsort((chances[rows], self.users[rows]))]
        users = self.users[rows]
        first = np.flatnonzero(np.r_[True, users[1:] != users[:-1]])
        place = np.arange(len(users)) - np.repeat(first, np.diff(np.r_[first, len(users)]))
        return rows[place < k]

    def _bound_norms(self, norm: int) -> NDArray[np.float32]:
        """By what collect itself does with the pings of one bucket; here all are in one."""
        assert self.users is not None
        packed = self.cells.view(np.uint64) | np.uint64(1 << self.grid.size.bit_length())
        bounding = Norm(norm, self.grid.size.bit_length())
        cells, units = bounding.count_cells(int(self.users.max()) + 1, self.users.astype(np.int32), packed)
        assert units is not None
        return self.counted(cells, units / WEIGHT_UNIT)


def read_pings(path: Path, grid: Grid, users: Users) -> Data:
    """Return the pings of a file, or of a folder of Parquet files, that lie inside the grid."""
    if not path.exists():
        raise InvalidInput(f"--input: there is no file or folder {path}")
    try:
        lat, lon, us, taxi = _gowalla(path) if path.suffix == ".gz" else _parquet(path)
    except (pa.ArrowException, OSError) as problem:
        raise InvalidInput(
            f"--input: {path} cannot be read as pings ({' '.join(str(problem).split())[:200]}); give Parquet with "
            "user_id, lat, lon and ts, or check-ins as SNAP publishes them (.gz)"
        ) from None
    cells = grid.cell_of(lat, lon, us)
    inside = cells >= 0
    if not inside.any():
        raise InvalidInput(f"--input: no ping of {path} lies inside the preset's box and period; choose another preset")
    cells = cells[inside]
    if users == "none":
        return Data(grid, cells, None)
    own = np.unique(taxi[inside], return_inverse=True)[1]
    if users == "own":
        return Data(grid, cells, own)
    if users == "cut":
        return Data(grid, cells, _cut_into_users(own, us[inside]))
    return Data(grid, cells, _cut_apart(own, us[inside], lat[inside] >= (grid.box.south + grid.box.north) / 2))


def generate_pings(city: City, grid: Grid) -> Data:
    """Return the pings that `vdr synth` would write of a city, made here and without Spark; 50 million take 2 GB."""
    users, per_block = city.law.users_for(city.pings), max(1, round(_PINGS_PER_BLOCK / city.law.mean))
    kind = "city" if city.sigma_cells is None else "mixture"
    people = Population(kind, city.seed, city.law, components=50, weights="equal", sigma_cells=city.sigma_cells or 8.0)
    cells, owners = [], []
    for block, first in enumerate(range(0, users, per_block)):
        pings = sample_block(people, grid, block, min(per_block, users - first))
        found = grid.cell_of(pings.lat, pings.lon, pings.ts_us)
        cells.append(found[found >= 0])
        owners.append(pings.user[found >= 0] + first)
    return Data(grid, np.concatenate(cells), np.concatenate(owners))


Columns = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]


def _parquet(path: Path) -> Columns:
    table = pq.read_table(path, columns=["lat", "lon", "ts", "user_id"])
    lat, lon, user = (table.column(name).to_numpy() for name in ("lat", "lon", "user_id"))
    us = table.column("ts").cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy()
    return lat, lon, us, user


def _gowalla(path: Path) -> Columns:
    """SNAP's format: user, ISO time, lat, lon, place."""
    names = ["user", "ts", "lat", "lon", "place"]
    options = {"read_options": csv.ReadOptions(column_names=names), "parse_options": csv.ParseOptions(delimiter="\t")}
    table = csv.read_csv(path, **options)
    us = table.column("ts").cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy()
    return table.column("lat").to_numpy(), table.column("lon").to_numpy(), us, table.column("user").to_numpy()


def _cut_into_users(taxi: NDArray[np.int64], us: NDArray[np.int64], times: float = 1.0) -> NDArray[np.int64]:
    """Taxis in random order, each in time order, cut into users whose numbers of pings follow a power law, `times` it.

    They are numbered from 0.
    """
    random = np.random.default_rng(0)
    order = np.lexsort((us, random.permutation(taxi.max() + 1)[taxi]))
    sizes = USER_SIZES.sample(random, round(4 * USER_SIZES.users_for(len(taxi)) / min(times, 1)) + 1000)
    sizes = np.maximum(1, np.rint(times * sizes)).astype(np.int64)
    users = np.empty(len(taxi), np.int64)
    users[order] = np.searchsorted(np.cumsum(sizes), np.arange(len(taxi)), side="right")
    return users


def _cut_apart(taxi: NDArray[np.int64], us: NDArray[np.int64], north: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Cut the pings of either half into users of its own."""
    users = np.empty(len(taxi), np.int64)
    users[north] = _cut_into_users(taxi[north], us[north], _NORTH)
    users[~north] = users[north].max() + 1 + _cut_into_users(taxi[~north], us[~north], _SOUTH)
    return users
