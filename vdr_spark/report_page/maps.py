"""Maps of the page: small palette pictures with one colour scale, a bar of kilometres and, where asked, numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vdr_spark.grid import Grid
from vdr_spark.report.maps import round_length, scale_end
from vdr_spark.report_page.markup import Markup, element, join
from vdr_spark.report_page.png import INFERNO, LEVELS, data_url, encode_png, palette, shrink

_STRAIGHT = 25  # the scale is straight up to this part of its end, and like a logarithm from there on


@dataclass(frozen=True)
class Scale:
    """From nothing to `end` pings per cell, in the colours of a scale; bent like a logarithm unless it is straight."""

    end: float
    colours: str = INFERNO
    straight: bool = False

    @classmethod
    def over(cls, layers: Sequence[NDArray[Any]], colours: str = INFERNO) -> Scale:
        """Return the scale that maps share."""
        return cls(scale_end(layers), colours)

    def position(self, values: Any) -> NDArray[np.float64]:
        """Return where values lie on the scale, from 0 to 1; what is below nothing lies at 0."""
        if self.straight:
            return (np.asarray(values, dtype=np.float64) / self.end).clip(0, 1)
        width = self.end / _STRAIGHT
        at: NDArray[np.float64] = np.arcsinh(np.asarray(values, dtype=np.float64) / width) / np.arcsinh(_STRAIGHT)
        return at.clip(0, 1)

    def picture(self, layer: NDArray[Any]) -> str:
        """Return a map (M, M), north up, as the address of a picture."""
        levels = (self.position(layer[::-1]) * (LEVELS - 1)).round().astype(np.uint8)
        return data_url(encode_png(levels, palette(self.colours)))

    def legend(self, label: str) -> Markup:
        """Return the colours with figures below them."""
        ramp = data_url(encode_png(np.arange(LEVELS, dtype=np.uint8)[None], palette(self.colours)))
        marks = join(
            element("span", f"{tick:,g}", style=f"left:{100 * float(self.position(tick)):.1f}%")
            for tick in self._ticks()
        )
        bar = element("img", src=ramp, alt="")
        return element(
            "div",
            element("span", label, class_="of"),
            element("div", bar, element("div", marks, class_="ticks"), class_="ramp"),
            class_="legend",
        )

    def _ticks(self) -> list[float]:
        if self.straight:
            return [self.end * quarter / 4 for quarter in range(5)]
        decades = [step * 10.0**power for power in range(-4, 10) for step in (1, 3)]
        return [0.0, *(tick for tick in decades if self.end / 30 <= tick <= self.end)]


@dataclass(frozen=True)
class Mark:
    """A number on a map, at shares of its width from the west and of its height from the north."""

    number: int
    x: float
    y: float


def map_figure(
    layer: NDArray[Any],
    scale: Scale,
    grid: Grid,
    caption: str,
    alt: str,
    marks: Sequence[Mark] = (),
    ruler: bool = False,
) -> Markup:
    """Return one map (M, M) with its caption. The text `alt` says what is seen to those who do not see it."""
    height, width = grid.cell_metres
    over = join([*([_ruler(grid)] if ruler else []), *(_mark(mark) for mark in marks)])
    plate = element(
        "div",
        element("img", src=scale.picture(layer), alt=alt),
        over,
        class_="plate",
        style=f"aspect-ratio:{width:.4f}/{height:.4f}",
    )
    return element("figure", plate, element("figcaption", caption), class_="map")


def map_row(
    panels: Sequence[tuple[str, str, NDArray[Any]]], grid: Grid, most: int, label: str, colours: str = INFERNO
) -> Markup:
    """Return small maps with one scale, each a caption, a text for those who do not see it and a layer (M, M)."""
    small = [shrink(layer, most) for _, _, layer in panels]
    scale = Scale.over(small, colours)
    figures = (
        map_figure(layer, scale, grid, caption, alt, ruler=number == 0)
        for number, ((caption, alt, _), layer) in enumerate(zip(panels, small, strict=True))
    )
    wide, narrow = _columns(len(panels))
    row = element("div", *figures, class_="maps", style=f"--wide:{wide};--narrow:{narrow}")
    return join([row, scale.legend(label)])


def _columns(panels: int) -> tuple[int, int]:
    """Return in how many columns so many maps stand, on a wide screen or paper and on a telephone."""
    if panels <= 7:
        return max(2, panels), min(panels, 3) if panels != 4 else 2
    return (4, 2) if panels <= 12 else (8, 4)


def _ruler(grid: Grid) -> Markup:
    width = grid.cell_metres[1] * grid.cells_per_side / 1000
    length = round_length(width / 3.5)
    words = f"{length:g} km" if length >= 1 else f"{length * 1000:g} m"
    return element("div", element("span", words), class_="ruler", style=f"width:{100 * length / width:.2f}%")


def _mark(mark: Mark) -> Markup:
    return element("span", mark.number, class_="mark", style=f"left:{100 * mark.x:.2f}%;top:{100 * mark.y:.2f}%")
