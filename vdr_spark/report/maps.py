"""Slices as maps: north up, one shared colour scale, a bar of kilometres."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from vdr_spark.errors import InvalidQuery
from vdr_spark.grid import Grid
from vdr_spark.query.wording import format_moment
from vdr_spark.report.canvas import FAINT, INK, Picture, new_figure, put_title, render, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.colors import Normalize
    from matplotlib.figure import FigureBase
    from matplotlib.image import AxesImage

    from vdr_spark.release.release import Release

_COLOURS = "inferno"
_BELOW_ZERO = "#16202e"  # noise can push a cell below zero: a cold grey that the colour map does not contain
_MAX_PANELS_PER_DAY = 24  # one for each hour is as many as can be read


def plot_slices(panels: Mapping[str, NDArray[Any]], path: str, title: str, *, grid: Grid, protected: bool) -> None:
    """Plot versions of one slice, each (M, M), side by side: true, noisy, denoised, refined.

    A panel of the truth makes the picture part of an evaluation: it must not lie with the release.
    """
    figure = new_figure(3.1 * len(panels) + 0.9, 3.9)
    put_title(figure, title)
    plot_panels(figure, list(panels.items()), grid, columns=len(panels))
    save(figure, path, protected=protected)


def plot_day(release: Release, day: date, path: str, timezone: str | None = None) -> None:
    """Plot a day slice by slice, labelled by the clock of `timezone` (None: the release's); short slices are summed."""
    zone = ZoneInfo(timezone) if timezone is not None else release.zone
    numbers = slices_of(release.grid, day, zone)
    group = math.ceil(release.grid.slices_per_day / _MAX_PANELS_PER_DAY)
    panels = []
    for first in range(0, len(numbers), group):
        chosen = numbers[first : first + group]
        panels.append((_hours(release.grid, chosen, zone), release.counts[chosen].sum(axis=0)))
    columns = min(len(panels), 4 if len(panels) <= 12 else 6)
    figure = new_figure(2.3 * columns + 0.9, 2.55 * math.ceil(len(panels) / columns) + 0.5)
    put_title(figure, f"{day:%A} {day.day} {day:%B %Y}, times in {zone.key}")
    plot_panels(figure, panels, release.grid, columns)
    save(figure, path, protected=release.protected, withdrawn=release.withdrawal is not None)


def render_sum(release: Release) -> bytes:
    """Return a map of all slices added up, as PNG."""
    figure = new_figure(5.0, 4.4)
    plot_panels(
        figure, [("All slices added up", release.counts.sum(axis=0, dtype=np.float64))], release.grid, columns=1
    )
    return render(figure, protected=release.protected, withdrawn=release.withdrawal is not None)


def map_of_slice(release: Release, when: datetime | int | None) -> Picture:
    """Return a map of one slice, by its number or a moment in it, or without one of all slices added up."""
    if when is None:
        return Picture(render_sum(release), "All slices added up")
    number = release.grid.slice_of(when.astimezone(UTC)) if isinstance(when, datetime) else when
    if not 0 <= number < release.grid.slices:
        start, end = (format_moment(moment, release.zone) for moment in (release.grid.start, release.grid.end))
        raise InvalidQuery(
            f"map: the slice must be a number from 0 to {release.grid.slices - 1}, or a moment from {start} to {end}, "
            f"not {when}; choose one inside"
        )
    title = f"{release.grid.slice_start(number).astimezone(release.zone):%a %Y-%m-%d %H:%M}, {release.zone.key}"
    figure = new_figure(5.0, 4.4)
    plot_panels(figure, [(title, release.counts[number])], release.grid, columns=1)
    return Picture(render(figure, protected=release.protected, withdrawn=release.withdrawal is not None), title)


def slices_of(grid: Grid, day: date, zone: ZoneInfo) -> list[int]:
    """Return the slices that overlap a calendar day of a time zone."""
    midnight = datetime.combine(day, time(), zone)
    first = grid.slice_of(midnight.astimezone(UTC))
    next_midnight = datetime.combine(day + timedelta(days=1), time(), zone)
    last = grid.slice_of(next_midnight.astimezone(UTC) - timedelta(microseconds=1))
    numbers = [number for number in range(first, last + 1) if 0 <= number < grid.slices]
    if not numbers:
        start, end = (format_moment(moment, zone) for moment in (grid.start, grid.end))
        raise InvalidQuery(f"day must lie in the release's period, {start} to {end}, not {day}; choose a day inside")
    return numbers


def _hours(grid: Grid, numbers: Sequence[int], zone: ZoneInfo) -> str:
    start, end = (grid.slice_start(number).astimezone(zone) for number in (numbers[0], numbers[-1] + 1))
    return f"{start:%H:%M} – {end:%H:%M}"


def plot_panels(
    figure: FigureBase,
    panels: Sequence[tuple[str, NDArray[Any]]],
    grid: Grid,
    columns: int,
    label: str = "pings per cell",
) -> None:
    """Plot maps, each (M, M), in rows of so many columns, with one colour scale and one bar of kilometres."""
    from matplotlib.colors import AsinhNorm

    end = scale_end([layer for _, layer in panels])
    norm = AsinhNorm(linear_width=end / 25, vmin=0, vmax=end)  # like a logarithm, but straight around zero
    rows = math.ceil(len(panels) / columns)
    axes = figure.subplots(rows, columns, squeeze=False)
    for place in axes.flat[len(panels) :]:
        place.set_visible(False)
    for place, (name, layer) in zip(axes.flat, panels, strict=False):
        image = _plot_map(place, layer, grid, norm)
        place.set_title(name, loc="left", fontsize=9, color=INK, pad=4)
    _plot_scale_bar(axes.flat[0], grid)
    negative = any(float(layer.min()) < 0 for _, layer in panels)
    _plot_colour_bar(figure, image, axes.ravel().tolist(), end, negative).set_label(label, fontsize=8, color=FAINT)


def scale_end(layers: Sequence[NDArray[Any]]) -> float:
    """Return where the shared scale ends: the 99.9th percentile of the brightest panel but one.

    One panel may consist of noise; if it governed the scale, the others would be black.
    """
    brightest = sorted(float(np.percentile(layer, 99.9)) for layer in layers)[-2:]
    if brightest[0] > 0:
        return brightest[0]
    return max([1.0, *(float(layer.max()) for layer in layers)])


def _plot_map(axes: Axes, layer: NDArray[Any], grid: Grid, norm: Normalize) -> AxesImage:
    from matplotlib import colormaps

    height, width = (metres * grid.cells_per_side / 1000 for metres in grid.cell_metres)
    image = axes.imshow(
        layer,
        origin="lower",
        extent=(0, width, 0, height),
        norm=norm,
        cmap=colormaps[_COLOURS].with_extremes(under=_BELOW_ZERO),
    )
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image


def _plot_scale_bar(axes: Axes, grid: Grid) -> None:
    """Plot a round length of about a quarter of the map, on a dark plate so that it reads over any city."""
    height, width = (metres * grid.cells_per_side / 1000 for metres in grid.cell_metres)
    length = round_length(width / 3.5)
    label = f"{length:g} km" if length >= 1 else f"{length * 1000:g} m"
    left, base = 0.05 * width, 0.055 * height
    axes.plot([left, left + length], [base, base], color="white", linewidth=2, solid_capstyle="butt")
    plate = {"facecolor": "black", "alpha": 0.45, "edgecolor": "none", "pad": 1.5}
    axes.text(left, base + 0.03 * height, label, color="white", fontsize=7, ha="left", va="bottom", bbox=plate)


def round_length(length: float) -> float:
    """Return the largest of 1, 2, 5 times a power of ten that is not longer."""
    power = 10.0 ** math.floor(math.log10(length))
    return max(step * power for step in (1, 2, 5) if step * power <= length)


def _plot_colour_bar(figure: FigureBase, image: AxesImage, axes: list[Axes], end: float, negative: bool) -> Colorbar:
    decades = [step * 10.0**power for power in range(-3, 9) for step in (1, 3)]
    ticks = [0.0, *(tick for tick in decades if end / 40 <= tick <= end)]
    bar = figure.colorbar(
        image,
        ax=axes,
        extend="both" if negative else "max",
        ticks=ticks,
        aspect=28,
        pad=0.015,
        fraction=0.04,
        extendfrac=0.025,
    )
    bar.ax.set_yticklabels([f"{tick:,g}" for tick in ticks])
    bar.ax.minorticks_off()
    bar.ax.tick_params(labelsize=7, colors=FAINT, length=2)
    bar.outline.set_visible(False)
    return bar
