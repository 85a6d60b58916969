"""`vdr query` answers without Spark, in a fresh interpreter as well as here."""

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from tests.cli.test_app import call
from tests.conftest import ROOT, small_overrides
from tests.plans import grid_of, release_id_of
from tests.release.hand_made import hand_made
from tests.release.published import write_tables
from vdr_spark import Publisher, read_release
from vdr_spark.config import load_config
from vdr_spark.errors import InvalidQuery
from vdr_spark.release.cell_source import CellsInMemory
from vdr_spark.storage.delta_files import read_rows
from vdr_spark.storage.schemas import RELEASES

HEAVY = ("pyspark", "delta", "torch", "pandas", "statsmodels", "scipy", "matplotlib", "petastorm")
LOOK = f"""
import sys
from vdr_spark.cli import main
try:
    main(sys.argv[1:])
finally:
    print("heavy:", *[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    """The configuration of a small release that is published, as a person would write it."""
    overrides = small_overrides(tmp_path)
    config = load_config(ROOT / "conf/demo.yaml", overrides)
    grid = grid_of(config)
    counts = np.random.default_rng(0).gamma(2, 30, size=grid.shape)
    about = {"release_id": release_id_of(config), "statement": {"exact": {"timezone": "America/Chicago"}}}
    release = hand_made(counts, None, grid.slice_seconds, grid.box, grid.start, **about)
    write_tables(config.output, release)
    return [str(ROOT / "conf/demo.yaml"), *(part for text in overrides for part in ("--set", text))]


def heavy_modules(*command: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-c", LOOK, *command], capture_output=True, text=True, cwd=ROOT, timeout=120, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip()
    return ended.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    "command", [["--help"], ["query", "--help"], ["budget", "--help"], ["query", "range", "--help"]]
)
def test_help_loads_nothing_heavy(command: list[str]) -> None:
    assert heavy_modules(*command) == "heavy:"


@pytest.mark.parametrize("question", ["range", "hotspot"])
def test_a_question_loads_nothing_heavy(arguments: list[str], question: str) -> None:
    assert heavy_modules("query", question, *arguments) == "heavy:"


def test_a_forecast_starts_no_spark(arguments: list[str]) -> None:
    heavy = heavy_modules("query", "forecast", *arguments).split()
    assert not {"pyspark", "delta", "torch"} & set(heavy)
    assert "statsmodels" in heavy


@pytest.mark.parametrize(("method", "name"), [("theta", "the Theta method"), ("holt_winters", "exponential smoothing")])
def test_the_method_of_a_forecast(
    arguments: list[str], method: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("query", "forecast", *arguments, "--method", method) == 0
    assert f"by {name}" in capsys.readouterr().out
    assert call("query", "forecast", *arguments, "--method", method, "--json", "--horizon", "2") == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(answer["mean"]) == 2
    assert answer["protected"] is True
    assert datetime.fromisoformat(answer["starts"][0]).tzinfo is not None


def test_a_configuration_means_its_own_release(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another release in the folder, newer and of another k, changes no answer; read without a word, it is refused."""
    assert call("query", "range", *arguments) == 0
    before = capsys.readouterr().out
    (mine,) = (row["release_id"] for row in read_rows(f"{tmp_path}/out/tables/releases", RELEASES))
    other = replace(read_release(f"{tmp_path}/out"), release_id="other-1", created=datetime(2030, 1, 1, tzinfo=UTC))
    write_tables(f"{tmp_path}/out", replace(other, cells=CellsInMemory(other.counts * 2)))
    assert call("query", "range", *arguments) == 0
    assert capsys.readouterr().out == before
    assert call("query", "range", *arguments, "--release", "other-1") == 0
    assert capsys.readouterr().out != before
    publisher = Publisher.from_yaml(ROOT / "conf/demo.yaml", *small_overrides(tmp_path))
    assert publisher.read().release_id == mine
    with pytest.raises(InvalidQuery, match="holds 2 releases"):
        read_release(f"{tmp_path}/out")
    assert call("query", "range", *arguments, "--set", "privacy.k=21") == 2  # its own is not there: no other instead
    printed = capsys.readouterr().err
    assert "is not published" in printed
    assert "\n  other-1: created 2030-01-01" in printed


def test_moments_are_in_the_zone_of_the_release(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--from", "2020-01-07T09:00", "--to", "2020-01-07T18:00+00:00", "--set", "period.timezone=UTC"]
    asked += ["--set", "period.start=2020-01-07T06:00", "--set", "period.end=2020-01-08T06:00"]
    assert call("query", "range", *arguments, *asked) == 0  # the same period, written in another zone
    told = "between 2020-01-07 09:00 America/Chicago (UTC-06:00) and 2020-01-07 12:00 America/Chicago (UTC-06:00)"
    assert told in capsys.readouterr().out
    assert call("query", "hotspot", *arguments, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["slice_start"], answer["timezone"]) == ("2020-01-07 12:00:00-06:00", "America/Chicago")


def test_mistakes_are_sentences(arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("query", "forecast", *arguments, "--method", "arima") == 2
    assert "method must be one of theta, holt_winters, not 'arima'" in capsys.readouterr().err
    assert call("query", "range", *arguments, "--set", f"output={tmp_path}/elsewhere") == 2
    assert "nothing is published" in capsys.readouterr().err
    for file in tmp_path.glob("out/tables/cells/*/*.parquet"):
        file.write_text("nonsense")
    assert call("query", "range", *arguments) == 7
    printed = capsys.readouterr().err
    assert "cannot be read" in printed
    assert "Traceback" not in printed


def test_a_density_is_searched_for_in_all_slices_and_its_probability_told(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("query", "hotspot", *arguments, "--density", "200", "--extent", "30000", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["threshold"] == 200
    assert answer["count"] >= 200  # no error bars: the release is taken at its word
    assert answer["probability"] is None
    assert {"slices_away", "distance_cells", "distance_m", "probability_within"} <= set(answer)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--extent", "100"], "--extent must come with --density"),
        (["--density", "10", "--within", "100"], "--density must not come with --threshold or --within"),
        (["--density", "10", "--threshold", "10"], "--density must not come with --threshold or --within"),
        (["--at-ping"], "--at-ping and --least-probability must come with --density"),
        (["--least-probability", "0.5"], "--at-ping and --least-probability must come with --density"),
        (["--density", "10", "--at-ping", "--least-probability", "1"], "least_probability must be at least 0"),
        (["--density", "1e9"], "density must be one that a cell within 5.0 km may reach"),
    ],
)
def test_options_of_the_two_searches_are_not_mixed(
    arguments: list[str], options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("query", "hotspot", *arguments, *options) == 2
    assert words in " ".join(capsys.readouterr().err.split())
