"""Is there room for it? What stages will write and hold, beside what disks and memory of this machine have left.

Looked at before anything is reserved, from public settings alone. What is certain to fail is refused: noise does not
compress, and a tensor is as large as it is. What will probably fail is a warning, since estimates are estimates. Of
other machines, stores and catalogs nothing can be seen from here, and nothing is said.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from vdr_spark.cost import (
    denoise_memory,
    estimate_cost,
    least_denoise_memory,
    noise_bytes,
    noisy_bytes,
    released_bytes,
    work_bytes,
)
from vdr_spark.plan import Plan
from vdr_spark.storage.free_space import Room, find_room, format_bytes

_CGROUP = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@dataclass(frozen=True)
class Need:
    """What a stage takes, in bytes, of a disk or, without a path, of this machine's memory."""

    what: str
    path: str | None
    likely: float
    least: float = 0.0  # with less it certainly fails
    setting: str = ""  # by which another place is named


@dataclass(frozen=True)
class Shortage:
    """Too little room, in a sentence."""

    sentence: str
    certain: bool

    def __str__(self) -> str:
        return self.sentence


class Machine:
    """What this machine has left; None where that cannot be seen."""

    def room(self, path: str) -> Room | None:
        return find_room(path)

    def memory(self) -> tuple[int, int] | None:
        """Return how many bytes of memory there are, swap included, and how many are free to be taken."""
        try:
            lines = Path("/proc/meminfo").read_text().splitlines()
            kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines}
            total = 1024 * (kilobytes["MemTotal"] + kilobytes["SwapTotal"])
            available = 1024 * (kilobytes["MemAvailable"] + kilobytes["SwapFree"])
        except (OSError, ValueError, KeyError, IndexError):
            return None
        limit = _find_limit()
        return (total, available) if limit is None else (min(total, limit), min(available, limit))


def list_needs(plan: Plan, stages: Collection[str], local_dirs: Sequence[str]) -> list[Need]:
    """Return what stages of a plan take of this machine. `local_dirs` are Spark's, where it runs here."""
    largest, tables = max(grid.size for grid in plan.grids), plan.output.root if plan.output.schema is None else None
    needs = []
    if "collect" in stages:
        needs += _needs_of_collect(plan, tables, local_dirs)
    if "denoise" in stages:
        needs.append(Need("denoising", None, denoise_memory(plan, largest), least_denoise_memory(largest)))
        needs.append(Need("denoised tensors", plan.output.root, work_bytes(plan.cells), setting="output"))
    if "refine" in stages:
        needs.append(Need("refined tensors", plan.output.root, work_bytes(plan.cells), setting="output"))
    if "publish" in stages and tables is not None:
        needs.append(Need("released cells", tables, released_bytes(plan.cells), setting="output"))
    return needs


def _needs_of_collect(plan: Plan, tables: str | None, local_dirs: Sequence[str]) -> list[Need]:
    needs, noisy, noise = [], noisy_bytes(plan), noise_bytes(plan)
    if tables is not None and noisy is not None and noise is not None:
        needs.append(Need("noisy slices", tables, noisy, noise, "output"))
    if plan.declared_total is not None:
        shuffled = estimate_cost(plan, plan.declared_total).shuffled
        needs += [
            Need("shuffle files", path, shuffled / len(local_dirs), setting="spark.conf.spark.local.dir")
            for path in local_dirs
        ]
    return needs


def find_shortages(needs: Sequence[Need], machine: Machine) -> list[Shortage]:
    """Return what there is too little of: each disk, with all that will be written there, and memory."""
    by_device: dict[int, tuple[Room, list[Need]]] = {}
    for need in needs:
        room = None if need.path is None else machine.room(need.path)
        if room is not None:
            by_device.setdefault(room.device, (room, []))[1].append(need)
    found = [_judge_disk(room, on_it) for room, on_it in by_device.values()]
    found += [_judge_memory(need, machine) for need in needs if need.path is None]
    return [shortage for shortage in found if shortage is not None]


def _judge_disk(room: Room, needs: Sequence[Need]) -> Shortage | None:
    likely, least = sum(need.likely for need in needs), sum(need.least for need in needs)
    if likely <= room.free:
        return None
    listed = ", ".join(f"{need.what} {format_bytes(need.likely)}" for need in needs)
    settings = " or ".join(dict.fromkeys(need.setting for need in needs if need.setting))
    certain = least > room.free
    verdict = f"at least {format_bytes(least)} of it for sure" if certain else "it will probably fill up"
    return Shortage(
        f"the disk of {needs[0].path} has {format_bytes(room.free)} free, and about {format_bytes(likely)} will be "
        f"written there ({listed}), {verdict}: make room, or name another place by {settings}",
        certain,
    )


def _judge_memory(need: Need, machine: Machine) -> Shortage | None:
    memory = machine.memory()
    if memory is None:
        return None
    total, available = memory
    certain = need.least > total
    if not certain and need.likely <= available:
        return None
    short = f"this machine has {format_bytes(total)} in all" if certain else f"{format_bytes(available)} is free now"
    return Shortage(
        f"{need.what} takes about {format_bytes(need.likely)} of memory, and {short}: use a larger machine, end other "
        "programs, or ask for fewer cells (grid.cells_per_side, period, regions in releases of their own)",
        certain,
    )


def _find_limit() -> int | None:
    """Return what a container may take."""
    for path in _CGROUP:
        if os.path.exists(path):
            text = Path(path).read_text().strip()
            return int(text) if text.isdecimal() else None
    return None
