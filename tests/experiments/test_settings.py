"""The configurations of experiments."""

from pathlib import Path

import pytest

from tests.conftest import ROOT
from vdr_spark.errors import InvalidConfig
from vdr_spark.experiments.settings import Sweep, list_experiments, load_experiment

FOLDER = ROOT / "conf/experiments"


def test_what_is_swept_replaces_what_is_fixed_and_the_other_way_round() -> None:
    first = Sweep(data={"cells": 9}, fixed={"k": 1, "epsilon": 6}, sweep={"method": ["a", "b"]})
    swept = first.changed_by(Sweep(sweep={"k": [2, 3]}))
    assert swept.combinations == [
        {"epsilon": 6, "method": method, "k": k} for method, k in (("a", 2), ("a", 3), ("b", 2), ("b", 3))
    ]
    assert first.changed_by(Sweep(fixed={"method": "c"})).combinations == [{"k": 1, "epsilon": 6, "method": "c"}]


def test_the_pings_change_slowest() -> None:
    sweep = Sweep(sweep={"k": [1, 2], "data.share": [0.5, 1.0]})
    assert [of["data.share"] for of in sweep.combinations] == [0.5, 0.5, 1.0, 1.0]


def test_every_experiment_of_the_paper_has_a_configuration() -> None:
    found = list_experiments(FOLDER)
    assert len(found) == 18  # the paper's sixteen, the comparison, and the same by epsilon
    assert all(experiment.draws >= 3 and experiment.question.endswith(("?", ".")) for experiment in found.values())


def test_event_level_has_an_epsilon_of_its_own() -> None:
    experiment = load_experiment("comparison", FOLDER)
    assert experiment.sized("full", are_users=True).fixed["epsilon"] == 6
    assert experiment.sized("full", are_users=False).fixed["epsilon"] == 0.2


def test_bad_names_and_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match=r"must be one of brute_force, .*, not 'nothing'"):
        load_experiment("nothing", FOLDER)
    with pytest.raises(InvalidConfig, match="there is no folder"):
        load_experiment("nothing", tmp_path / "none")
    (tmp_path / "bad.yaml").write_text("title: x\nspeed: 3\n")
    with pytest.raises(InvalidConfig, match="not a valid experiment"):
        load_experiment(str(tmp_path / "bad.yaml"))
