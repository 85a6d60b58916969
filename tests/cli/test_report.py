"""`vdr report` writes a page from released tables and the ledger, without Spark, and says where it is."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.cli.test_app import call
from tests.cli.test_query import arguments as arguments
from tests.cli.test_query import heavy_modules
from tests.conftest import ROOT, small_overrides
from tests.plans import release_id_of
from tests.release.hand_made import hand_made
from tests.release.published import withdraw, write_tables
from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.plan import make_plan
from vdr_spark.publisher import Publisher

Small = Callable[..., ReleaseConfig]


def test_the_page_lies_beside_the_tables(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("report", *arguments) == 0
    (page,) = tmp_path.glob("out/reports/*.html")
    printed = capsys.readouterr().out
    assert str(page) in printed.replace("\n", "")
    assert "needs no network" in printed
    assert f"vdr explore {ROOT}/conf/demo.yaml" in page.read_text()


def test_it_starts_no_spark_and_needs_no_matplotlib(arguments: list[str], tmp_path: Path) -> None:
    heavy = heavy_modules("report", *arguments, "--to", str(tmp_path / "page.html")).split()
    assert not {"pyspark", "delta", "torch", "petastorm", "matplotlib", "statsmodels"} & set(heavy)
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_what_was_withdrawn_is_reported_only_to_who_asks_for_it(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release_id = release_id_of(load_config(ROOT / "conf/demo.yaml", small_overrides(tmp_path)))
    withdraw(f"{tmp_path}/out", release_id)
    assert call("report", *arguments) == 2
    assert "withdrawn" in capsys.readouterr().err
    assert not list(tmp_path.glob("out/reports/*"))
    assert call("report", *arguments, "--withdrawn-too") == 0
    (page,) = tmp_path.glob("out/reports/*.html")
    assert "WITHDRAWN on 2020-03-01 00:00 UTC: a test" in page.read_text()


def test_the_truth_of_real_pings_is_not_shown(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing says that these pings were generated: there are none."""
    assert call("report", *arguments, "--reads-the-truth") == 2
    assert "for generated pings only" in capsys.readouterr().err
    assert not list(tmp_path.glob("out/reports/*"))


def test_of_two_regions_each_has_its_report(small_config: Small, tmp_path: Path) -> None:
    regions = (
        "regions={houston: {center: [29.76, -95.37], side_m: 9000}, dallas: {center: [32.78, -96.8], side_m: 9000}}"
    )
    config = small_config("region=null", "synth=null", regions)
    plan = make_plan(config)
    for region in plan.regions:
        counts = np.random.default_rng(0).gamma(2, 30, size=region.grid.shape)
        release = hand_made(counts, None, region.grid.slice_seconds, region.grid.box, region.grid.start)
        write_tables(config.output, replace(release, release_id=plan.release_id(region), region=region.name))
    publisher = Publisher(config)
    path = tmp_path / "dallas.html"
    report = publisher.report("dallas", path)
    assert path.read_text() == report.page
    assert "<h1>Where and when people are: nobody, dallas</h1>" in report.page
    assert "nobody, houston" in publisher.report("houston").page
    shown = report._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html')
    assert 'sandbox=""' in shown
