"""What wraps a task changes nothing but the waiting before the next one."""

import pickle
import re
import sys
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from vdr_spark.workers import TaskProblem, in_worker

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
