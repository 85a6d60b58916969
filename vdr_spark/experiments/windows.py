"""Windows that follow each other, with their exact counts: real pings cut into days or months, and a generated city.

Every window of the city is a fresh sample of a place that changes slowly. Its people stay who they are, but a part of
them moves away every week; how much each is on the way varies from week to week; seasons shift what is going on from
one side to the other; somewhere, one evening of every week, there is an event that no other week has; and a district
stands empty until it opens.

All of it is exact, so it is for experiments on public or generated pings and never part of a release.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import numpy as np

from vdr_spark.arrays import Image, Integers, Mask, Slices
from vdr_spark.experiments.location_data import PRESETS, Data, read_pings
from vdr_spark.grid import Grid
from vdr_spark.synth.people import Town
from vdr_spark.synth.power_law import PowerLaw

_SEED = 7  # of the city that conf/demo.yaml has
_LAW = PowerLaw(exponent=2.7, shift=30, cutoff=90_000)
_PEOPLE = 3_000  # in a block, who move in together
_WEEKS_HERE = 12  # after which a block's people are others; each week another part of the blocks
_SEASONS, _WEEKS_OF_SEASON = 0.25, 26.0
_EVENT_SHARE = 0.004  # of a week's pings
_DISTRICT = (0.62, 0.35, 0.06)  # row, column and radius, in sides of the grid


@dataclass(frozen=True)
class Window:
    """One window: its cells, and the exact counts (T, M, M)."""

    grid: Grid
    truth: Slices


def cut_windows(path: Path, preset: str, cells: int, hours: int, slices: int, windows: int) -> list[Window]:
    """Cut real pings into windows of so many slices, from the preset's start on. Every ping counts."""
    base = PRESETS[preset]
    whole = Grid(base.box, cells, base.start, 3600 * hours, slices * windows)
    truth = read_pings(path, whole, "none").truth
    grids = [replace(whole, start=whole.slice_start(number * slices), slices=slices) for number in range(windows)]
    return [Window(grid, truth[number * slices : (number + 1) * slices]) for number, grid in enumerate(grids)]


def generate_week(week: int, cells: int, pings: int, opens: int) -> Window:
    """Sample week 0, 1, ... of a city of about so many pings a week, whose new district opens in week `opens`."""
    base = PRESETS["demo"]
    grid = Grid(base.box, cells, base.start + timedelta(weeks=week), 86_400, 7)
    town, users = Town.of(_SEED, grid), _LAW.users_for(pings)
    found = [_live(town, grid, block, week) for block in range(max(1, round(users / _PEOPLE)))]
    random = np.random.default_rng([1, week])
    flat = np.concatenate(found)
    flat = flat[random.random(len(flat)) < _share_of_season(flat, grid, week, opens)]
    truth = Data(grid, np.concatenate([flat, _event(random, grid, len(flat))]), None).truth
    return Window(grid, truth)


def district(cells: int) -> Mask:
    """Return the cells of the district that opens. (M, M)"""
    row, column, radius = _DISTRICT
    rows, columns = np.mgrid[:cells, :cells] / cells
    inside: Mask = np.hypot(rows - row, columns - column) < radius
    return inside


def _live(town: Town, grid: Grid, block: int, week: int) -> Integers:
    """Return the cells of a week's pings of a block of people, who are the same as last week's, mostly."""
    who = np.random.default_rng([_SEED, block, (week + block) // _WEEKS_HERE])
    usual, people = _LAW.sample(who, _PEOPLE), town.settle(who, _PEOPLE)
    random = np.random.default_rng([_SEED, block, week, 1])
    owner = np.repeat(np.arange(_PEOPLE), random.poisson(usual * random.gamma(2, 0.5, _PEOPLE)))
    pings = town.follow(random, people, owner)
    cells = grid.cell_of(pings.lat, pings.lon, pings.ts_us)
    return cells[cells >= 0]


def _share_of_season(flat: Integers, grid: Grid, week: int, opens: int) -> Image:
    """Return the share of pings at these cells that there are in a week. (n,)"""
    side = grid.cells_per_side
    rows, columns = np.divmod(flat % side**2, side)
    angle = 2 * math.pi * (1.3 * columns / side + 0.7 * rows / side + week / _WEEKS_OF_SEASON)
    share = (1 + _SEASONS * np.sin(angle)) / (1 + _SEASONS)
    closed = district(side)[rows, columns] if week < opens else False
    return np.where(closed, 0, share).astype(np.float32)


def _event(random: np.random.Generator, grid: Grid, pings: int) -> Integers:
    """Return the cells of a crowd, in one slice and at one place."""
    number, side, slices = int(_EVENT_SHARE * pings), grid.cells_per_side, grid.slices
    middle = random.uniform(0.3, 0.7, 2) * side
    rows, columns = (np.clip(random.normal(of, 1, number), 0, side - 1).astype(np.int64) for of in middle)
    cells: Integers = (int(random.integers(slices)) * side + rows) * side + columns
    return cells
