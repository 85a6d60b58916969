"""The maps of the page: the whole period, a few slices, a day, a week, and where not to trust it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vdr_spark.query.wording import format_count
from vdr_spark.release.release import Release
from vdr_spark.report.maps import slices_of
from vdr_spark.report.release_maps import choose_slices, find_busiest_day
from vdr_spark.report_page.digest import Digest
from vdr_spark.report_page.hotspots import Place
from vdr_spark.report_page.maps import Mark, Scale, map_figure, map_row
from vdr_spark.report_page.markup import Markup, element, join, paragraph, section
from vdr_spark.report_page.png import CIVIDIS_REVERSED, shrink

# Pixels along each side at most, by how many maps there are: all of them stay below 5 MB at the paper's size.
_LARGE, _MEDIUM, _SMALL = 576, 288, 192
_MOST_PANELS = 24  # of a day: one for each hour is as many as can be read
_WEEK = 7

Panel = tuple[str, str, NDArray[Any]]


def period_map(digest: Digest, places: Sequence[Place]) -> Markup:
    """Return the whole period as one large map, with the numbers of the hot spots."""
    grid, side = digest.release.grid, digest.release.grid.cells_per_side
    layer = shrink(digest.period, _LARGE)
    scale = Scale.over([layer])
    marks = [
        Mark(number, (place.column + 0.5) / side, 1 - (place.row + 0.5) / side)
        for number, place in enumerate(places, start=1)
    ]
    numbered = " Numbers are the largest hot spots, listed below." if marks else ""
    alt = f"Map of all {format_count(float(digest.totals.sum()))} released pings.{numbered}"
    caption = f"All {grid.slices} slices added up.{numbered}" if grid.slices > 1 else f"The only slice.{numbered}"
    return join([map_figure(layer, scale, grid, caption, alt, marks, ruler=True), scale.legend("pings per cell")])


def slices_section(release: Release) -> Markup:
    """Return a few slices, from the quietest to the busiest, in order of time."""
    chosen = choose_slices(release)
    panels = [_panel(release, name_slice(release, number), [number]) for number in chosen]
    words = (
        f"{len(panels)} of {release.grid.slices} slices, chosen at equal steps from the quietest to the busiest, in "
        f"order of time. Times are in {release.zone.key}."
    )
    if release.grid.slices == 1:
        words = f"The release has one slice. Times are in {release.zone.key}."
    return section(
        "slices", "Single slices", paragraph(words), map_row(panels, release.grid, _MEDIUM, "pings per cell")
    )


def day_section(release: Release) -> Markup | None:
    """Return the busiest day, slice by slice; nothing where slices are as long as a day."""
    if release.grid.slices_per_day <= 1 or release.grid.slices == 1:
        return None
    day = find_busiest_day(release)
    numbers = slices_of(release.grid, day, release.zone)
    group = math.ceil(release.grid.slices_per_day / _MOST_PANELS)
    panels = []
    for first in range(0, len(numbers), group):
        together = numbers[first : first + group]
        start, end = (release.grid.slice_start(at).astimezone(release.zone) for at in (together[0], together[-1] + 1))
        panels.append(_panel(release, f"{start:%H:%M} – {end:%H:%M}", together))
    words = f"{day:%A} {day.day} {day:%B %Y}, the busiest day of the period. Times are in {release.zone.key}."
    return section("day", "A day", paragraph(words), map_row(panels, release.grid, _SMALL, "pings per cell"))


def week_section(digest: Digest) -> Markup | None:
    """Return up to seven days, each added up; nothing where there is one day only."""
    release = digest.release
    days = _slices_by_day(release)
    if len(days) < 2:
        return None
    chosen = list(days)[_busiest_stretch(digest, days) :][:_WEEK]
    panels = [_panel(release, f"{day:%a} {day.day} {day:%b}", days[day]) for day in chosen]
    words = "Each day added up. All maps of a row have one scale of colours, so that days can be compared."
    if len(days) > _WEEK:
        words = f"The busiest {_WEEK} days in a row, of {len(days)}. {words}"
    return section("week", "A week", paragraph(words), map_row(panels, release.grid, _SMALL, "pings per cell"))


def error_map(digest: Digest) -> Markup | None:
    """Return the map of relative errors of a cell over the whole period, where there are error bars."""
    release, counts, own = digest.release, digest.period, digest.period_variance
    if own is None:
        return None
    grid = release.grid
    if release.sum_errors is not None:
        slices = np.full(counts.size, float(grid.slices))
        own = release.sum_errors.variance(slices.copy(), slices, counts.ravel(), own.ravel()).reshape(counts.shape)
    relative = (100 * np.sqrt(own) / np.maximum(counts, 1e-9)).clip(0, 100)
    layer, scale = shrink(relative, _MEDIUM), Scale(100.0, CIVIDIS_REVERSED, straight=True)
    alt = "Map of the relative error: bright where counts are reliable, dark where they cannot be told from zero."
    caption = (
        "Error bar of a cell over the whole period, in percent of its count. Bright: can be trusted. Dark: ask for "
        "larger boxes."
    )
    figure = map_figure(layer, scale, grid, caption, alt, ruler=True)
    return element("div", figure, scale.legend("± percent of the count"), class_="one")


def name_slice(release: Release, number: int) -> str:
    """Return when a slice begins, by the clock of the release's zone."""
    return f"{release.grid.slice_start(number).astimezone(release.zone):%a %Y-%m-%d %H:%M}"


def _panel(release: Release, caption: str, numbers: Sequence[int]) -> Panel:
    layer = release.counts[list(numbers)].sum(axis=0, dtype=np.float64)
    return caption, f"Map of {format_count(float(layer.sum()))} pings, {caption}", layer


def _slices_by_day(release: Release) -> dict[date, list[int]]:
    days: dict[date, list[int]] = {}
    for number in range(release.grid.slices):
        day = release.grid.slice_start(number).astimezone(release.zone).date()
        days.setdefault(day, []).append(number)
    return days


def _busiest_stretch(digest: Digest, days: dict[date, list[int]]) -> int:
    """Return the number of the day with which the busiest week begins."""
    by_day = [float(digest.totals[numbers].sum()) for numbers in days.values()]
    starts = range(max(1, len(by_day) - _WEEK + 1))
    return max(starts, key=lambda first: sum(by_day[first : first + _WEEK]))
