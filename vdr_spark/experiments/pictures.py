"""Pictures of an experiment: its curves with their spread over the draws; and slices true, noisy and denoised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vdr_spark.experiments.curves import Curve, Panel, make_panels, name_of
from vdr_spark.experiments.runner import Done
from vdr_spark.experiments.settings import Experiment
from vdr_spark.experiments.tables import Line
from vdr_spark.report.canvas import FAINT, INK, new_figure, put_title, save, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (
    "#7b2382",
    "#f1731d",
    "#2a7fb8",
    "#3a9d5d",
    "#c1121f",
    "#8c6d31",
    "#5b5b66",
    "#d667a6",
    "#17a2a2",
    "#a7a7b2",
)
_DASHES = ("-", "--", ":")
_OVER_ANOTHER = (0, (4, 4))  # dashes over a curve of the same points: both colours are seen
_TOGETHER = 0.01
_SLICES = ("true", "noisy", "denoised")
_WIDE, _HIGH = 5.0, 3.6  # inches of a panel
_FEW_COLUMNS = 3
_FEW_NUMBERS = 10  # on an axis


def plot_curves(experiment: Experiment, lines: list[Line], path: str) -> None:
    """Plot every figure over x, one line for each kind, bars of one deviation over the draws."""
    panels = make_panels(lines, experiment.plot)
    columns = min(len(panels), _FEW_COLUMNS)
    rows = -(-len(panels) // columns)
    figure = new_figure(_WIDE * columns + 1.2, _HIGH * rows + 0.6)
    put_title(figure, experiment.title)
    all_axes = np.ravel(figure.subplots(rows, columns, squeeze=False))
    for axes, panel in zip(all_axes, panels, strict=False):
        _plot_panel(axes, panel, experiment.plot.x)
    for axes in all_axes[len(panels) :]:
        axes.set_visible(False)
    handles = {label: of for axes in all_axes for of, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    if len(handles) > 1:
        figure.legend(handles.values(), handles.keys(), loc="outside right upper", frameon=False, fontsize=8)
    save(figure, path, protected=False)


def _plot_panel(axes: Axes, panel: Panel, x: str) -> None:
    places, is_number = _places(panel)
    for number, curve in enumerate(panel.curves):
        means, spreads = np.array([mean for _, mean, _ in curve.points]), np.array([sd for _, _, sd in curve.points])
        style: dict[str, Any] = {
            "color": _COLOURS[number % len(_COLOURS)],
            "linestyle": _line_style(panel.curves, number) if is_number else "none",
        }
        at = [places[of] for of in curve.xs]
        axes.errorbar(at, means, yerr=spreads, label=curve.label, marker="o", markersize=3, lw=1.3, capsize=2, **style)
    _scale(axes, panel)
    _label_x(axes, panel, places, is_number)
    axes.set_title(panel.title, fontsize=8, loc="left", color=INK)
    axes.set_xlabel(name_of(x), fontsize=8, color=FAINT)
    style_axes(axes)


def _line_style(curves: Sequence[Curve], number: int) -> Any:
    """Return how a curve is drawn, so that it does not hide one that it falls together with."""
    if any(_fall_together(earlier, curves[number]) for earlier in curves[:number]):
        return _OVER_ANOTHER
    return _DASHES[number // len(_COLOURS) % len(_DASHES)]


def _fall_together(one: Curve, other: Curve) -> bool:
    """Whether the eye cannot tell two curves apart: within a hundredth everywhere."""
    means, others = ([mean for _, mean, _ in curve.points] for curve in (one, other))
    return one.xs == other.xs and bool(np.allclose(means, others, rtol=_TOGETHER))


def _places(panel: Panel) -> tuple[dict[Any, float], bool]:
    """Return where each x stands: numbers at themselves, words one after the other."""
    xs = panel.xs
    if all(isinstance(x, int | float) and not isinstance(x, bool) for x in xs):
        return {x: float(x) for x in xs}, True
    return {x: float(number) for number, x in enumerate(xs)}, False


def _scale(axes: Axes, panel: Panel) -> None:
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    means = [mean for curve in panel.curves for _, mean, _ in curve.points]
    if min(means) > 0 and max(means) / min(means) >= 5:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.set_ylim(bottom=min(0.0, min(means)))


def _label_x(axes: Axes, panel: Panel, places: dict[Any, float], is_number: bool) -> None:
    """Name every x, where there is room for all; words always, upright."""
    from matplotlib.ticker import NullLocator

    xs = panel.xs
    if is_number and min(xs) > 0 and max(xs) / min(xs) >= 8:
        axes.set_xscale("log")
    if len(xs) <= _FEW_NUMBERS or not is_number:
        axes.set_xticks([places[x] for x in xs], [str(x) for x in xs], rotation=0 if is_number else 90)
        axes.xaxis.set_minor_locator(NullLocator())


def plot_panels_of_slices(experiment: Experiment, found: list[Done], path: str) -> bool:
    """Plot the busiest slice of every setting, true, noisy and denoised, a row each; False where none was kept."""
    shown = [done for done in found if done.panels]
    if not shown:
        return False
    figure = new_figure(2.3 * 3 + 1.6, 2.2 * len(shown) + 0.6)
    put_title(figure, experiment.title)
    grid = figure.subplots(len(shown), 3, squeeze=False)
    for row, done in zip(grid, shown, strict=True):
        top = max(1e-9, float(np.max(done.panels["true"])))
        for axes, name in zip(row, _SLICES, strict=True):  # a file has them in an order of its own
            layer = done.panels[name]
            axes.imshow(np.sqrt(np.clip(layer, 0, top)), origin="lower", cmap="inferno", vmin=0, vmax=np.sqrt(top))
            axes.set(xticks=[], yticks=[])
            axes.set_title(name, fontsize=8, color=INK)
        label = "\n".join(f"{name_of(name).partition(',')[0]} {value}" for name, value in done.point.swept.items())
        row[0].set_ylabel(label, fontsize=6, color=FAINT)
    save(figure, path, protected=False)
    return True
