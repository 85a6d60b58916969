"""What every picture is plotted on: a figure without global state, the mark, and the file.

Matplotlib is an optional extra, so it is imported when the first picture is plotted and not before.
"""

from __future__ import annotations

import io
import posixpath
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vdr_spark.errors import EnvironmentProblem
from vdr_spark.storage.files import filesystem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

UNPROTECTED = "UNPROTECTED - seeded test run"
WITHDRAWN = "WITHDRAWN - not to be used any more"
INK, FAINT, RULE = "#1b1b22", "#6f6f7a", "#d9d9e0"
ALARM = "#c1121f"
DOTS_PER_INCH = 160
_BAND_INCHES = 0.32


@dataclass(frozen=True)
class Picture:
    """A picture as PNG. A notebook shows it, `save` writes it to a path or a URL."""

    png: bytes = field(repr=False)
    title: str

    def save(self, path: str | Path) -> str:
        """Write the picture; return where."""
        write_bytes(str(path), self.png)
        return str(path)

    def _repr_png_(self) -> bytes:
        return self.png


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure in inches that lays itself out; no pyplot, so no window and no global state."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise EnvironmentProblem(
            "pictures need matplotlib, which is not installed; run: pip install vdr-spark[pictures]"
        ) from None
    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH, facecolor="white", layout="constrained")
    figure.get_layout_engine().set(w_pad=0.07, h_pad=0.07)  # type: ignore[union-attr, call-arg]
    return figure


def put_title(figure: Figure, title: str) -> None:
    """Write a title above the picture, at its left."""
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)


def style_axes(axes: Axes) -> None:
    """Leave only the lines that carry meaning: a base line, faint horizontal rules, small labels."""
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(RULE)
    axes.grid(axis="y", color=RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(colors=FAINT, labelsize=8, length=0)


def render(figure: Figure, *, protected: bool, withdrawn: bool = False) -> bytes:
    """Return the picture as PNG, with a mark where the release protects nobody or was withdrawn."""
    marks = [*([] if protected else [UNPROTECTED]), *([WITHDRAWN] if withdrawn else [])]
    if marks:
        _mark(figure, ", ".join(marks))
    content = io.BytesIO()
    figure.savefig(content, format="png")
    return content.getvalue()


def save(figure: Figure, path: str, *, protected: bool, withdrawn: bool = False) -> None:
    """Write the picture as PNG to a path or a URL, with a mark where the release protects nobody or was withdrawn."""
    write_bytes(path, render(figure, protected=protected, withdrawn=withdrawn))


def write_bytes(path: str, content: bytes) -> None:
    """Write a picture to a path or a URL."""
    fs, inside = filesystem(path)
    fs.makedirs(posixpath.dirname(inside), exist_ok=True)
    with fs.open(inside, "wb") as file:
        file.write(content)


def _mark(figure: Figure, words: str) -> None:
    """Add a red band along the foot: the picture grows by it, so it hides nothing and nothing hides it."""
    from matplotlib.patches import Rectangle

    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + _BAND_INCHES)
    share = _BAND_INCHES / (height + _BAND_INCHES)
    figure.get_layout_engine().set(rect=(0, share, 1, 1 - share))  # type: ignore[union-attr, call-arg]
    figure.add_artist(Rectangle((0, 0), 1, share, transform=figure.transFigure, color=ALARM, zorder=1000))
    font: dict[str, Any] = {"color": "white", "fontsize": 10, "fontweight": "bold", "zorder": 1001}
    figure.text(0.5, share / 2, words, ha="center", va="center_baseline", **font)
