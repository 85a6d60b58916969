"""Curves and bars: training, forecasts, errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vdr_spark.errors import StageMissing
from vdr_spark.query import Forecast, box_series
from vdr_spark.query.wording import format_box
from vdr_spark.report.canvas import FAINT, INK, new_figure, put_title, save, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from vdr_spark.release.release import Release

_PLUM, _AMBER, _GREY = "#7b2382", "#f1731d", "#a7a7b2"  # two colours of the maps' scale, and a neutral one
_PAST_SLICES_PER_SLICE_AHEAD = 8  # of the past for each slice ahead, so that the forecast is not a dot at the end


def plot_training(records: Sequence[Mapping[str, Any]], path: str, *, protected: bool) -> None:
    """Plot a training log, one record for each epoch: losses, the measure, and perplexity where there is a codebook."""
    if not records:
        raise StageMissing("the training log must hold at least one epoch, not none; train a model first")
    figure = new_figure(6.4, 5.6)
    put_title(figure, "Training")
    below = {"error": "squared error,\nof the noise's", "perplexity": "perplexity"}
    below = {key: label for key, label in below.items() if key in records[0]}
    losses, *others = figure.subplots(1 + len(below), 1, sharex=True, height_ratios=[2, *[1] * len(below)])
    _plot_curve(losses, records, "loss", _PLUM)
    _plot_curve(losses, records, "reconstruction", _AMBER)
    _scale_axis(losses)
    losses.legend(frameon=False, fontsize=8, labelcolor=INK)
    for axes, (key, label) in zip(others, below.items(), strict=True):
        _plot_curve(axes, records, key, _PLUM)
        axes.set_ylabel(label, fontsize=8, color=FAINT)
        axes.set_ylim(bottom=min(0.0, *(record[key] for record in records)))
    last = others[-1] if others else losses
    last.set_xlabel("epoch", fontsize=8, color=FAINT)
    last.xaxis.get_major_locator().set_params(integer=True)
    for axes in (losses, *others):
        style_axes(axes)
    save(figure, path, protected=protected)


def _plot_curve(axes: Axes, records: Sequence[Mapping[str, Any]], key: str, colour: str) -> None:
    epochs = [record["epoch"] for record in records]
    values = [record[key] for record in records]
    axes.plot(epochs, values, color=colour, label=key, marker=_marker(values), markersize=3.5)


def _marker(values: Sized) -> str:
    """Return dots for a short line, because a line through one point is invisible."""
    return "o" if len(values) <= 8 else ""


def _scale_axis(axes: Axes) -> None:
    """Set a logarithmic scale with plain numbers, 0.5, 1, 2, where the curve spans several; else a linear one."""
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = axes.get_ylim()
    if high > 5 * low > 0:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter("{x:.3g}")


def plot_forecast(release: Release, forecast: Forecast, path: str) -> None:
    """Plot the released series of the forecast's box, the forecast, and its band."""
    figure = new_figure(7.6, 3.4)
    put_title(figure, f"Forecast for a box of {format_box(forecast.box)}")
    axes = figure.subplots()
    series = box_series(release, forecast.box)
    starts = _to_numpy_moments([release.grid.slice_start(number) for number in range(len(series))])
    shown = max(_PAST_SLICES_PER_SLICE_AHEAD * len(forecast.starts), 16)
    axes.plot(starts[-shown:], series[-shown:], color=_PLUM, label="released", marker=_marker(series), zorder=3)
    # The forecast begins at the last released point, so that a single slice ahead is a line too.
    ahead = np.append(starts[-1], _to_numpy_moments(forecast.starts))
    last = float(series[-1])
    axes.fill_between(ahead, [last, *forecast.lower], [last, *forecast.upper], color=_AMBER, alpha=0.22, lw=0)
    axes.plot(ahead, [last, *forecast.mean], color=_AMBER, label="forecast, with a band of 95 %")
    axes.set_ylim(bottom=min(0.0, float(series.min())))
    axes.yaxis.set_major_formatter("{x:,.5g}" if axes.get_ylim()[1] < 10 else "{x:,.0f}")
    axes.set_ylabel("pings in a slice", fontsize=8, color=FAINT)
    axes.legend(frameon=False, fontsize=8, labelcolor=INK, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    _format_date_axis(axes, release.zone)
    style_axes(axes)
    axes.set_xlabel(f"{release.zone.key}; by {forecast.method}", fontsize=8, color=FAINT)
    save(figure, path, protected=release.protected, withdrawn=release.withdrawal is not None)


def _to_numpy_moments(moments: Sequence[datetime]) -> NDArray[np.datetime64]:
    """Return moments in UTC as NumPy writes them, which is without a zone."""
    return np.array([moment.astimezone(UTC).replace(tzinfo=None) for moment in moments], dtype="datetime64[s]")


def _format_date_axis(axes: Axes, zone: tzinfo) -> None:
    """Label moments, which Matplotlib takes to be in UTC, by the clock of a zone."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=4, maxticks=9, tz=zone)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=zone))  # type: ignore[no-untyped-call]
    axes.xaxis.get_offset_text().set(fontsize=8, color=FAINT)


def plot_errors(
    errors: Mapping[str, float], path: str, *, protected: bool, title: str = "Relative error of range counts"
) -> None:
    """Plot one bar for each version, from the top down, in the order given: noisy, denoised, refined."""
    figure = new_figure(6.0, 0.5 * len(errors) + 0.9)
    put_title(figure, title)
    axes = figure.subplots()
    smallest = min(errors.values())
    names, values = list(errors), list(errors.values())
    colours = [_PLUM if value == smallest else _GREY for value in values]
    bars = axes.barh(names, values, color=colours, height=0.62)
    axes.bar_label(bars, [f"{value:.3g}" for value in values], padding=4, fontsize=9, color=INK)
    axes.invert_yaxis()
    style_axes(axes)
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)
    axes.set_xticks([])
    axes.set_xlim(0, 1.12 * max(values))
    axes.tick_params(axis="y", labelsize=9, colors=INK)
    save(figure, path, protected=protected)
