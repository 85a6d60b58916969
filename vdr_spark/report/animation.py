"""A day as a moving picture: the released slices one after the other, blended, with a clock and the day's curve."""

from __future__ import annotations

import io
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vdr_spark.errors import EnvironmentProblem, InvalidQuery
from vdr_spark.report.canvas import ALARM, UNPROTECTED, WITHDRAWN, new_figure, write_bytes
from vdr_spark.report.maps import scale_end, slices_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from vdr_spark.release.release import Release

_STEPS = 5  # pictures from one slice to the next: between two of them the eye sees one move
_SECONDS = 6.0  # that a day takes
_NIGHT, _PALE, _BRIGHT = "#08060f", "#8d88a3", "#fca50a"
_QUALITY = 70  # of 100: streets stay sharp


def animate_day(release: Release, day: date, path: str) -> None:
    """Write a WebP of a calendar day of the release's zone that begins anew when it ends.

    Between two slices it blends one into the other; nothing is shown that was not released.
    """
    numbers = slices_of(release.grid, day, release.zone)
    if len(numbers) < 2:
        raise InvalidQuery(f"a moving picture needs a day of several slices, and {day} has {len(numbers)}; plot a map")
    write_bytes(path, _encode([_draw(release, numbers, at) for at in np.arange(0, len(numbers), 1 / _STEPS)]))


def _draw(release: Release, numbers: list[int], at: float) -> NDArray[np.uint8]:
    """Return the picture at so many slices since the day began, as pixels. (H, W, 3)"""
    figure = new_figure(3.2, 3.6)
    figure.set_facecolor(_NIGHT)
    figure.set_layout_engine("none")
    figure.set_dpi(150)
    sky = figure.add_axes((0, 1 / 9, 1, 8 / 9))
    sky.imshow(_blend(release, numbers, at), origin="lower", cmap="inferno", vmin=0, vmax=1, aspect="auto")
    sky.set_axis_off()
    start = release.grid.slice_start(numbers[0]).astimezone(release.zone)
    _write_clock(figure, start + timedelta(seconds=at * release.grid.slice_seconds))
    _draw_curve(figure, [float(release.counts[number].sum(dtype=np.float64)) for number in numbers], at)
    _mark(figure, release)
    return _pixels(figure)


def _blend(release: Release, numbers: list[int], at: float) -> NDArray[np.float64]:
    """Return the brightness of every cell, 0 to 1: like a logarithm, straight around zero. (M, M)"""
    first, share = int(at), at % 1
    after = numbers[(first + 1) % len(numbers)]
    layer = (1 - share) * release.counts[numbers[first]] + share * release.counts[after]
    end = scale_end([release.counts[number] for number in numbers])
    bright: NDArray[np.float64] = np.arcsinh(np.maximum(layer, 0) * 25 / end) / np.arcsinh(25)
    return bright.clip(0, 1)


def _write_clock(figure: Figure, moment: datetime) -> None:
    figure.text(0.04, 0.955, f"{moment:%H:%M}", color="white", fontsize=15, fontweight="bold", va="top")
    figure.text(0.04, 0.895, f"{moment:%A}", color=_PALE, fontsize=8, va="top")


def _draw_curve(figure: Figure, totals: list[float], at: float) -> None:
    """Plot the pings of the day's slices as a curve, with a dot where the clock is."""
    axes = figure.add_axes((0.04, 0.02, 0.92, 0.085))
    around = [*totals, totals[0]]
    axes.fill_between(range(len(around)), around, color="#57106e", lw=0)
    axes.plot(range(len(around)), around, color="#bc3754", lw=1.2)
    axes.plot([at], [float(np.interp(at, range(len(around)), around))], "o", color=_BRIGHT, markersize=5)
    axes.set_ylim(0, 1.18 * max(*totals, 1e-9))
    axes.set_xlim(0, len(totals))
    axes.set_axis_off()


def _mark(figure: Figure, release: Release) -> None:
    words = [*([] if release.protected else [UNPROTECTED]), *([WITHDRAWN] if release.withdrawal else [])]
    if words:
        plate: dict[str, Any] = {"facecolor": ALARM, "edgecolor": "none", "pad": 3}
        figure.text(0.5, 0.15, "\n".join(words), color="white", fontsize=8, fontweight="bold", ha="center", bbox=plate)


def _pixels(figure: Figure) -> NDArray[np.uint8]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]


def _encode(pictures: list[NDArray[np.uint8]]) -> bytes:
    """Return pictures as one WebP that begins anew for ever: a third of what a GIF takes, and in all colours."""
    try:
        from PIL import Image
    except ImportError:
        raise EnvironmentProblem(
            "moving pictures need pillow, which comes with matplotlib; run: pip install vdr-spark[pictures]"
        ) from None
    first, *others = [Image.fromarray(of) for of in pictures]
    content, lasting = io.BytesIO(), round(1000 * _SECONDS / len(pictures))
    first.save(
        content, "WEBP", save_all=True, append_images=others, duration=lasting, loop=0, quality=_QUALITY, method=4
    )
    return content.getvalue()
