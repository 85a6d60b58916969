"""The figures of the page: accuracy, hot spots, the rhythm of a day, training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from vdr_spark.query.wording import format_count, format_length
from vdr_spark.release.release import Release
from vdr_spark.report_page.accuracy import Accuracy
from vdr_spark.report_page.charts import Axis, Line, bar_chart, line_chart, linear_axis, log_axis
from vdr_spark.report_page.digest import Digest
from vdr_spark.report_page.hotspots import Place
from vdr_spark.report_page.markup import Markup, definitions, element, paragraph, section, table
from vdr_spark.report_page.rhythm import hour_of_day

TrainingLog = Sequence[Mapping[str, float]]
"""One record for each epoch."""


_USELESS = 3.0  # times the count: an error bar beyond that is not drawn, as it says nothing but that nothing is known


def accuracy_section(release: Release, accuracy: Accuracy | None, picture: Markup | None) -> Markup:
    """Return error bars by density and by size, as the release itself knows them, and a map of them."""
    if accuracy is None:
        known = ""
        if release.estimated_rmse is not None:
            known = f" Known is the error of a cell's kept pings: {release.estimated_rmse:.3g}, root mean square."
        words = paragraph(f"{release.model} gives no error bars.{known} Trust large sums only.")
        return section("accuracy", "How accurate it is", words)
    words = paragraph(
        "Nobody looked at the truth for this: a release estimates its own errors from the noisy counts alone. An error "
        "bar is one standard deviation; about two thirds of counts lie within it. Figures are medians over pings: half "
        f"of the pings lie where it is better. Of single cells in single slices, {100 * accuracy.told_from_zero:.2g} % "
        "can be told from zero; boxes are known far better."
    )
    charts = element(
        "div", _density_chart(accuracy.by_density), _side_chart(release, accuracy.by_side), class_="charts"
    )
    figures = element("div", _side_table(release, accuracy.by_side), picture or "", class_="charts")
    return section("accuracy", "How accurate it is", words, charts, figures)


def _density_chart(curves: Mapping[str, Sequence[tuple[float, float]]]) -> Markup:
    curves = {name: [(pings, error) for pings, error in points if error < _USELESS] for name, points in curves.items()}
    lines = [Line(name, tuple(points)) for name, points in curves.items() if points]
    if not lines:
        return paragraph("No single cell is busy enough to be known: ask for boxes.")
    x = log_axis([pings for line in lines for pings, _ in line.points], "released pings of a cell")
    y = log_axis(
        [error for line in lines for _, error in line.points], "error bar of a cell, of its count", percent=True
    )
    return line_chart(lines, x, y, "Relative error of a cell by how many pings it holds: it falls as cells get busier.")


def _side_chart(release: Release, curves: Mapping[str, Sequence[tuple[int, float]]]) -> Markup:
    metres = _cell_side(release)
    lines = [
        Line(name, tuple((side * metres, error) for side, error in points if error > 0))
        for name, points in curves.items()
    ]
    lines = [line for line in lines if line.points]
    if not lines:
        return paragraph("There are no pings to say how errors depend on the size of a box.")
    sides = [side for line in lines for side, _ in line.points]
    spread = log_axis(sides, "side of a square box")
    x = Axis(
        spread.low, spread.high, tuple((tick, format_length(tick)) for tick, _ in spread.ticks), spread.label, True
    )
    y = log_axis(
        [error for line in lines for _, error in line.points], "error bar of a box, of its count", percent=True
    )
    return line_chart(lines, x, y, "Relative error of square boxes by their side: it falls as boxes get larger.")


def _side_table(release: Release, curves: Mapping[str, Sequence[tuple[int, float]]]) -> Markup:
    by_side, metres = {name: dict(points) for name, points in curves.items()}, _cell_side(release)
    sides = sorted({side for points in by_side.values() for side in points})
    rows = (
        [format_length(side * metres), f"{side} x {side}", *(_percent(of.get(side)) for of in by_side.values())]
        for side in sides
    )
    caption = "Error bar of a square box in percent of its count, median over pings"
    return table(["side", "cells", *by_side], rows, caption, len(by_side) + 1)


def _cell_side(release: Release) -> float:
    height, width = release.grid.cell_metres
    return (height + width) / 2


def _percent(error: float | None) -> str:
    if error is None:
        return "is N"
    return f"{100 * error:.2g} %" if error < 1 else "over 100 %"


def hotspot_section(places: Sequence[Place]) -> Markup:
    """Return the largest hot spots as a table."""
    if not places:
        return section("hotspots", "The largest hot spots", paragraph("No cell can be told from zero."))
    rows = (
        [
            number,
            f"{place.lat:.4f}, {place.lon:.4f}",
            _count(place.pings.count, place.pings.deviation),
            f"{place.busiest:%a %d %b %H:%M}",
            format_count(place.busiest_pings),
        ]
        for number, place in enumerate(places, start=1)
    )
    words = paragraph(
        "The busiest cells of the whole period, none near a larger one. Released counts, each with its error bar; a "
        "place is the middle of a cell, and the order of close ones is chance."
    )
    heads = ["no.", "latitude, longitude", "pings", "busiest slice", "pings in it"]
    return section(
        "hotspots", "The largest hot spots", words, table(heads, rows, "Hot spots, numbered as on the map", 3)
    )


def _count(count: float, deviation: float | None) -> str:
    return format_count(count) if deviation is None else f"{format_count(count)} ± {format_count(deviation)}"


def rhythm_section(digest: Digest, accuracy: Accuracy | None) -> Markup | None:
    """Return when the city is busy: by the hour of the day, and slice by slice."""
    release = digest.release
    if release.grid.slices == 1:
        return None
    profile, error = hour_of_day(digest), None if accuracy is None else accuracy.of_slice
    charts = []
    if profile is not None:
        highest = [value for values in profile.groups.values() for value in values]
        y = linear_axis(highest, "mean pings of a slice")
        first = next(iter(profile.groups.values()))
        alt = f"Mean pings by the hour at which slices begin; most at {profile.hours[_argmax(first)]}."
        charts.append(bar_chart(profile.hours, profile.groups, y, f"start of the slice, {release.zone.key}", alt))
    charts.append(_series_chart(digest))
    known = "" if error is None else f" All pings of one slice are known to about {_percent(error)}."
    words = paragraph(f"Released pings of the whole region.{known}")
    return section("rhythm", "When it is busy", words, element("div", *charts, class_="charts"))


def _series_chart(digest: Digest) -> Markup:
    release = digest.release
    totals, grid = digest.totals.tolist(), release.grid
    starts = [grid.slice_start(number).astimezone(release.zone) for number in range(grid.slices)]
    days = [number for number, start in enumerate(starts) if number == 0 or start.date() != starts[number - 1].date()]
    every = max(1, -(-len(days) // 7))
    ticks = tuple((float(number), f"{starts[number].day} {starts[number]:%b}") for number in days[::every])
    x = Axis(0, max(1, grid.slices - 1), ticks, "every slice of the period")
    y = linear_axis(totals, "pings of a slice")
    length = timedelta(seconds=grid.slice_seconds)
    alt = f"Pings of {grid.slices} slices of {length}, from {starts[0]:%Y-%m-%d} to {starts[-1]:%Y-%m-%d}."
    return line_chart([Line("pings", tuple(enumerate(totals)))], x, y, alt)


def _argmax(values: Sequence[float]) -> int:
    return max(range(len(values)), key=lambda at: values[at])


def training_section(training: Mapping[str, TrainingLog]) -> Markup | None:
    """Return the curves of networks that were trained for the release, where their logs are at hand."""
    parts: list[Markup] = []
    for name, log in training.items():
        known = {key: label for key, label in _CURVES.items() if log and key in log[0]}
        if known and len(log) < _LEAST_EPOCHS:
            figures = definitions((label, _name_each(log, key)) for key, label in known.items())
            epochs = "its only epoch" if len(log) == 1 else f"each of its {len(log)} epochs"
            parts += [element("h3", f"{name}, after {epochs}"), figures]
        elif known:
            curves = (_training_chart(log, key, label) for key, label in known.items())
            parts += [element("h3", name), element("div", *curves, class_="charts")]
    if not parts:
        return None
    words = paragraph(
        "Networks learn from the noisy counts alone, so training costs no privacy, however long it takes."
    )
    return section("training", "Training", words, *parts)


def _name_each(log: TrainingLog, key: str) -> str:
    return ", then ".join(f"{record[key]:.3g}" for record in log if key in record)


_LEAST_EPOCHS = 3  # that make a curve

_CURVES = {
    "loss": "loss",
    "error": "estimated squared error, of the noise's own",
    "perplexity": "perplexity: codes in use, by evenness",
}


def _training_chart(log: TrainingLog, key: str, label: str) -> Markup:
    points = tuple(
        (float(record.get("epoch", at)), float(record[key])) for at, record in enumerate(log, 1) if key in record
    )
    values = [value for _, value in points]
    wide = min(values) > 0 and max(values) > 5 * min(values)
    y = log_axis(values, label) if wide else linear_axis([max(0.0, value) for value in values], label)
    last = max(2.0, max(at for at, _ in points))
    steps = linear_axis([last], "")
    ticks = tuple((tick, name) for tick, name in steps.ticks if 1 <= tick <= last and tick == int(tick))
    x = Axis(1, last, (*(((1.0, "1"),) if not any(tick == 1 for tick, _ in ticks) else ()), *ticks), "epoch")
    return line_chart([Line(label, points)], x, y, f"{label} by epoch: from {values[0]:.3g} to {values[-1]:.3g}.")
