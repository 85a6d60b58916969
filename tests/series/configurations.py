"""A small series that tests share."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def weekly_series(folder: Path, **changes: Any) -> dict[str, Any]:
    """Return the settings of a series of days over a small generated city; `changes` are whole sections."""
    return {
        "name": "city",
        "dataset": "people",
        "output": str(folder / "out"),
        "input": {"path": str(folder / "pings"), "format": "parquet"},
        "region": {"center": [29.7604, -95.3698], "side_m": 20000},
        "grid": {"cells_per_side": 8},
        "period": {"slice": "6h", "timezone": "UTC"},
        "series": {
            "window": "1w",
            "first": "2020-01-06",
            "schedule": {"kind": "geometric", "epsilon": 20, "ratio": "0.9"},
        },
        "privacy": {"k": 20, "total_pings": 2000},
        "denoise": {"model": "temporal"},
    } | changes
