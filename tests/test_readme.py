"""What the README shows works as shown."""

import re
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from tests.conftest import ROOT
from vdr_spark import read_release, register_views

README = (ROOT / "README.md").read_text()


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.usefixtures("in_demo_folder")
def test_python(capsys: pytest.CaptureFixture[str]) -> None:
    publish, query = blocks("python")
    exec(compile(publish, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "Who is protected" in printed
    assert "All of it holds." in printed
    exec(compile(query, "README.md", "exec"), {})
    assert re.search(r"About [\d,]+ pings", capsys.readouterr().out)


@pytest.mark.usefixtures("in_demo_folder")
def test_sql(spark: SparkSession) -> None:
    register_views(spark, "out/demo")
    assert len(blocks("sql")) == 1
    rows = spark.sql(blocks("sql")[0]).collect()
    assert len(rows) == 16  # slices of the small demo
    assert sum(row.pings for row in rows) > 0


@pytest.mark.usefixtures("in_demo_folder")
def test_error_bars_of_sums_in_sql_are_those_of_the_library(spark: SparkSession) -> None:
    """The query that docs/denoising.md shows, over a box of 16 x 16 cells of the small demo."""
    query = blocks("sql", (ROOT / "docs/denoising.md").read_text())[0]
    for shown, ours in (("slice = 12", "slice = 3"), ("80 AND 95", "4 AND 19"), ("64 AND 79", "5 AND 20")):
        assert shown in query
        query = query.replace(shown, ours)
    register_views(spark, "out/demo")
    row, without_own = (spark.sql(of).collect()[0] for of in (query, query.replace("own - w) AS v", "-w) AS v")))
    release = read_release("out/demo")
    assert release.sum_errors is not None
    assert release.deviation is not None
    box = (3, slice(4, 20), slice(5, 21))
    count, own = (float(of.sum(dtype="float64")) for of in (release.counts[box], release.deviation[box] ** 2))
    assert row.total == pytest.approx(count, rel=1e-5)
    assert row.deviation == pytest.approx(release.sum_errors.deviation(256, 1, count, own), rel=1e-4)
    assert without_own.deviation == pytest.approx(release.sum_errors.deviation(256, 1, count, 0.0), rel=1e-4)


def test_links_and_commands_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
    makefile = (ROOT / "Makefile").read_text()
    for command in re.findall(r"`?make ([a-z-]+)", README):
        assert re.search(rf"^{command}:", makefile, re.MULTILINE), command


def test_every_document_is_linked() -> None:
    for document in set(Path(ROOT / "docs").glob("*.md")) - {ROOT / "docs/index.md"}:  # the site's own README
        assert f"docs/{document.name}" in README


def test_every_document_is_in_the_site() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    pages = re.findall(r"[\w/]+\.md", str(site["nav"]))
    assert sorted(pages) == sorted(str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md"))
    assert site["theme"]["font"] is False  # nothing is fetched when it is looked at
