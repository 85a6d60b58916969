import importlib
import inspect
import sys

import numpy as np
import pytest

import vdr_spark.report
from tests.conftest import ROOT
from vdr_spark.errors import EnvironmentProblem
from vdr_spark.report.canvas import new_figure, put_title, save

RED = np.array([0xC1, 0x12, 0x1F])


def plot(path: str, protected: bool) -> None:
    figure = new_figure(4, 2)
    put_title(figure, "Anything")
    figure.subplots().plot([1, 2], [3, 4])
    save(figure, path, protected=protected)


def test_the_mark_is_a_readable_band_below_the_picture(tmp_path, look) -> None:
    plot(f"{tmp_path}/clean.png", protected=True)
    plot(f"{tmp_path}/marked.png", protected=False)
    clean, marked = look(f"{tmp_path}/clean.png"), look(f"{tmp_path}/marked.png")
    band = marked[clean.shape[0] + 3 :]  # the picture grew by it
    assert band.shape[0] > 40
    assert band.shape[1] == clean.shape[1]
    red = (np.abs(band - RED) < 8).all(axis=2)
    letters = (band > 200).all(axis=2)
    assert red.mean() > 0.7
    assert 0.02 < letters.mean() < 0.3
    assert not (np.abs(clean - RED) < 8).all(axis=2).any()


def test_no_picture_goes_past_the_mark() -> None:
    """One function writes pictures, and it must be told whether people are protected."""
    sources = {path: path.read_text() for path in (ROOT / "vdr_spark").rglob("*.py")}
    assert [path.name for path, text in sources.items() if "savefig" in text] == ["canvas.py"]
    parameter = inspect.signature(save).parameters["protected"]
    assert parameter.default is inspect.Parameter.empty


def test_writes_to_a_url_and_makes_its_folder(look) -> None:
    plot("memory://some/new/folder/picture.png", protected=True)
    assert look("memory://some/new/folder/picture.png").std() > 5


def test_a_missing_matplotlib_is_named_with_its_remedy(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(EnvironmentProblem, match=r"matplotlib.*pip install vdr-spark\[pictures\]"):
        new_figure(1, 1)


def test_the_package_is_importable_without_matplotlib(monkeypatch) -> None:
    monkeypatch.setattr(vdr_spark, "report", vdr_spark.report)  # put back afterwards, as the modules are
    for name in [name for name in sys.modules if name.startswith(("matplotlib", "vdr_spark.report"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert importlib.import_module("vdr_spark.report").plot_slices
