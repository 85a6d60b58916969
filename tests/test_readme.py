"""What the README shows works as shown; so does the notebook."""

import re
import runpy
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from tests.conftest import ROOT
from vdr_spark import register_views

README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


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


def test_links_and_commands_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
    makefile = (ROOT / "Makefile").read_text()
    for command in re.findall(r"`?make ([a-z-]+)", README):
        assert re.search(rf"^{command}:", makefile, re.MULTILINE), command


@pytest.mark.usefixtures("in_demo_folder")
def test_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    notebook = ROOT / "notebooks/quickstart.py"
    assert notebook.read_text().startswith("# Databricks notebook source")
    runpy.run_path(str(notebook))
    printed = capsys.readouterr().out
    for words in ("Who is protected", "16 slices of 24 x 24", "nearest hot spot", "the Theta method", "slice_start"):
        assert words in printed


def test_every_document_is_linked() -> None:
    for document in set(Path(ROOT / "docs").glob("*.md")) - {ROOT / "docs/index.md"}:  # the site's own README
        assert f"docs/{document.name}" in README


def test_every_document_is_in_the_site() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    pages = re.findall(r"[\w/]+\.md", str(site["nav"]))
    assert sorted(pages) == sorted(str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md"))
    assert site["theme"]["font"] is False  # nothing is fetched when it is looked at
