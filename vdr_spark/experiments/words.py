"""A paragraph of what is seen in an experiment, made of its numbers: how curves run, which is lowest, and by how much.

Two means are told apart where they differ by more than two deviations of their difference, over the draws at hand.
"""

from __future__ import annotations

import math
from typing import Any

from vdr_spark.experiments.curves import Curve, Panel, make_panels, name_of
from vdr_spark.experiments.settings import Experiment
from vdr_spark.experiments.tables import Line

_APART = 2.0  # deviations of a difference
_MANY = 6  # curves: then only the lowest and the highest are told
_NEITHER_BETTER = ("total_ratio", "factor")


def describe(experiment: Experiment, lines: list[Line], place: str, draws: int) -> str:
    """Return Markdown: the question, what was run, and what is seen."""
    panels = make_panels(lines, experiment.plot)
    spread = f"{draws} draws of the noise" if draws > 1 else "one draw of the noise, so without a spread"
    seen = " ".join(_describe_panel(panel, experiment.plot.x, len(panels) > 1) for panel in panels)
    return f"# {experiment.title}\n\n*{experiment.question}*\n\nOn {place}; {spread}.\n\n{seen}\n"


def _describe_panel(panel: Panel, x: str, is_one_of_several: bool) -> str:
    head = f"**{panel.title[:1].upper()}{panel.title[1:]}.** " if is_one_of_several else ""
    curves, xs = [curve for curve in panel.curves if curve.points], panel.xs
    if not curves:
        return f"{head}Nothing was measured."
    told = curves if len(curves) <= _MANY else _ends(panel, xs[-1])
    sentences = [_describe_curve(curve, x) for curve in told]
    if len(curves) > 1 and panel.figure not in _NEITHER_BETTER:
        sentences.append(_compare(panel, x))
    return head + " ".join(sentences)


def _ends(panel: Panel, x: Any) -> list[Curve]:
    """Return the lowest and the highest curve at x."""
    there = sorted((at[0], curve.label, curve) for curve in panel.curves if (at := curve.at(x)) is not None)
    return [there[0][2], there[-1][2]] if len(there) > 1 else [of for *_, of in there]


def _describe_curve(curve: Curve, x: str) -> str:
    """Say how one curve runs."""
    label = "It" if curve.label == "all" else f"`{curve.label}`"
    (first, begin, begin_sd), (last, end, end_sd) = curve.points[0], curve.points[-1]
    if len(curve.points) == 1:
        return f"{label} is {_figure(begin, begin_sd)} at {_at(x, first)}."
    least = min(curve.points, key=lambda point: point[1])
    most = max(curve.points, key=lambda point: point[1])
    if isinstance(first, str):
        ends = (f"{_figure(*end[1:])}, for `{end[0]}`" for end in (least, most))
        return f"{label} is least, {', and most, '.join(ends)}."
    if not are_apart(most[1], most[2], least[1], least[2]):
        return f"{label} stays within its spread, from {_figure(begin, begin_sd)} to {_figure(end, end_sd)}."
    here, there = f"{_figure(begin, begin_sd)} at {_at(x, first)}", f"{_figure(end, end_sd)} at {_value(last)}"
    if are_apart(begin, begin_sd, end, end_sd):
        run = f"{label} {'falls' if end < begin else 'rises'} from {here} to {there}"
    else:
        run = f"{label} is {here} and {there}, which are not told apart"
    return run + "".join(_inside(word, extreme, curve) for word, extreme in (("least", least), ("most", most))) + "."


def _inside(word: str, extreme: tuple[Any, float, float], curve: Curve) -> str:
    """Name the least or the most of a curve, where it is neither end and stands out from both."""
    at, mean, sd = extreme
    stands_out = all(at != x and are_apart(mean, sd, *figure) for x, *figure in (curve.points[0], curve.points[-1]))
    return f", and is {word}, {_figure(mean, sd)}, at {_value(at)}" if stands_out else ""


def _compare(panel: Panel, x: str) -> str:
    """Say which curve is lowest where, and by how much."""
    winners: dict[str, list[Any]] = {}
    ratios, ties = [], []
    for at in panel.xs:
        there = sorted((found, curve.label) for curve in panel.curves if (found := curve.at(at)) is not None)
        if len(there) < 2:
            continue
        (best, label), (next_best, _) = there[0], there[1]
        winners.setdefault(label, []).append(at)
        if are_apart(*best, *next_best) and best[0] > 0:
            ratios.append(next_best[0] / best[0])
        else:
            ties.append(at)
    if not winners:
        return ""
    everywhere = len(winners) == 1
    where = [f"`{label}`" + ("" if everywhere else f" at {_list(ats)}") for label, ats in winners.items()]
    said = f"Lowest is {'everywhere ' if everywhere and len(panel.xs) > 1 else ''}{'; '.join(where)}"
    if ratios:
        low, high = min(ratios), max(ratios)
        said += f", by a factor of {low:.2f}{f' to {high:.2f}' if high - low >= 0.005 else ''} to the next"
    if ties:
        said += f"; at {name_of(x).partition(',')[0]} {_list(ties)} the first two are not told apart by these draws"
    return said + "."


def are_apart(one: float, one_sd: float, other: float, other_sd: float) -> bool:
    """Whether two means over draws differ by more than their spread explains."""
    return abs(one - other) > _APART * math.hypot(one_sd, other_sd) and one != other


def _figure(mean: float, sd: float) -> str:
    return f"{mean:.3g} ± {float(f'{sd:.1g}'):g}" if sd > 0 else f"{mean:.3g}"


def _at(x: str, value: Any) -> str:
    return f"{name_of(x).partition(',')[0]} {_value(value)}"


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _list(values: list[Any]) -> str:
    return ", ".join(_value(value) for value in values)
