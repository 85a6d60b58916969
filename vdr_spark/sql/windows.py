"""The views of series: `windows`, one row for each window that may be used, and `series_cells`, their cells as one.

Nothing is counted twice: of a window that has several releases, one is in them. What was withdrawn is left out; what a
correction superseded is left out, unless the correction itself was withdrawn; of several denoisings of one draw the
first that was published stays, so that a published window does not change under those who read it.
"""

from __future__ import annotations

from vdr_spark.sql.error_bars import Steps
from vdr_spark.sql.views import NOT_WITHDRAWN, Sources

WINDOWS, SERIES_CELLS = "windows", "series_cells"
_COLUMNS = (
    "series",
    "window_name",
    "region",
    "release_id",
    "period_start",
    "period_end",
    "created",
    "epsilon",
    "rho",
    "delta",
    "k",
    "model",
    "slices",
    "slices_told",
    "total_pings",
    "estimated_rmse",
    "noise_deviation",
    "noisy_total",
    "noisy_total_deviation",
    "protected",
)


def window_steps(sources: Sources, windows: str) -> Steps:
    """Return the views of series in order; the second reads the first, which `windows` names."""
    return [(WINDOWS, _windows(sources)), (SERIES_CELLS, _series_cells(sources, windows))]


def _windows(sources: Sources) -> str:
    in_force = NOT_WITHDRAWN.format(withdrawals=sources.withdrawals)
    # By a join: not every engine looks twice from inside a NOT EXISTS.
    corrections = (
        f"SELECT DISTINCT r.supersedes, r.region FROM {sources.releases} r\n"
        f"      WHERE r.supersedes IS NOT NULL AND {in_force}"
    )
    columns = ", ".join(f"q.{name}" for name in _COLUMNS)
    return (
        f"SELECT {columns},\n    q.supersedes IS NOT NULL AS is_correction\n  FROM (\n"
        "    SELECT r.*, row_number() OVER (PARTITION BY r.series, r.window_name, r.region "
        "ORDER BY r.created, r.release_id) AS place\n"
        f"    FROM {sources.releases} r\n"
        f"    LEFT JOIN ({corrections}) s\n"
        "      ON s.supersedes = r.draw_id AND coalesce(s.region, '') = coalesce(r.region, '')\n"
        f"    WHERE r.series IS NOT NULL AND s.supersedes IS NULL AND {in_force}\n"
        "  ) q\n  WHERE q.place = 1"
    )


def _series_cells(sources: Sources, windows: str) -> str:
    return (
        "SELECT w.series, w.window_name, w.region, c.release_id, c.slice, c.slice_start, c.y, c.x, c.lat, c.lon,\n"
        "    CAST(c.count AS DOUBLE) AS count, CAST(c.deviation AS DOUBLE) AS deviation, c.protected\n"
        f"  FROM {sources.cells} c\n  JOIN {windows} w ON w.release_id = c.release_id"
    )
