"""A small city with error bars and a statement, and its report."""

from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pytest

from tests.release.hand_made import hand_made
from vdr_spark.grid import Box
from vdr_spark.release.release import Release
from vdr_spark.report_page import Contents, report_page
from vdr_spark.sum_errors import Spread, SumErrors, Total

HOSTILE = "<script>alert(1)</script>\"'&<img src=https://example.org/x onerror=alert(1)>"


def make_city(slices: int = 24, side: int = 24, bars: bool = True, **fields: object) -> Release:
    """Three days of a city with one centre in the north-west and a daily rhythm."""
    y, x = np.mgrid[0:side, 0:side]
    centre = 4000 * np.exp(-np.hypot(y - 0.75 * side, x - 0.2 * side) / (side / 6))
    rhythm = np.resize([0.2, 0.1, 0.5, 1, 1.2, 1.3, 1, 0.6], slices)
    counts = rhythm[:, None, None] * centre
    spreads = tuple(Spread(of, number, 0.1) for of in (1, 4, 16) for number in sorted({1, slices}))
    errors = SumErrors(20.0, spreads, 500.0, Total(float(counts.sum())))
    statement = {
        "release_id": "hand-made",
        "warning": None,
        "deployment": {"basic": {"name": "hand-made", "intended_use": "to be looked at"}},
        "questions": [{"question": "Is it private?", "answer": "Yes."}],
        "exact": {"timezone": "America/Chicago", "committed": "6", "granted": "8", "draws": []},
    }
    about: dict[str, object] = {"statement": statement, "sum_errors": errors if bars else None}
    return hand_made(
        counts,
        np.sqrt(counts + 4) if bars else None,
        start=datetime(2020, 1, 7, 6, tzinfo=UTC),
        box=Box.around(29.76, -95.37, 20_000),
        **(about | fields),
    )


@pytest.fixture
def page_of() -> Callable[..., str]:
    """The report on a city, with changes."""

    def make(**fields: object) -> str:
        return report_page(Contents(make_city(**fields)))  # type: ignore[arg-type]

    return make
