"""Points are done once, and a run goes on where it was."""

from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.conftest import ROOT
from vdr_spark.errors import InvalidConfig, VdrError
from vdr_spark.experiments.runner import plan_points, rows_of, run_points
from vdr_spark.experiments.settings import Experiment, Sweep, load_experiment
from vdr_spark.progress import NullProgress, Update

SWEEP = Sweep(
    data={"preset": "demo", "cells": 16, "pings": 5000, "days": 1},
    fixed={"epsilon": 6, "k": 20},
    sweep={"method": ["ug", "scaled_noisy"]},
)


@pytest.fixture
def experiment() -> Experiment:
    return load_experiment("range_epsilon", ROOT / "conf/experiments")


def test_what_is_done_is_not_done_again(experiment: Experiment, tmp_path: Path) -> None:
    points = plan_points(experiment, SWEEP, None, 2)
    run_points(experiment, SWEEP, points[:3], str(tmp_path), NullProgress(), "first")
    files = {path: path.stat().st_mtime_ns for path in tmp_path.glob("points/*")}
    assert len(files) == 3
    found = run_points(experiment, SWEEP, points, str(tmp_path), NullProgress(), "again")
    after = {path: path.stat().st_mtime_ns for path in tmp_path.glob("points/*")}
    assert files.items() < after.items()
    assert len(after) == 4
    errors = [row for row in rows_of(found) if "relative_error" in row]
    assert [(row["method"], row["draw"]) for row in errors] == [
        ("ug", 0),
        ("scaled_noisy", 0),
        ("ug", 1),
        ("scaled_noisy", 1),
    ]
    assert len({row["relative_error"] for row in errors}) == 4


@pytest.mark.parametrize("content", [b"", b'{"rows": [', b"{}", b"[1]", b'{"rows": 3, "about": {}}', b"\x80\xff"])
def test_a_damaged_file_is_no_poison(experiment: Experiment, tmp_path: Path, content: bytes) -> None:
    points = plan_points(experiment, SWEEP, None, 1)
    whole = run_points(experiment, SWEEP, points, str(tmp_path), NullProgress(), "first")
    sorted(tmp_path.glob("points/*.json"))[0].write_bytes(content)
    again = run_points(experiment, SWEEP, points, str(tmp_path), NullProgress(), "again")
    errors = ([row["relative_error"] for row in rows_of(of) if "relative_error" in row] for of in (whole, again))
    assert next(errors) == next(errors)


def test_damaged_slices_are_made_anew(experiment: Experiment, tmp_path: Path) -> None:
    sweep = SWEEP.changed_by(Sweep(sweep={"method": ["ridge"]}, options={"picture": True}))
    points = plan_points(experiment, sweep, None, 1)
    run_points(experiment, sweep, points, str(tmp_path), NullProgress(), "first")
    (slices,) = tmp_path.glob("points/*.safetensors")
    whole = slices.read_bytes()
    slices.write_bytes(whole[:50])
    run_points(experiment, sweep, points, str(tmp_path), NullProgress(), "again")
    assert slices.read_bytes() == whole


def test_the_time_to_go_is_of_what_is_left(experiment: Experiment, tmp_path: Path) -> None:
    announced: list[float | None] = []

    class Watching(NullProgress):
        def task(self, title: str, total: float | None) -> AbstractContextManager[Update]:
            announced.append(total)
            return super().task(title, total)

    points = plan_points(experiment, SWEEP, None, 2)
    run_points(experiment, SWEEP, points[:3], str(tmp_path), Watching(), "first")
    run_points(experiment, SWEEP, points, str(tmp_path), Watching(), "rest")
    assert announced == [3, 1]


def test_a_points_name_is_of_all_that_it_depends_on(experiment: Experiment) -> None:
    def name(sweep: Sweep, draw: int = 0) -> str:
        return plan_points(experiment, sweep, None, 2)[draw * 2].identify(experiment, sweep)

    changes = [
        Sweep(data={"cells": 8}),
        Sweep(fixed={"k": 21}),
        Sweep(sweep={"method": ["ag", "ug"]}),
        Sweep(options={"sides": [[2, 2]]}),
    ]
    names = [name(SWEEP), name(SWEEP, draw=1), *(name(SWEEP.changed_by(change)) for change in changes)]
    assert len(set(names)) == 6
    assert name(SWEEP) == names[0]


def test_what_fails_says_which_point(experiment: Experiment, tmp_path: Path) -> None:
    sweep = SWEEP.changed_by(Sweep(fixed={"learn_days": 1}))  # a baseline learns nothing
    points = plan_points(experiment, sweep, None, 1)
    with pytest.raises(VdrError, match="method ug: learn_days is for denoisers"):
        run_points(experiment, sweep, points, str(tmp_path), NullProgress(), "bad")
    assert not list(tmp_path.glob("points/*"))


@pytest.mark.parametrize(
    ("fixed", "words"),
    [
        ({"method": "nothing"}, r"method: must be .*, hb_striped, .*, not 'nothing'"),
        ({"epsilon": "foo"}, "privacy.epsilon: must be a positive number"),
        ({"epsilon": 1e-300}, "privacy.epsilon: must be written with at most 18 digits"),
        ({"k": 0}, "method ug: k: must be a whole number, at least 1, not 0"),
        ({"k": "abc"}, "k: must be a whole number, at least 1, not 'abc'"),
        ({"lambda": "x"}, "lambda: must be a positive number, not 'x'"),
        ({"judged_days": 0}, "judged_days: must be a positive number, not 0"),
        ({"bounding": "l2", "delta": "1e-9"}, "bounding: must be sample or weight for ug"),
        ({"bounding": "foo"}, "privacy.bounding: must be"),
        ({"delta": "1e-9"}, "delta: published methods such as ug"),
    ],
)
def test_no_mistake_waits_for_the_pings(experiment: Experiment, fixed: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidConfig, match=words):
        plan_points(experiment, SWEEP.changed_by(Sweep(fixed=fixed)), None, 1)


def test_experiments_that_need_users_or_generated_hills_say_so() -> None:
    bounding = load_experiment("sampling_noise", ROOT / "conf/experiments")
    with pytest.raises(InvalidConfig, match="about bounding users"):
        plan_points(bounding, Sweep(data={"preset": "tdrive"}), "t.parquet", 1)
    hills = load_experiment("gaussian_mixtures", ROOT / "conf/experiments")
    with pytest.raises(InvalidConfig, match="generated hills"):
        plan_points(hills, hills.full, "t.parquet", 1)
