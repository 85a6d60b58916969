"""Rows of figures as a table: means and deviations over the draws, one line for each figure; and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vdr_spark.experiments.measures import Row

FIGURES = {
    "relative_error": "relative error",
    "mae": "mean absolute error of a cell, pings",
    "mae_at_pings": "mean absolute error of a cell where a ping is, pings",
    "rmse": "root mean square error of a cell, pings",
    "total_ratio": "released sum / true sum",
    "distance": "distance of the nearest hot spot off by, cells",
    "regret": "regret of the nearest hot spot, pings",
    "smape": "sMAPE of forecasts",
    "factor": "factor, of N / n",
    "seconds": "seconds of a point, by the clock on the wall",
}
"""Figures by name, and what they are called on an axis. Smaller is better, but for `total_ratio` and `factor`."""

_NEITHER = ("draw", "mean", "sd", "draws", "figure", "value")


@dataclass(frozen=True)
class Line:
    """A figure under some settings: its mean and its deviation over so many draws."""

    asked: dict[str, Any]
    figure: str
    mean: float
    sd: float
    draws: int


def summarise(rows: Iterable[Row]) -> list[Line]:
    """Return means over draws, in the order in which they were asked for."""
    values: dict[tuple[tuple[tuple[str, Any], ...], str], list[float]] = {}
    for row in rows:
        asked = tuple((name, value) for name, value in row.items() if name not in FIGURES and name != "draw")
        for figure in FIGURES:
            if figure in row:
                values.setdefault((asked, figure), []).append(row[figure])
    return [
        Line(dict(asked), figure, float(np.mean(of)), float(np.std(of)), len(of))
        for (asked, figure), of in values.items()
    ]


def to_csv(lines: Sequence[Line]) -> str:
    """Return the table as CSV: what was asked, then figure, mean, sd, draws."""
    names = list(dict.fromkeys(name for line in lines for name in line.asked))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*names, "figure", "mean", "sd", "draws"])
    for line in lines:
        asked = [line.asked.get(name, "") for name in names]
        writer.writerow([*asked, line.figure, f"{line.mean:.6g}", f"{line.sd:.3g}", line.draws])
    return text.getvalue()


def from_csv(text: str) -> list[Line]:
    """Read such a table; what was asked comes back as it is written, numbers as numbers."""
    lines = []
    for record in csv.DictReader(io.StringIO(text)):
        asked = {name: _value(of) for name, of in record.items() if name not in _NEITHER and of != ""}
        mean, sd, draws = float(record["mean"]), float(record["sd"]), int(record["draws"])
        lines.append(Line(asked, record["figure"], mean, sd, draws))
    return lines


def _value(text: str) -> Any:
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return text


def choose(lines: Iterable[Line], **asked: Any) -> list[Line]:
    """Return the lines of which all of that was asked."""
    return [line for line in lines if all(line.asked.get(name) == value for name, value in asked.items())]
