"""What of a table is shown."""

from vdr_spark.experiments.curves import make_panels, name_of
from vdr_spark.experiments.settings import PlotSettings
from vdr_spark.experiments.tables import Line


def line(figure: str = "smape", mean: float = 1.0, **asked: object) -> Line:
    return Line(asked, figure, mean, 0.1, 3)


LINES = [
    line(mean=1, epsilon=6, method="ug", length="day"),
    line(mean=2, epsilon=3, method="ug", length="day"),
    line(mean=3, epsilon=6, method="ag", length="slice"),
    line("rmse", epsilon=6, method="ag"),
]


def test_curves_run_over_x_in_order_by_line_and_panel() -> None:
    plot = PlotSettings(x="epsilon", lines=["method"], panels="length", figures=["smape"])
    day, one = make_panels(LINES, plot)
    assert [curve.label for curve in day.curves] == ["ug"]
    assert day.curves[0].points == [(3, 2, 0.1), (6, 1, 0.1)]
    assert one.condition == "length of the query: slice"
    assert day.xs == [3, 6]
    assert day.curves[0].at(3) == (2, 0.1)
    assert day.curves[0].at(4) is None


def test_only_lines_with_the_values_asked_for_or_that_have_none_such() -> None:
    plot = PlotSettings(x="method", figures=["smape", "rmse"], where={"length": "slice"})
    assert [(panel.figure, panel.xs) for panel in make_panels(LINES, plot)] == [("smape", ["ag"]), ("rmse", ["ag"])]


def test_settings_without_a_name_are_called_by_their_last_part() -> None:
    assert name_of("denoise.vae.crop_size") == "crop size"


def test_a_panel_says_what_holds_in_it_with_its_unit() -> None:
    """A picture of squares of 30 to 120 m alone did not say so."""
    lines = [line("regret", epsilon=6, density=10), line("relative_error", epsilon=6, side="30-120 m")]
    plot = PlotSettings(x="epsilon", panels="density", figures=["regret"])
    assert make_panels(lines, plot)[0].title == "regret of the nearest hot spot, pings; density of a hot spot: 10 pings"
    plot = PlotSettings(x="epsilon", figures=["relative_error"], where={"side": "30-120 m"})
    assert make_panels(lines, plot)[0].title == "relative error; side of the square: 30-120 m"
