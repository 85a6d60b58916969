"""A release whose exact figures are unmistakable, and every way by which one of them might get out."""

import logging
import os
import re
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta.tables import DeltaTable
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.conftest import write_pings
from tests.plans import collect, grid_of
from vdr_spark.collect.bounding import Sample, SampleKey
from vdr_spark.collect.locate import Located
from vdr_spark.collect.noisy_tensor import NoisyTensor
from vdr_spark.collect.source import SparkSource
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import JobFailed
from vdr_spark.progress import Update
from vdr_spark.publisher import Publisher

Small = Callable[..., ReleaseConfig]
TABLES = ("cells", "pyramid", "releases", "withdrawals", "ledger", "noisy_slices")
CANARY = "canary-anna-1f2e3d"
TOTALS = {"all pings": 156_442, "pings kept": 53_086, "heaviest user": 104_729, "users": 51_714, "light": 51_713}


class Recorder:
    """A `Progress` that remembers every title and note."""

    def __init__(self) -> None:
        self.told: list[str] = []

    @contextmanager
    def task(self, title: str, total: float | None) -> Iterator[Update]:
        self.told.append(f"{title} {total}")
        yield lambda done, note: self.told.append(f"{done} {note}")


def jobs_and_queries(spark: SparkSession) -> str:
    """Names, descriptions, groups and plans, as Spark's UI would show them."""
    store = spark.sparkContext._jsc.sc().statusStore()
    jobs = store.jobsList(None)
    told = [spark.sparkContext.appName]
    for number in range(jobs.size()):
        job = jobs.apply(number)
        told += [job.name(), str(job.description()), str(job.jobGroup())]
    queries = spark._jsparkSession.sharedState().statusStore().executionsList()  # type: ignore[attr-defined]
    for number in range(queries.size()):
        query = queries.apply(number)
        told += [query.description(), query.details(), query.physicalPlanDescription()]
    return "\n".join(told)


def log_of_java(spark: SparkSession) -> str:
    """What the JVM wrote to its standard error, which a local session sends to a file."""
    pid = spark._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    file = Path(f"/proc/{pid}/fd/2")
    return file.read_text(errors="replace") if file.exists() else ""


def files_below(folder: str) -> dict[str, str]:
    """Every file, and what stands in it; Parquet is taken apart by `numbers_below`."""
    files = [file for file in Path(folder).rglob("*") if file.is_file()]
    return {str(file): file.read_bytes().decode("latin-1") for file in files if file.suffix != ".parquet"}


def numbers_below(folder: str) -> dict[str, NDArray[np.float64]]:
    """Every column of numbers in every Parquet file, lists laid end to end."""
    found = {}
    for file in Path(folder).rglob("*.parquet"):
        table = pq.ParquetFile(file).read()
        for name in table.column_names:
            column = table[name].combine_chunks()
            column = column.flatten() if pa.types.is_list(column.type) else column
            if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
                found[f"{file} {name}"] = column.to_numpy(zero_copy_only=False).astype(np.float64)
    return found


