"""A small series that tests share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml


def weekly_series(folder: Path, **changes: Any) -> dict[str, Any]:
    """Return the settings of a series of weeks over a small box; `changes` are whole sections."""
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


def write_weeks(folder: Path, weeks: int, pings: int = 2000) -> None:
    """Write pings of so many weeks from 2020-01-06 on, each the same, as one Parquet file."""
    random = np.random.default_rng(5)
    start = pd.Timestamp("2020-01-06", tz="UTC")
    seconds = np.concatenate([random.integers(0, 604_800, pings) + 604_800 * week for week in range(weeks)])
    frame = pd.DataFrame(
        {
            "user_id": [f"u{number}" for number in random.integers(0, 200, len(seconds))],
            "lat": random.normal(29.7604, 0.02, len(seconds)),
            "lon": random.normal(-95.3698, 0.02, len(seconds)),
            "ts": start + pd.to_timedelta(seconds, unit="s"),
        }
    )
    (folder / "pings").mkdir(parents=True, exist_ok=True)
    frame.to_parquet(folder / "pings" / "weeks.parquet", coerce_timestamps="us")


def write_conf(folder: Path, **changes: Any) -> str:
    """Write the series as a file, and return its path."""
    file = folder / "series.yaml"
    file.write_text(yaml.safe_dump(weekly_series(folder, **changes)))
    return str(file)
