"""What collecting will cost, from figures measured per ping and per cell. `vdr explain` and docs/scale.md use it.

Everything is worked out from public settings, the declared number of pings among them; no data are looked at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from vdr_spark.plan import Plan

# Microseconds of one core (a hardware thread), from processor times at 50 million pings, rounded up; docs/scale.md.
_READ_BY_SPARK = 0.60  # a ping: scan, hand to Python, locate, pack
_READ_DIRECTLY = 0.24  # the same, where tasks read the Parquet files themselves
_BOUND_AND_COUNT = 0.40  # a ping: through the shuffle, sort, count
_NOISE = 1.0  # a cell: draw, write

# Bytes.
_SHUFFLED = 20  # a ping: a word of 8 and, where nearly all pings of a chunk have different users, 12 for the user
_HELD = 75  # a ping, in the task that bounds its user: packed, unpacked, sorted; many users again
_STORED = 24  # a ping in Parquet: what must be read

PINGS_PER_TASK = 4_000_000  # that bounds users: about 300 MB


@dataclass(frozen=True)
class Cost:
    """The cost of one collect, all cores and machines together."""

    pings: float
    cells: int
    tasks: int
    read_core_s: float
    bound_core_s: float
    noise_core_s: float

    @property
    def core_s(self) -> float:
        return self.read_core_s + self.bound_core_s + self.noise_core_s

    @property
    def shuffled(self) -> float:
        """Bytes written to, and read from, local disks."""
        return self.pings * _SHUFFLED

    @property
    def read(self) -> float:
        """Bytes read from storage."""
        return self.pings * _STORED

    @property
    def task_memory(self) -> float:
        """Bytes that a task which bounds users holds, beside an array of all cells at most."""
        return self.pings / self.tasks * _HELD + 8 * min(self.cells, 16 * self.pings / self.tasks)

    @property
    def dominant(self) -> str:
        """The largest of the terms."""
        terms = {"reading": self.read_core_s, "bounding": self.bound_core_s, "noise": self.noise_core_s}
        return max(terms, key=lambda name: terms[name])


def tasks_for(pings: float, at_least: int) -> int:
    """Return how many tasks bound users: so many that each holds a few million pings, whatever Spark's default says."""
    return max(at_least, math.ceil(pings / PINGS_PER_TASK))


def cost_of(pings: float, cells: int, at_least_tasks: int = 200, direct: bool = False) -> Cost:
    """Return the cost of collecting so many pings into so many cells."""
    read = _READ_DIRECTLY if direct else _READ_BY_SPARK
    tasks = tasks_for(pings, at_least_tasks)
    return Cost(pings, cells, tasks, *(1e-6 * us for us in (pings * read, pings * _BOUND_AND_COUNT, cells * _NOISE)))


def estimate_cost(plan: Plan, total_pings: int) -> Cost:
    """Return the cost of a plan's collect; reading is taken to go through Spark unless the settings say otherwise."""
    return cost_of(total_pings, plan.cells, direct=plan.config.input.reader == "direct")
