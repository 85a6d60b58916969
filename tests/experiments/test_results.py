"""docs/results.md is what the records say, and a few of its numbers come out again in a small run."""

import json
import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from vdr_spark.experiments.experiment import Wish, run_experiment
from vdr_spark.experiments.results import Record, describe_records, methods_of, read_records, renew_page
from vdr_spark.experiments.settings import load_experiment
from vdr_spark.experiments.tables import Line, choose, to_csv
from vdr_spark.progress import NullProgress

RECORDS = ROOT / "benchmarks/records"
AGAIN = ("auto", "scaled_noisy", "ug", "dawa_striped")


def test_the_page_is_what_the_records_say() -> None:
    page = (ROOT / "docs/results.md").read_text()
    assert renew_page(page, RECORDS) == page, "run `make results`"


def test_a_small_run_gives_the_recorded_numbers(tmp_path: Path) -> None:
    """Three draws of four methods, by the command that the record names."""
    record = Record.read(RECORDS / "comparison-quick.json")
    assert record.command == "vdr experiment comparison --size quick"
    wish = Wish("comparison", size="quick", methods=AGAIN, output=str(tmp_path))
    lines = run_experiment(load_experiment("comparison", ROOT / "conf/experiments"), wish, NullProgress()).lines
    recorded = {(line.figure, *sorted(line.asked.items())): line for line in record.lines}
    compared = [line for line in lines if line.figure != "seconds"]
    assert len(compared) >= 4 * (3 + 4 + 6)
    for line in compared:
        known = recorded[line.figure, *sorted(line.asked.items())]
        assert line.mean == pytest.approx(known.mean, rel=0.02, abs=0.02), line
        assert line.draws == known.draws == 3


def test_a_record_of_an_experiment_is_of_todays_code(tmp_path: Path) -> None:
    """Records of experiments were older than the denoisers: distances of hot spots were off by a half."""
    record = Record.read(RECORDS / "hotspot_epsilon.json")
    wish = Wish("hotspot_epsilon", methods=("ridge",), epsilon=(6,), output=str(tmp_path))
    lines = run_experiment(load_experiment("hotspot_epsilon", ROOT / "conf/experiments"), wish, NullProgress()).lines
    compared = [line for line in lines if line.figure != "seconds"]
    assert len(compared) == 3 * 2 * 2  # densities; by count and by probability; distance and regret
    for line in compared:
        (known,) = (of for of in choose(record.lines, **line.asked) if of.figure == line.figure)
        assert line.mean == pytest.approx(known.mean, rel=0.05, abs=0.02), line


def test_every_record_names_its_command_and_no_place_on_a_disk() -> None:
    names = [path.stem for path in RECORDS.glob("*.json")]
    assert names
    for name in names:
        for suffix in (".json", ".csv", ".md"):
            text = (RECORDS / f"{name}{suffix}").read_text()
            assert not re.search(r"/(tmp|home|work|root)/", text)
        assert json.loads((RECORDS / f"{name}.json").read_text())["command"].startswith("vdr experiment ")


def write_record(folder: Path, ours: float, other: float) -> None:
    lines = [
        Line({"method": method, "side": "30-120 m"}, "relative_error", mean, 0.01, 3)
        for method, mean in (("auto", ours), ("ug", other))
    ] + [
        Line({"method": method}, figure, 1.0, 0.0, 3)
        for method in ("auto", "ug")
        for figure in ("rmse", "mae_at_pings")
    ]
    about = {"draw": 0, "pings": 800, "kept": 600, "k": 5, "noise_deviation": 2.0, "cells": 100}
    notes = {"experiment": "comparison", "command": "vdr experiment x", "place": "a city", "draws": 3, "about": [about]}
    (folder / "one.json").write_text(json.dumps(notes))
    (folder / "one.csv").write_text(to_csv(lines))
    (folder / "one.md").write_text("# Title\n\nwords\n")