def test_nothing_exact_in_any_table_log_or_report(
    spark: SparkSession,
    small_config: Small,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    config = small_config("privacy.k=1373")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    heavy = [(CANARY, 7)] * 104_729
    grid = grid_of(config)
    others = [(f"{CANARY}{number}", number % grid.size) for number in range(51_713)]
    write_pings(config.input.path, grid, [*heavy, *others])
    recorder = Recorder()
    caplog.set_level(logging.DEBUG)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        Publisher(config, spark, progress=recorder).release()
    assert os.listdir(temporary) == []
    texts = files_below(config.output) | {
        "the terminal": "".join(capfd.readouterr()),
        "Python's log": caplog.text,
        "warnings": "\n".join(str(warning.message) for warning in warned),
        "progress": "\n".join(recorder.told),
        "Spark's jobs": jobs_and_queries(spark),
        "Java's log": log_of_java(spark),
    }
    for name in TABLES:
        history = DeltaTable.forPath(spark, f"{config.output}/tables/{name}").history().collect()
        texts[f"history of {name}"] = "\n".join(map(str, history))
    assert {"collect: bound, count, add noise 1.0", "publish: write Delta tables 1.0"} <= set(recorder.told)
    assert "save at" in texts["Spark's jobs"]
    assert "operationMetrics" in texts["history of noisy_slices"]
    for where, text in texts.items():
        assert CANARY not in text, f"an id stands in {where}"
        for what, total in TOTALS.items():
            # Not Spark's numbers of expressions (#156442) nor py4j's of objects (o51713), which a long session reaches.
            assert not re.search(rf"(?<![\d.#o]){total}(?![\d])", text), f"{what} stands in {where}"
    _no_exact_column(config)


def _no_exact_column(config: ReleaseConfig) -> None:
    exact = np.bincount(np.arange(51_713) % grid_of(config).size, minlength=grid_of(config).size).astype(np.float64)
    exact[7] += 1373  # what is kept of the heavy one
    per_slice = exact.reshape(grid_of(config).slices, -1)
    columns = numbers_below(config.output)
    assert len(columns) > 10
    for where, values in columns.items():
        assert not set(values.tolist()) & {float(total) for total in TOTALS.values()}, where
        assert values.sum() != exact.sum(), where
        whole = values.reshape(-1, per_slice.shape[1]) if values.size % per_slice.shape[1] == 0 else values[:0]
        for layer in whole:
            assert not (per_slice == layer).mean(axis=1).max(initial=0) > 0.5, where


def test_a_local_session_keeps_no_account_of_rows(spark: SparkSession) -> None:
    """Spark's metrics count rows exactly. They are shown by its UI and kept by its event log, which are both off."""
    assert spark.conf.get("spark.ui.enabled") == "false"
    assert spark.sparkContext.uiWebUrl is None
    assert spark.conf.get("spark.eventLog.enabled", "false") == "false"
    assert spark.conf.get("spark.io.encryption.enabled") == "true"


def failure_of(spark: SparkSession, config: ReleaseConfig) -> str:
    """All that a person sees of it."""
    with pytest.raises(JobFailed) as failure:
        collect(spark, config)
    return "".join(traceback.format_exception(failure.value))


def test_an_exception_in_a_worker_quotes_nobody(
    spark: SparkSession, small_config: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clumsy(Sample):
        def pack(self, pings: Located, user_hash: NDArray[np.uint64]) -> NDArray[np.uint64]:  # noqa: ARG002
            lat = pings.content[0].view(np.float64)[0]
            raise ValueError(f"cannot use {pings.user[0]} at {lat}")

    config = small_config()
    write_pings(config.input.path, grid_of(config), [(CANARY, 7)])
    monkeypatch.setattr("vdr_spark.collect.stage.build_bounding", lambda *_: Clumsy(5, 11, SampleKey.seeded(1)))
    seen = failure_of(spark, config)
    assert "ValueError in workers.py" in seen
    assert "pack" in seen  # where in the code it was
    for where in (seen, log_of_java(spark)):
        assert CANARY not in where
        assert str(grid_of(config).latitudes()[0])[:8] not in where


def test_an_exception_of_spark_quotes_nobody(
    spark: SparkSession, small_config: Small, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def clumsy(pings: DataFrame) -> DataFrame:
        return pings.withColumn("user_id", F.col("user_id").cast("bigint"))

    config = small_config("input.reader=spark")
    write_pings(config.input.path, grid_of(config), [(CANARY, 7)])
    honest = SparkSource.map
    monkeypatch.setattr(
        SparkSource, "map", lambda self, *rest: honest(SparkSource(clumsy(self.pings), self.grids), *rest)
    )
    seen = failure_of(spark, config)
    assert "CAST_INVALID_INPUT" in seen
    assert CANARY not in seen
    assert CANARY not in "".join(capfd.readouterr())  # PySpark logs such an exception by itself


def test_an_exception_on_top_of_another_quotes_nobody(
    spark: SparkSession, small_config: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python tells of an exception also during which other one it came, with its words."""

    def store(*_: object) -> None:
        try:
            raise ValueError(f"cannot cast {CANARY}")
        finally:
            raise PermissionError(f"cannot remove {CANARY}")

    config = small_config()
    write_pings(config.input.path, grid_of(config), [(CANARY, 7)])
    monkeypatch.setattr(NoisyTensor, "store", store)
    seen = failure_of(spark, config)
    assert "PermissionError in stage.py" in seen
    assert CANARY not in seen
