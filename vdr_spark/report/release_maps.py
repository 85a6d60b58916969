"""The maps of one release, from released cells alone: a few slices, its busiest day, the whole period, the error.

They cost no privacy, and need neither pings nor Spark.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from vdr_spark.report.canvas import new_figure, put_title, save
from vdr_spark.report.maps import plot_day, plot_panels

if TYPE_CHECKING:
    from vdr_spark.release.release import Release

_FEW = 6  # slices, from the quietest to the busiest
_COLUMNS = 3


def draw_release(release: Release, folder: str) -> list[str]:
    """Write the maps of a release into a folder; return their paths. Without error bars there is none of the error."""
    plots: dict[str, Callable[[Release, str], None]] = {"slices": plot_few_slices, "period": plot_period}
    if release.grid.slices_per_day > 1:
        plots["day"] = plot_busiest_day
    if release.deviation is not None:
        plots["error"] = plot_error
    paths = {name: posixpath.join(folder, f"{name}.png") for name in plots}
    for name, plot in plots.items():
        plot(release, paths[name])
    return list(paths.values())


def plot_few_slices(release: Release, path: str) -> None:
    """Plot some slices in order of time, chosen from the quietest to the busiest."""
    panels = [(_name_slice(release, number), release.counts[number]) for number in choose_slices(release)]
    columns = min(_COLUMNS, len(panels))
    figure = new_figure(2.6 * columns + 0.9, 2.85 * -(-len(panels) // columns) + 0.5)
    put_title(figure, f"{len(panels)} of {release.grid.slices} slices, times in {release.zone.key}")
    plot_panels(figure, panels, release.grid, columns)
    save(figure, path, protected=release.protected, withdrawn=release.withdrawal is not None)


def plot_period(release: Release, path: str) -> None:
    """Plot all slices added up."""
    figure = new_figure(6.4, 5.8)
    put_title(figure, "Pings of the whole period")
    total = release.counts.sum(axis=0, dtype=np.float64)  # (M, M)
    plot_panels(figure, [(_describe_period(release), total)], release.grid, columns=1)
    save(figure, path, protected=release.protected, withdrawn=release.withdrawal is not None)


def plot_busiest_day(release: Release, path: str) -> None:
    """Plot the day with most pings, slice by slice."""
    plot_day(release, find_busiest_day(release), path)


def plot_error(release: Release, path: str) -> None:
    """Plot one standard deviation of each cell's count over the whole period.

    The slices' errors are added up as if they were independent, which is a little too hopeful: a denoiser's errors
    are alike in slices that are alike.
    """
    assert release.deviation is not None
    figure = new_figure(6.4, 5.8)
    put_title(figure, "Error of the whole period, one standard deviation")
    error = np.sqrt(np.square(release.deviation, dtype=np.float64).sum(axis=0))  # (M, M)
    plot_panels(figure, [(_describe_period(release), error)], release.grid, columns=1, label="± pings per cell")
    save(figure, path, protected=release.protected, withdrawn=release.withdrawal is not None)


def choose_slices(release: Release) -> list[int]:
    """Return the numbers of a few slices, at equal steps from the quietest to the busiest, in order of time."""
    totals = release.counts.sum(axis=(1, 2), dtype=np.float64)  # (T,)
    steps = np.linspace(0, len(totals) - 1, min(_FEW, len(totals))).round().astype(int)
    return sorted(np.argsort(totals, kind="stable")[steps].tolist())


def find_busiest_day(release: Release) -> date:
    """Return the calendar day, in the release's zone, on which slices with most pings begin."""
    totals = release.counts.sum(axis=(1, 2), dtype=np.float64)
    by_day: dict[date, float] = {}
    for number, total in enumerate(totals.tolist()):
        day = release.grid.slice_start(number).astimezone(release.zone).date()
        by_day[day] = by_day.get(day, 0.0) + total
    return max(by_day, key=lambda day: by_day[day])


def _name_slice(release: Release, number: int) -> str:
    return f"{release.grid.slice_start(number).astimezone(release.zone):%a %Y-%m-%d %H:%M}"


def _describe_period(release: Release) -> str:
    start, end = (moment.astimezone(release.zone) for moment in (release.grid.start, release.grid.end))
    return f"{start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M}, {release.zone.key}"
