"""What wraps a task changes nothing but the waiting before the next one, and tasks bring little along."""

import ast
import errno
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from vdr_spark.collect.bounding import SampleKey, build_bounding
from vdr_spark.collect.counting import build_bucket_task, build_count_task
from vdr_spark.grid import Box, Grid
from vdr_spark.workers import ArrowTask, TaskProblem, in_worker

BATCHES = [pa.RecordBatch.from_pydict({"n": [1, 2]}), pa.RecordBatch.from_pydict({"n": [3]})]


def one_more(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"n": [n + 1 for n in batch.column("n").to_pylist()]})


def test_batches_pass_through_the_task_one_by_one() -> None:
    asked = []
    source = (asked.append(number) or batch for number, batch in enumerate(BATCHES))  # type: ignore[func-returns-value]
    made = in_worker(one_more)(source)
    assert next(made).to_pydict() == {"n": [2, 3]}
    assert asked == [0]  # nothing is read ahead
    assert [batch.to_pydict() for batch in made] == [{"n": [4]}]


def test_archives_are_forgotten_and_folders_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    archives = ["/spark/jars/spark-core_2.13.jar", "/spark/python/lib/pyspark.zip", "/a/deps.zip/inner"]
    cache = dict.fromkeys([*archives, "/usr/lib/python3.11", "/work/zipped"])
    monkeypatch.setattr(sys, "path_importer_cache", cache)
    list(in_worker(one_more)(BATCHES))
    assert set(cache) == {"/usr/lib/python3.11", "/work/zipped"}


def test_what_was_forgotten_can_still_be_imported(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    import zipfile

    for name in ("early", "late"):
        with zipfile.ZipFile(tmp_path / "modules.zip", "a") as archive:
            archive.writestr(f"{name}_from_archive.py", f"name = {name!r}")
    monkeypatch.syspath_prepend(str(tmp_path / "modules.zip"))
    import early_from_archive

    in_worker(one_more)([])
    assert str(tmp_path / "modules.zip") not in sys.path_importer_cache
    import late_from_archive

    assert (early_from_archive.name, late_from_archive.name) == ("early", "late")


def test_a_wrapped_task_travels_to_the_workers() -> None:
    there = pickle.loads(cloudpickle.dumps(in_worker(one_more)))
    assert [batch.to_pydict() for batch in there(BATCHES)] == [{"n": [2, 3]}, {"n": [4]}]
    assert there.__name__ == "one_more"


def test_the_words_of_an_exception_stay_in_the_worker() -> None:
    def stumble(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from one_more(batches)
        raise ValueError("cannot use CANARY at 29.7604")

    with pytest.raises(TaskProblem) as caught:
        list(in_worker(stumble)(BATCHES))
    assert re.fullmatch(r"ValueError in workers\.py:\d+ _silent, test_workers\.py:\d+ stumble", str(caught.value))
    assert caught.value.__suppress_context__


def test_a_full_disk_is_named_by_the_systems_name_for_it() -> None:
    def fill(_: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        raise OSError(errno.ENOSPC, "CANARY")
        yield

    with pytest.raises(TaskProblem) as caught:
        list(in_worker(fill)(BATCHES))
    assert str(caught.value).startswith("OSError (ENOSPC) in workers.py:")
    assert "CANARY" not in str(caught.value)


WORKER_MODULES = (
    "collect.bounding",
    "collect.buckets",
    "collect.counting",
    "collect.hashing",
    "collect.locate",
    "collect.packed_counts",
    "collect.parquet_splits",
    "collect.sorting",
    "privacy.discrete_laplace",
    "privacy.exact_digits",
    "privacy.randomness",
    "release.cells",
    "synth.blocks",
    "workers",
)
HEAVY = ("pydantic", "delta", "pandas", "torch", "petastorm", "yaml", "fsspec", "scipy", "statsmodels", "pyspark")


def run_in_fresh_interpreter(program: str) -> list[str]:
    """Packages on the list that a program has loaded. Spark is always there in a worker, but not for our sake."""
    program += f"\nimport sys; print([name for name in {HEAVY} if name in sys.modules])"
    root = str(Path(__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return list(ast.literal_eval(run.stdout.splitlines()[-1]))


def test_workers_import_little() -> None:
    """A worker pays for every import before it counts its first ping."""
    names = ", ".join(f"vdr_spark.{module}" for module in WORKER_MODULES)
    assert run_in_fresh_interpreter(f"import {names}") == []


def test_tasks_bring_nothing_heavy_along(tmp_path: Path) -> None:
    """What a task is pickled with may name modules that no list knows of; so pickled tasks are loaded, and run."""
    grid = Grid(Box(0, 0, 1, 1), 2, datetime(2020, 1, 1, tzinfo=UTC), 3600, 1)
    key = SampleKey.seeded(1)
    tasks: list[ArrowTask] = []
    for name in ("sample", "weight"):
        bounding = build_bounding(name, 2, grid.size, key)
        tasks += [build_bucket_task([grid], bounding, key, 4), build_count_task([grid], bounding)]
    (tmp_path / "tasks").write_bytes(cloudpickle.dumps([in_worker(task) for task in tasks]))
    loaded = run_in_fresh_interpreter(
        f"import pickle; tasks = pickle.load(open({str(tmp_path / 'tasks')!r}, 'rb'))\n"
        "assert [list(task([])) for task in tasks] == [[]] * 4"
    )
    assert set(loaded) <= {"pyspark"}  # whose pickler is needed to load them
