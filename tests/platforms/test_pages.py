"""The pages of docs/platforms: their commands are ours, their configurations valid, their versions those we ask for."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
import yaml

from tests.conftest import ROOT
from tests.matrix import under_spark
from vdr_spark.cli.app import app
from vdr_spark.config import ReleaseConfig
from vdr_spark.config.plain_yaml import parse_plain_yaml

PAGES = sorted((ROOT / "docs/platforms").glob("*.md"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SECTIONS = ("Where things are", "Privacy here", "When it stops", "What was run")
DOCKERFILE = (ROOT / "deploy/Dockerfile").read_text()


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def our_commands(page: Path) -> Iterator[list[str]]:
    """Every call of `vdr` and of a file in jobs/ that a page shows, as its command and arguments."""
    for block in blocks(page, "bash"):
        for line in block.replace("\\\n", " ").splitlines():
            if (call := re.search(r"(?:^|/)vdr (\w+ [^#]+)|jobs/(\w+)\.py( [^#\"\]]+)", line)) is not None:
                yield shlex.split(call[1] or call[2] + call[3])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_what_all_pages_say(page: Path) -> None:
    headings = re.findall(r"^## (.+)$", page.read_text(), re.MULTILINE)
    assert [heading for heading in headings if heading in SECTIONS] == list(SECTIONS)
    assert re.search(r"\bOn 20\d\d-\d\d-\d\d\b", page.read_text().split("## What was run")[1])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_command_line_takes_what_a_page_shows(page: Path) -> None:
    for name, *arguments in our_commands(page):
        command = typer.main.get_command(app).commands[name]
        if name in ("query", "budget"):
            name, *arguments = arguments
            command = command.commands[name]
        command.make_context(name, arguments)


def test_commands_are_found_at_all() -> None:
    shown = {command[0] for page in PAGES for command in our_commands(page)}
    assert shown >= {"explain", "synth", "release", "audit", "query", "budget"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_configurations_are_valid(page: Path) -> None:
    for block in blocks(page, "yaml"):
        settings = parse_plain_yaml(block)
        if "name" in settings:
            ReleaseConfig(**settings)
        else:  # a section, which must be one of ours
            assert set(settings) <= set(ReleaseConfig.model_fields)


@pytest.mark.parametrize("text", [*(page.read_text() for page in PAGES), DOCKERFILE])
def test_versions_are_those_of_the_project(text: str) -> None:
    lock = (ROOT / "requirements.lock").read_text().splitlines()
    pins = {tuple(line.split("==")) for line in lock if line.startswith(("petastorm==", "delta-spark=="))}
    pins |= {("delta-spark", row.delta) for row in under_spark.ROWS}  # a cluster's Spark is not always the newest
    found = re.findall(r"(petastorm|delta-spark)==([\d.]+\d)", text)
    found += [("delta-spark", version) for version in re.findall(r"delta-spark_2\.13[:-]([\d.]+\d)", text)]
    found += [("delta-spark", version) for version in re.findall(r"delta-storage-([\d.]+\d)", text)]
    assert set(found) <= pins
    assert set(re.findall(r"vdr_spark-([\d.]+\d)-py3", text)) <= {PROJECT["version"]}


def test_what_the_image_copies_is_sent_to_the_builder() -> None:
    sent = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
    for source in (source for words in copied for source in words.split()[:-1]):
        assert any(source.startswith(place.split("*")[0]) for place in sent), source


def test_the_session_that_jobs_open_is_the_one_that_pages_switch_delta_on_for() -> None:
    for page in PAGES:
        for block in blocks(page, "bash"):
            if "spark-submit " in block or "sparkSubmit" in block or "Type=Spark" in block:
                assert "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension" in block, page
                assert "DeltaCatalog" in block, page


def test_manifests_are_yaml() -> None:
    manifest = re.search(r"<<EOF\n(.*?)EOF", (ROOT / "docs/platforms/kubernetes.md").read_text(), re.DOTALL)
    assert manifest is not None
    assert yaml.safe_load(manifest[1])["kind"] == "PersistentVolumeClaim"
