"""Pictures are plotted from lines alone, whatever their x is."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from tests.conftest import ROOT
from tests.experiments.conftest import SMALL
from vdr_spark.experiments import pictures
from vdr_spark.experiments.pictures import plot_curves, plot_panels_of_slices
from vdr_spark.experiments.runner import Done, Point
from vdr_spark.experiments.settings import load_experiment
from vdr_spark.experiments.tables import Line
from vdr_spark.report.canvas import save


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    figures: list[Figure] = []

    def save_and_keep(figure: Figure, path: str, *, protected: bool) -> None:
        figures.append(figure)
        save(figure, path, protected=protected)

    monkeypatch.setattr(pictures, "save", save_and_keep)
    return figures


@pytest.mark.parametrize("xs", [[1.5, 3, 12], ["ug", "ag"]])
def test_curves_have_their_means_bars_and_names(xs: list[object], tmp_path: Path, kept: list[Figure]) -> None:
    lines = [
        Line({"epsilon": x, "method": method}, "relative_error", mean, 0.25, 3)
        for method, mean in (("ridge", 0.5), ("ug", 4.0))
        for x in xs
    ]
    plot_curves(load_experiment("range_epsilon", ROOT / "conf/experiments"), lines, str(tmp_path / "curves.png"))
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    (axes,) = kept[0].axes
    assert [np.asarray(line.get_ydata()).tolist() for line in axes.lines if line.get_marker() == "o"] == [
        [0.5] * len(xs),
        [4.0] * len(xs),
    ]
    assert [text.get_text() for text in axes.get_xticklabels()] == [str(x) for x in xs]
    assert axes.get_yscale() == "log"
    assert [text.get_text() for text in kept[0].legends[0].get_texts()] == ["ridge", "ug"]


def test_without_slices_there_is_no_picture_of_them(tmp_path: Path) -> None:
    experiment = load_experiment("range_epsilon", ROOT / "conf/experiments")
    assert not plot_panels_of_slices(experiment, [], str(tmp_path / "slices.png"))
    assert not list(tmp_path.iterdir())


def test_a_curve_does_not_hide_one_that_it_falls_together_with(tmp_path: Path, kept: list[Figure]) -> None:
    """A tree that is no tree at all, as HB's on few cells, is the noisy tensor to the last digit."""
    lines = [
        Line({"epsilon": x, "method": method}, "relative_error", mean, 0.1, 3)
        for method, mean in (("identity", 2.0), ("ug", 1.0), ("hb_striped", 2.0))
        for x in (1.5, 6)
    ]
    plot_curves(load_experiment("range_epsilon", ROOT / "conf/experiments"), lines, str(tmp_path / "curves.png"))
    styles = [line.get_linestyle() for line in kept[0].axes[0].lines if line.get_marker() == "o"]
    assert styles == ["-", "-", "--"]


def test_slices_stand_in_the_order_of_what_happens_to_them(tmp_path: Path, kept: list[Figure]) -> None:
    layers = {name: np.full((4, 4), value, np.float32) for name, value in (("denoised", 2), ("true", 3), ("noisy", 1))}
    done = Done(Point(SMALL, {}, {"k": 3}, 0), [], {}, layers)
    experiment = load_experiment("gaussian_mixtures", ROOT / "conf/experiments")
    assert plot_panels_of_slices(experiment, [done], str(tmp_path / "slices.png"))
    shown = [(axes.get_title(), float(np.max(np.asarray(axes.images[0].get_array()))) ** 2) for axes in kept[0].axes]
    assert [name for name, _ in shown] == ["true", "noisy", "denoised"]
    assert [value for _, value in shown] == pytest.approx([3, 1, 2])
