"""What a codebook has learnt: a neighbourhood before and after it, and a whole slice by the numbers of its codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vdr_spark.grid import Box, Grid
from vdr_spark.report.canvas import FAINT, INK, new_figure, put_title, save
from vdr_spark.report.maps import plot_panels

_NEIGHBOURHOOD = 64  # cells along each side


def plot_codes(
    panels: Mapping[str, NDArray[Any]], codes: NDArray[Any], path: str, title: str, *, grid: Grid, protected: bool
) -> None:
    """Plot versions of one slice, each (M, M), around its busiest place, and the codes of all of it, (M/4, M/4).

    The last panel must be what the model made of it. Codes are coloured by how much it made where they stand, from the
    emptiest to the busiest. A panel of the truth makes the picture part of an evaluation.
    """
    rebuilt = list(panels.values())[-1]
    part = _busiest_neighbourhood(rebuilt)
    figure = new_figure(3.1 * (len(panels) + 1) + 1.1, 3.9)
    put_title(figure, title)
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=[len(panels) + 0.25, 1]).ravel()
    near = [(name, layer[part]) for name, layer in panels.items()]
    plot_panels(left, near, _cut(grid, part), columns=len(panels))
    axes = right.subplots()
    ranks, used = _rank_by_busyness(codes, rebuilt)
    axes.imshow(ranks, origin="lower", cmap="viridis", interpolation="nearest")
    axes.set_title(f"{used} codes of the whole slice", loc="left", fontsize=9, color=INK, pad=4)
    axes.set_xlabel("dark: empty, bright: busy", fontsize=7, color=FAINT)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    save(figure, path, protected=protected)


def _busiest_neighbourhood(layer: NDArray[Any]) -> tuple[slice, slice]:
    side = min(_NEIGHBOURHOOD, *layer.shape)
    peak = np.unravel_index(int(layer.argmax()), layer.shape)
    first = [int(np.clip(place - side // 2, 0, size - side)) for place, size in zip(peak, layer.shape, strict=True)]
    return slice(first[0], first[0] + side), slice(first[1], first[1] + side)


def _cut(grid: Grid, part: tuple[slice, slice]) -> Grid:
    """Return the grid of a part of the map."""
    height = (grid.box.north - grid.box.south) / grid.cells_per_side
    width = (grid.box.east - grid.box.west) / grid.cells_per_side
    rows, columns = part
    box = Box(
        grid.box.south + rows.start * height,
        grid.box.west + columns.start * width,
        grid.box.south + rows.stop * height,
        grid.box.west + columns.stop * width,
    )
    return replace(grid, box=box, cells_per_side=rows.stop - rows.start)


def _rank_by_busyness(codes: NDArray[Any], rebuilt: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Return each code's rank among those in use, by the mean of what the model made at its places."""
    side = -(-rebuilt.shape[0] // codes.shape[0])  # cells along each side of a place
    at_cell = codes.repeat(side, 0).repeat(side, 1)[: rebuilt.shape[0], : rebuilt.shape[1]]
    numbers, flat = np.unique(at_cell, return_inverse=True)
    means = np.bincount(flat.ravel(), weights=rebuilt.ravel()) / np.bincount(flat.ravel())
    rank = np.empty(len(numbers), dtype=np.int64)
    rank[np.argsort(means)] = np.arange(len(numbers))
    return rank[np.searchsorted(numbers, codes).clip(0, len(numbers) - 1)], len(numbers)
