"""Earlier windows as they are stored, and which of them may speak for a window."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from vdr_spark.arrays import Slices
from vdr_spark.denoise.past.evidence import EarlierWindow, PastEvidence, choose_latest
from vdr_spark.denoise.petastorm_reader import read_region
from vdr_spark.errors import InvalidInput
from vdr_spark.grid import Grid
from vdr_spark.plan import ReleasePlan
from vdr_spark.progress import Progress

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PastWindow:
    """An earlier window of the same region: where its noisy tensor lies, and by which plan it was drawn."""

    files: tuple[str, ...]  # live Parquet files of its noisy tensor
    release: ReleasePlan


def check_past(past: Sequence[PastWindow], grid: Grid) -> None:
    """Refuse windows of other cells, and those that are not over when the present one begins."""
    for window in past:
        earlier = window.release.grid
        name = f"past: the window of {window.release.release_id}"
        if (earlier.box, earlier.cells_per_side) != (grid.box, grid.cells_per_side):
            raise InvalidInput(
                f"{name} must have the same cells as this one, {grid.cells_per_side} x {grid.cells_per_side} of "
                f"{grid.box}, not {earlier.cells_per_side} x {earlier.cells_per_side} of {earlier.box}; leave it out, "
                "and begin a new series where the grid changes"
            )
        if earlier.slice_seconds != grid.slice_seconds:
            raise InvalidInput(
                f"{name} must have slices of {grid.slice_seconds} s as this one has, not of {earlier.slice_seconds} s; "
                "leave it out, and begin a new series where the slices change"
            )
        if earlier.end > grid.start:
            raise InvalidInput(
                f"{name} must end by {grid.start.isoformat()}, when this one begins, not at {earlier.end.isoformat()}; "
                "leave it out"
            )


def gather_past(
    past: Sequence[PastWindow], noisy: Slices, release: ReleasePlan, progress: Progress
) -> PastEvidence | None:
    """Return what earlier windows, the oldest first, say about a noisy tensor (T, M, M); None where none may.

    Of many windows the latest are read, as many as there is room for.
    """
    check_past(past, release.grid)
    known = [(window.release.grid, window.release.noise) for window in past]
    chosen, windows = choose_latest(known, release.grid, release.noise), list[EarlierWindow]()
    if len(chosen) < len(past):
        logger.info(
            "denoise: %d of %d earlier windows serve as evidence; the others are much noisier, or there is no room",
            len(chosen),
            len(past),
        )
    if not chosen:
        return None
    with progress.task("denoise: read earlier windows", len(chosen)) as update:
        for number in chosen:
            files, earlier = past[number].files, past[number].release
            windows.append(EarlierWindow(read_region(files, earlier), earlier.noise, earlier.grid))
            update(len(windows), "")
    return PastEvidence(windows, noisy, release.noise, release.grid)
