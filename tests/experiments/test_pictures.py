"""Pictures are plotted from lines alone, whatever their x is."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from tests.conftest import ROOT
from vdr_spark.experiments import pictures
from vdr_spark.experiments.pictures import plot_curves, plot_panels_of_slices
from vdr_spark.experiments.settings import load_experiment
from vdr_spark.experiments.tables import Line


@pytest.mark.parametrize("xs", [[1.5, 3, 12], ["ug", "ag"]])
def test_curves_have_their_means_bars_and_names(
    xs: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Figure] = []
    save = pictures.save
    monkeypatch.setattr(pictures, "save", lambda figure, path, **of: (kept.append(figure), save(figure, path, **of)))
    lines = [
        Line({"epsilon": x, "method": method}, "relative_error", mean, 0.25, 3)
        for method, mean in (("ridge", 0.5), ("ug", 4.0))
        for x in xs
    ]
    plot_curves(load_experiment("range_epsilon", ROOT / "conf/experiments"), lines, str(tmp_path / "curves.png"))
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    (axes,) = kept[0].axes
    assert [list(line.get_ydata()) for line in axes.lines if line.get_marker() == "o"] == [
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
