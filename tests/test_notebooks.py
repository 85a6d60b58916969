"""Notebooks run as plain Python, without widgets, and with a stand-in for those of Databricks."""

import runpy
from fractions import Fraction
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.conftest import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))
QUICKSTART, ANALYSTS, CHOOSE_K, WEEKLY = (
    ROOT / f"notebooks/{name}.py" for name in ("quickstart", "analysts", "choose_k", "weekly")
)


class Widgets:
    """Widgets as a job fills them in: a default does not replace what was given."""

    def __init__(self, **given: str) -> None:
        self.given, self.values = given, dict[str, str]()

    def text(self, name: str, default: str) -> None:
        self.values[name] = self.given.get(name, default)

    def get(self, name: str) -> str:
        return self.values[name]


class Dbutils:
    def __init__(self, **given: str) -> None:
        self.widgets = Widgets(**given)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_it_is_in_the_source_format_of_databricks(notebook: Path) -> None:
    assert notebook.read_text().startswith("# Databricks notebook source\n# MAGIC %md\n")


@pytest.mark.usefixtures("in_demo_folder")
def test_quickstart_without_widgets(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(QUICKSTART))
    printed = capsys.readouterr().out
    words_of_reports = ("ShownReport(release_id='demo-", "Picture(title='Wed 2020-01-08 00:00, America/Chicago')")
    for words in ("Who is protected", "16 slices of 24 x 24", "nearest hot spot", "the Theta method", "slice_start"):
        assert words in printed
    for words in words_of_reports:
        assert words in printed


def test_quickstart_with_widgets(in_demo_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As on Databricks: from the notebooks' folder, with the place of everything given."""
    elsewhere = in_demo_folder / "conf/of-the-widget.yaml"
    elsewhere.write_text((in_demo_folder / "conf/demo.yaml").read_text().replace("output: out/demo", "output: nowhere"))
    dbutils = Dbutils(conf=str(elsewhere), volume="out")
    left = runpy.run_path(str(QUICKSTART), init_globals={"dbutils": dbutils})
    assert left["publisher"].config.output == "out/demo"
    assert set(dbutils.widgets.values) == {"conf", "volume", "schema"}
    assert "All of it holds." in capsys.readouterr().out
    assert not (in_demo_folder / "nowhere").exists()


@pytest.mark.usefixtures("in_demo_folder")
def test_analysts_without_widgets(capsys: pytest.CaptureFixture[str]) -> None:
    left = runpy.run_path(str(ANALYSTS))
    printed = capsys.readouterr().out
    for words in ("estimated_rmse", "slice_start", "| pings", "statement"):
        assert words in printed or words.replace(" ", "") in printed
    assert left["city"].shape == (24, 24)
    assert left["city"].sum() == pytest.approx(60_000, rel=0.01)


@pytest.mark.usefixtures("in_demo_folder")
def test_a_choice_of_k(capsys: pytest.CaptureFixture[str]) -> None:
    """Each k is a draw of its own, and is paid for; the releases are compared at several sizes of boxes."""
    left = runpy.run_path(str(CHOOSE_K), init_globals={"dbutils": Dbutils(k="5,40")})
    printed = capsys.readouterr().out
    assert "granted epsilon 12, reserved or spent 12, remaining 0" in printed
    assert [release.k for release in left["releases"].values()] == [5, 40]
    assert printed.count("%") == 2 * len(left["sides"])
    assert Path("out/choose_k/pictures/k5.png").read_bytes() != Path("out/choose_k/pictures/k40.png").read_bytes()


@pytest.mark.usefixtures("spark")
def test_week_after_week(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Windows in order, each paid for once, and a correction that stands for the last of them."""
    monkeypatch.chdir(tmp_path)
    confs = {"conf": f"{ROOT}/conf/weekly.yaml", "city": f"{ROOT}/conf/demo.yaml"}
    dbutils = Dbutils(**confs, weeks="2", pings="9000", model="temporal")
    left = runpy.run_path(str(WEEKLY), init_globals={"dbutils": dbutils})
    printed = capsys.readouterr().out
    assert "1 window is published, 1 is due and not" in printed
    assert "2 windows are published, 0 are due and not" in printed
    assert left["week"].budget.committed == Fraction(2 * 3 + 1, 4 * 53)  # three quarters of a share each; one quarter
    corrected = [(row.window_name, row.is_correction) for row in left["spark"].table("windows").collect()]
    assert sorted(corrected) == [(f"{monday:%G-W%V}", monday == left["mondays"][1]) for monday in left["mondays"]]
    assert left["maps"].shape == (2, 16, 16)
    assert (left["maps"].sum(axis=(1, 2)) > 0).all()
    assert "All of it holds." in printed
    assert Path(left["output"], "weeks.png").exists()


def test_analysts_with_widgets_and_tables_by_name(
    in_demo_folder: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables of a catalog, and the session that is there; a release by its id, and none where the id is wrong."""
    for name in ("cells", "releases", "withdrawals"):
        spark.read.format("delta").load(f"{in_demo_folder}/out/demo/tables/{name}").createOrReplaceTempView(
            f"named_{name}"
        )
    [(release_id,)] = spark.sql("SELECT release_id FROM named_releases").collect()
    tables = {name: f"named_{name}" for name in ("cells", "releases", "withdrawals")}
    dbutils = Dbutils(**tables, release_id=release_id)
    runpy.run_path(str(ANALYSTS), init_globals={"dbutils": dbutils, "spark": spark})
    assert set(dbutils.widgets.values) == {"cells", "releases", "withdrawals", "release_id"}
    assert release_id in capsys.readouterr().out
    assert spark.sql("SELECT DISTINCT release_id FROM released_cells").collect() == [(release_id,)]
