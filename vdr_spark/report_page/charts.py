"""Charts of the page as SVG: lines and bars in the colours of the page, dark or light, on a screen or on paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vdr_spark.report_page.markup import Markup, element, join

# So narrow that the figures on the axes can still be read on a telephone.
WIDTH, HEIGHT = 460, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 22, 12, 40


@dataclass(frozen=True)
class Axis:
    """What a chart measures along one side."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    label: str
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Return where a value lies, from 0 to 1; beyond the ends, at them."""
        if self.logarithmic:
            low, high, value = math.log(self.low), math.log(self.high), math.log(max(value, self.low))
        else:
            low, high = self.low, self.high
        return min(1.0, max(0.0, (value - low) / (high - low)))


@dataclass(frozen=True)
class Line:
    """A curve and its name."""

    name: str
    points: tuple[tuple[float, float], ...]


def linear_axis(values: Sequence[float], label: str, suffix: str = "") -> Axis:
    """Return an axis from zero to a round figure above all values."""
    high = max([*values, 1e-9])
    step = _round_step(high / 4)
    count = max(1, math.ceil(high / step - 1e-9))
    ticks = tuple((number * step, f"{_short(number * step)}{suffix}") for number in range(count + 1))
    return Axis(0.0, count * step, ticks, label)


def log_axis(values: Sequence[float], label: str, percent: bool = False) -> Axis:
    """Return an axis over all positive values with ticks at 1, 10, 100, or closer where it is short."""
    positive = [value for value in values if value > 0] or [1.0]
    low, high = min(positive), max(positive)
    steps = (1, 2, 5) if high / low < 50 else (1, 3) if high / low < 2000 else (1,)
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    known = [step * 10.0**power for power in decades for step in steps]
    low_tick = max(tick for tick in known if tick <= low * 1.0001)
    high_tick = min(tick for tick in known if tick >= high * 0.9999 and tick > low_tick)
    shown = [tick for tick in known if low_tick <= tick <= high_tick]
    name = (lambda tick: f"{100 * tick:g} %") if percent else _short
    return Axis(low_tick, high_tick, tuple((tick, name(tick)) for tick in shown), label, logarithmic=True)


def line_chart(lines: Sequence[Line], x: Axis, y: Axis, alt: str) -> Markup:
    """Return curves, each told apart by colour, dashes and its name in the legend."""
    drawn = []
    for number, line in enumerate(lines):
        places = [_place(x, y, point) for point in line.points]
        drawn.append(
            element("polyline", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in places), class_=f"line l{number}")
        )
        if len(places) <= 24:
            drawn += [element("circle", cx=f"{a:.1f}", cy=f"{b:.1f}", r=3, class_=f"dot l{number}") for a, b in places]
    return _chart(join([_frame(x, y), *drawn]), [line.name for line in lines], alt, y.label)


def bar_chart(labels: Sequence[str], groups: Mapping[str, Sequence[float]], y: Axis, x_label: str, alt: str) -> Markup:
    """Return bars side by side, one group for each label."""
    inner, count = WIDTH - _LEFT - _RIGHT, max(1, len(labels))
    wide = inner / count
    each = wide * 0.78 / max(1, len(groups))
    every = math.ceil(count / 9)  # labels that fit
    ticks = tuple(((at + 0.5) / count, label if at % every == 0 else "") for at, label in enumerate(labels))
    bars = []
    for number, values in enumerate(groups.values()):
        for at, value in enumerate(values):
            left = _LEFT + wide * (at + 0.11) + each * number
            _, top = _place(_UNIT, y, (0, value))
            height = max(0.0, HEIGHT - _BOTTOM - top)
            bars.append(
                element(
                    "rect", x=f"{left:.1f}", y=f"{top:.1f}", width=f"{each:.1f}", height=f"{height:.1f}",
                    class_=f"bar l{number}",
                )
            )  # fmt: skip
    axis = Axis(0, 1, ticks, x_label)
    return _chart(join([_frame(axis, y), *bars]), list(groups), alt, y.label)


_UNIT = Axis(0, 1, (), "")


def _chart(content: Markup, names: Sequence[str], alt: str, measure: str) -> Markup:
    drawing = element(
        "svg", content, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=alt, xmlns="http://www.w3.org/2000/svg"
    )
    keys = (element("span", element("i", class_=f"l{number}"), name) for number, name in enumerate(names))
    legend = element("figcaption", *keys) if len(names) > 1 else ""
    return element("figure", element("p", measure), drawing, legend, class_="chart")


def _frame(x: Axis, y: Axis) -> Markup:
    """Return faint rules at the ticks of y, the ticks of x, and both names."""
    right, base = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    parts = []
    for value, label in y.ticks:
        _, at = _place(x, y, (x.low, value))
        parts.append(element("line", x1=_LEFT, x2=right, y1=f"{at:.1f}", y2=f"{at:.1f}", class_="rule"))
        parts.append(element("text", label, x=_LEFT - 6, y=f"{at + 4:.1f}", text_anchor="end"))
    for value, label in x.ticks:
        at, _ = _place(x, y, (value, y.low))
        parts.append(element("text", label, x=f"{at:.1f}", y=base + 16, text_anchor="middle"))
    parts.append(element("text", x.label, x=(_LEFT + right) / 2, y=HEIGHT - 6, text_anchor="middle", class_="name"))
    return join(parts)


def _place(x: Axis, y: Axis, point: tuple[float, float]) -> tuple[float, float]:
    across, up = x.share(point[0]), y.share(point[1])
    return _LEFT + across * (WIDTH - _LEFT - _RIGHT), HEIGHT - _BOTTOM - up * (HEIGHT - _TOP - _BOTTOM)


def _round_step(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return min(of * power for of in (1, 2, 2.5, 5, 10) if of * power >= step * 0.999)


def _short(value: float) -> str:
    """Return a figure as an axis has room for: 1,500, 20k, 3M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == 'k' else size):g}{letter}"
    return f"{value:,.6g}"
