"""What collecting will cost, from figures measured per ping and per cell. `vdr explain` and docs/scale.md use it.

Everything is worked out from public settings, the declared number of pings among them; no data are looked at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from vdr_spark.plan import Plan
from vdr_spark.price import Currency

# Microseconds of one core (a hardware thread), from processor times at 50 million pings, rounded up; docs/scale.md.
_READ_BY_SPARK = 0.60  # a ping: scan, hand to Python, locate, pack
_READ_DIRECTLY = 0.24  # the same, where tasks read the Parquet files themselves
_BOUND_AND_COUNT = 0.40  # a ping: through the shuffle, sort, count
_NOISE = 0.3  # a cell: draw, write

# Bytes.
_SHUFFLED = 20  # a ping: a word of 8 and, where nearly all pings of a chunk have different users, 12 for the user
_HELD = 75  # a ping, in the task that bounds its user: packed, unpacked, sorted; many users again
_STORED = 24  # a ping in Parquet: what must be read

_CELL_ROW = 10  # of `cells` in Parquet: its count and deviation hardly compress, the rest nearly vanishes
_TENSOR_COPIES = 25  # of float32 that denoising holds at once
_SHOWN_COPIES = 11  # of all slices that it is shown, where earlier windows are among them
MOST_CELLS_SHOWN = 100_000_000  # of them together: a tensor of 400 MB
_TENSORS_KEPT = 3  # of them at the least, to be written: counts, deviations, what was expected

# What a task takes at most: about 300 MB of pings, or 64 MB of cells. Less than the other is not worth a task.
PINGS_PER_TASK, CELLS_PER_TASK = 4_000_000, 8_000_000
_WORTH_A_TASK = 16  # part of that
_SMALL_PINGS = PINGS_PER_TASK // 4
SPARKS_DEFAULT = 200  # its spark.sql.shuffle.partitions


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


def tasks_for(amount: float, per_task: int, usual: int) -> int:
    """Return how many tasks share so many pings or cells: the usual number, unless that is too few or far too many.

    `usual` is what Spark is set to. Its default of 200 takes minutes where there is little to do.
    """
    worth = math.ceil(_WORTH_A_TASK * amount / per_task)
    return max(1, min(usual, worth), math.ceil(amount / per_task))


def expected_tasks(plan: Plan) -> int:
    """Return how many tasks collecting will have at least, by what is declared: those that count, and add noise."""
    pings = 0 if plan.declared_total is None else math.ceil(plan.declared_total / PINGS_PER_TASK)
    return pings + math.ceil(plan.cells / CELLS_PER_TASK)


def is_small(plan: Plan) -> bool:
    """Whether one task would do for all of it, by what is declared: then starting takes longer than the work."""
    return plan.declared_total is not None and plan.declared_total <= _SMALL_PINGS and plan.cells <= CELLS_PER_TASK


def cost_of(pings: float, cells: int, usual_tasks: int = SPARKS_DEFAULT, direct: bool = False) -> Cost:
    """Return the cost of collecting so many pings into so many cells."""
    read = _READ_DIRECTLY if direct else _READ_BY_SPARK
    tasks = tasks_for(pings, PINGS_PER_TASK, usual_tasks)
    return Cost(pings, cells, tasks, *(1e-6 * us for us in (pings * read, pings * _BOUND_AND_COUNT, cells * _NOISE)))


def estimate_cost(plan: Plan, total_pings: int) -> Cost:
    """Return the cost of a plan's collect; reading is taken to go through Spark unless the settings say otherwise."""
    return cost_of(total_pings, plan.cells, direct=plan.config.input.reader == "direct")


def tensor_bytes(cells: int) -> int:
    """Return the size of one tensor in memory."""
    return 4 * cells


def denoise_memory(plan: Plan, cells: int) -> int:
    """Return the memory that denoising a region of so many cells takes at its height, in bytes."""
    earlier = 0 if plan.config.series is None else plan.config.series.past
    shown = min(cells * (1 + earlier), MOST_CELLS_SHOWN)
    return max(tensor_bytes(cells) * _TENSOR_COPIES, tensor_bytes(shown) * _SHOWN_COPIES)


def least_denoise_memory(cells: int) -> int:
    """Return the memory without which it certainly fails: three tensors, held together when they are written."""
    return tensor_bytes(cells) * _TENSORS_KEPT


def work_bytes(cells: int) -> int:
    """Return the size of a tensor file between stages: at most counts, deviations and what was expected."""
    return tensor_bytes(cells) * _TENSORS_KEPT


def released_bytes(cells: int) -> int:
    """Return the size of so many released cells on disk."""
    return cells * _CELL_ROW


def noise_bytes(plan: Plan) -> float | None:
    """Return the information in the noise alone, which nothing compresses; None where k is not known.

    Discrete Laplace noise of scale b, a few units or more, has log2(2 e b) bits, a discrete Gaussian of sigma b
    log2(sqrt(2 pi e) b).
    """
    noise = plan.known_noise
    if noise is None:
        return None
    pure = plan.config.privacy.price.currency is Currency.EPSILON
    shape = 2 * math.e if pure else math.sqrt(2 * math.pi * math.e)
    return plan.cells * math.log2(shape * max(1.0, float(noise.mechanism.scale))) / 8


def noisy_bytes(plan: Plan) -> float | None:
    """Return the size of the noisy slices on disk; None where k is not known."""
    noise = noise_bytes(plan)
    return None if noise is None else noise + plan.cells * 3 / 8
