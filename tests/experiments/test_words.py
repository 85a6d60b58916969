"""Paragraphs that are made of numbers."""

import pytest

from tests.conftest import ROOT
from vdr_spark.experiments.settings import PlotSettings, load_experiment
from vdr_spark.experiments.tables import Line
from vdr_spark.experiments.words import are_apart, describe


def told(curves: dict[str, list[tuple[object, float, float]]]) -> str:
    lines = [
        Line({"epsilon": x, "method": method}, "relative_error", mean, sd, 3)
        for method, points in curves.items()
        for x, mean, sd in points
    ]
    experiment = load_experiment("range_epsilon", ROOT / "conf/experiments")
    plot = PlotSettings(x="epsilon", lines=["method"], figures=["relative_error"])
    return describe(experiment.model_copy(update={"plot": plot}), lines, "a city", 3)


def test_the_winner_is_told_and_by_how_much() -> None:
    text = told({"ridge": [(3, 0.2, 0.01), (6, 0.1, 0.01)], "ug": [(3, 0.4, 0.01), (6, 0.3, 0.01)]})
    assert "`ridge` falls from 0.2 ± 0.01 at epsilon 3 to 0.1 ± 0.01 at 6." in text
    assert "Lowest is everywhere `ridge`, by a factor of 2.00 to 3.00 to the next." in text


def test_what_the_draws_do_not_tell_apart_is_not_told_apart() -> None:
    text = told({"ridge": [(3, 0.20, 0.05), (6, 0.19, 0.05)], "ug": [(3, 0.21, 0.05), (6, 0.20, 0.05)]})
    assert "`ridge` stays within its spread" in text
    assert "at epsilon 3, 6 the first two are not told apart by these draws" in text
    assert "factor" not in text


def test_a_least_in_the_middle_is_told() -> None:
    assert "is least, 0.1 ± 0.01, at 6" in told({"ridge": [(3, 0.3, 0.01), (6, 0.1, 0.01), (12, 0.2, 0.01)]})


def test_a_most_in_the_middle_is_told() -> None:
    text = told({"ag": [(1.5, 0.7, 0.04), (6, 1.54, 0.04), (24, 1.24, 0.07)]})
    assert "`ag` rises from 0.7 ± 0.04 at epsilon 1.5 to 1.24 ± 0.07 at 24, and is most, 1.54 ± 0.04, at 6." in text


def test_ends_that_are_not_apart_neither_rise_nor_fall() -> None:
    text = told({"ag": [(1.5, 0.70, 0.04), (6, 0.1, 0.04), (24, 0.69, 0.04)]})
    assert "`ag` is 0.7 ± 0.04 at epsilon 1.5 and 0.69 ± 0.04 at 24, which are not told apart, and is least" in text


def test_words_on_an_axis_have_no_direction() -> None:
    text = told({"all": [("ug", 0.3, 0.01), ("ag", 0.1, 0.01)]})
    assert "is least, 0.1 ± 0.01, for `ag`, and most, 0.3 ± 0.01, for `ug`." in text


@pytest.mark.parametrize(("other", "apart"), [(1.2, False), (1.4, True)])
def test_two_deviations_of_the_difference_are_apart(other: float, apart: bool) -> None:
    assert are_apart(1.0, 0.1, other, 0.1) is apart
