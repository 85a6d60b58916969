"""Rows of figures as a table."""

import pytest

from vdr_spark.experiments.tables import choose, from_csv, summarise, to_csv

ROWS = [
    {"method": "ug", "epsilon": 0.5, "relative_error": error, "mae": 1.0, "draw": draw}
    for draw, error in enumerate((1.0, 2.0, 3.0))
] + [{"method": "ag", "epsilon": 2, "side": "30-120 m", "smape": 0.5, "draw": 0}]


def test_means_and_deviations_are_over_draws() -> None:
    error, mae, smape = summarise(ROWS)
    assert (error.figure, error.mean, error.draws) == ("relative_error", 2.0, 3)
    assert error.sd == pytest.approx((2 / 3) ** 0.5)
    assert (mae.mean, mae.sd) == (1.0, 0.0)
    assert smape.asked == {"method": "ag", "epsilon": 2, "side": "30-120 m"}


def test_csv_is_read_back_as_it_was_written() -> None:
    lines = summarise(ROWS)
    back = from_csv(to_csv(lines))
    assert [(line.asked, line.figure, line.draws) for line in back] == [
        (line.asked, line.figure, line.draws) for line in lines
    ]
    assert [line.sd for line in back] == pytest.approx([line.sd for line in lines], rel=1e-2)


def test_lines_are_chosen_by_what_was_asked() -> None:
    assert [line.figure for line in choose(summarise(ROWS), method="ug", epsilon=0.5)] == ["relative_error", "mae"]