def test_where_we_are_worse_is_named(tmp_path: Path) -> None:
    write_record(tmp_path, ours=0.2, other=0.1)
    text = describe_records(read_records(tmp_path))
    assert "**0.50** (ug)" in text
    assert "- `one`, 30-120 m: `auto` 0.2 ± 0.01; `ug` 0.1 ± 0.01." in text
    assert "| `one` |  | 0.1 ± 0.01 (`ug`) |  | 0.2 ± 0.01 (`auto`) |" in text
    assert "Signal to noise, mean pings of a cell by that deviation: 4." in text
    assert "From `benchmarks/records/one.csv`, by `vdr experiment x`." in text


@pytest.mark.parametrize(
    ("command", "first", "number"),
    [
        ("vdr experiment comparison --input x.parquet --preset cabs_sf", ["auto", "vqvae_raw", "vqvae"], 16),
        ("vdr experiment comparison --preset houston --set k=55 --draws 3", ["auto", "vqvae_gamma", "vqvae"], 17),
        ("vdr experiment comparison --preset houston --method ug --method ag", ["ug", "ag"], 2),
        ("vdr experiment brute_force", ["identity", "ridge+prior"], 2),
        ("vdr experiment x", [], 0),
    ],
)
def test_methods_of_a_command(command: str, first: list[str], number: int) -> None:
    found = methods_of(command)
    assert found[: len(first)] == first
    assert len(found) == number


def test_methods_that_the_command_runs_and_the_record_lacks_are_named(tmp_path: Path) -> None:
    """Two records named a command that gives the paper's model as it is, and had no such row."""
    write_record(tmp_path, ours=0.1, other=0.2)
    notes = json.loads((tmp_path / "one.json").read_text())
    command = "vdr experiment comparison --method auto --method ug --method vqvae_raw"
    (tmp_path / "one.json").write_text(json.dumps(notes | {"command": command}))
    text = describe_records(read_records(tmp_path))
    assert "**Not in this record:** `vqvae_raw`, which the command runs since it was made." in text


def test_where_we_are_better_there_is_no_exception(tmp_path: Path) -> None:
    write_record(tmp_path, ours=0.1, other=0.2)
    text = describe_records(read_records(tmp_path))
    assert "| 2.00 (ug) |" in text
    assert "- none." in text


def test_a_table_of_several_epsilons_has_a_row_for_each(tmp_path: Path) -> None:
    lines = [
        Line({"method": method, "epsilon": epsilon, "side": "30-120 m"}, "relative_error", mean, 0.001, 3)
        for method, epsilon, mean in (("auto", 0.05, 0.3), ("ug", 0.05, 0.2), ("auto", 1, 0.1), ("ug", 1, 0.4))
    ]
    about = {"draw": 0, "pings": 800, "kept": 600, "k": 5, "noise_deviation": 2.0, "cells": 100}
    notes = {"command": "vdr experiment x", "place": "a city", "draws": 3, "about": [about]}
    (tmp_path / "all.json").write_text(json.dumps({"experiment": "comparison_epsilon", **notes}))
    (tmp_path / "all.csv").write_text(to_csv(lines))
    (tmp_path / "all.md").write_text("# Title\n\nwords\n")
    text = describe_records(read_records(tmp_path))
    assert re.search(r"^\| `all`, epsilon 0.05 \| \*\*0.67\*\* \(ug\) \|", text, re.MULTILINE)
    assert re.search(r"^\| `all`, epsilon 1 \| 4.00 \(ug\) \|", text, re.MULTILINE)
    assert "- `all`, epsilon 0.05, 30-120 m: `auto` 0.3 ± 0.001; `ug` 0.2 ± 0.001." in text
    assert text.count("From `benchmarks/records/all.csv`, by `vdr experiment x`.") == 1


def test_a_page_without_the_mark_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must hold the line"):
        renew_page("no mark", tmp_path)
