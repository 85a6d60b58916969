"""What of a table is shown: its lines as curves over x, in panels. Pictures and words are made of the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from vdr_spark.experiments.settings import PlotSettings
from vdr_spark.experiments.tables import FIGURES, Line

NAMES = {
    "epsilon": "epsilon",
    "side": "side of the square, cells",
    "length": "length of the query",
    "density": "density of a hot spot, pings",
    "k": "k, pings kept of a user",
    "lambda": "lambda, k = lambda N",
    "concentration": "C of the refinement",
    "rule": "refinement",
    "method": "method",
    "part": "what is in it",
    "learn_days": "days that the denoiser learns from",
    "sample": "what the network learnt from",
    "data.slices": "slices of the period",
    "data.share": "share of the users",
    "data.sigma_cells": "sigma of the Gaussians, cells",
    "denoise.vqvae.alpha": "alpha, weight of the regularisation",
    "denoise.vqvae.codebook_size": "codes in the bottleneck",
    "denoise.vqvae.resolutions": "resolutions",
    "searched_by": "searched by",
}
"""What settings and questions are called on an axis and in sentences."""


@dataclass(frozen=True)
class Curve:
    """A figure over x, by its mean and deviation over the draws; x as numbers in order, or as words."""

    label: str
    points: list[tuple[Any, float, float]] = field(default_factory=list)

    @property
    def xs(self) -> list[Any]:
        return [x for x, _, _ in self.points]

    def at(self, x: Any) -> tuple[float, float] | None:
        """Return mean and deviation at x, where there is such a point."""
        return next(((mean, sd) for at, mean, sd in self.points if at == x), None)


@dataclass(frozen=True)
class Panel:
    """The curves of one figure, under one condition where there are several."""

    figure: str
    condition: str
    curves: list[Curve]

    @property
    def title(self) -> str:
        return FIGURES[self.figure] + (f"; {self.condition}" if self.condition else "")

    @property
    def xs(self) -> list[Any]:
        """All x, in order."""
        found = list(dict.fromkeys(x for curve in self.curves for x in curve.xs))
        return sorted(found) if all(isinstance(x, int | float) for x in found) else found


def name_of(setting: str) -> str:
    """Return what a setting is called."""
    return NAMES.get(setting, setting.rpartition(".")[2].replace("_", " "))


def make_panels(lines: Iterable[Line], plot: PlotSettings) -> list[Panel]:
    """Return the curves of a table, figure by figure and panel by panel."""
    shown = [line for line in lines if _is_shown(line, plot)]
    panels: dict[tuple[str, str], dict[str, Curve]] = {}
    for figure in plot.figures:
        for line in (line for line in shown if line.figure == figure):
            told = [name for name in (plot.panels, *plot.where) if name is not None and name in line.asked]
            condition = "; ".join(_condition(name, line.asked[name]) for name in told)
            curves = panels.setdefault((figure, condition), {})
            label = ", ".join(_label(name, line) for name in plot.lines if name in line.asked) or "all"
            curves.setdefault(label, Curve(label)).points.append((line.asked[plot.x], line.mean, line.sd))
    return [
        Panel(figure, condition, [_in_order(curve) for curve in curves.values()])
        for (figure, condition), curves in panels.items()
    ]


def _condition(name: str, value: Any) -> str:
    """Return what holds in a panel, with the unit where the value has none: `density of a hot spot: 10 pings`."""
    called, _, unit = name_of(name).partition(", ")
    return f"{called}: {value}" + (f" {unit}" if unit and not isinstance(value, str) else "")


def _is_shown(line: Line, plot: PlotSettings) -> bool:
    asked = plot.x in line.asked and (plot.panels is None or plot.panels in line.asked)
    return asked and all(line.asked.get(name, value) == value for name, value in plot.where.items())


def _label(name: str, line: Line) -> str:
    value = line.asked[name]
    return str(value) if isinstance(value, str) else f"{name_of(name).partition(',')[0]} {value}"


def _in_order(curve: Curve) -> Curve:
    if all(isinstance(x, int | float) for x in curve.xs):
        return Curve(curve.label, sorted(curve.points))
    return curve
