"""The one stored copy of a draw: drawn once, whatever is killed, and lying in files that tell nothing."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from filelock import FileLock, Timeout
from pyspark.sql import SparkSession

from tests.conftest import write_pings
from tests.plans import (
    collect,
    draw_id_of,
    grid_of,
    ledger_of,
    noisy_files,
    output_of,
    request_of,
    stored_noise,
)
from vdr_spark.collect.noisy_tensor import NoisyTensor
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import LedgerConflict
from vdr_spark.plan import make_plan
from vdr_spark.privacy.entries import State
from vdr_spark.privacy.ledger import Ledger

Small = Callable[..., ReleaseConfig]


def kill(*_: object) -> None:
    raise KeyboardInterrupt


def read_slice_numbers(spark: SparkSession, config: ReleaseConfig) -> list[list[int]]:
    """Return the slice numbers in each live file, in the order they stand there."""
    files = noisy_files(spark, config)
    return [pq.read_table(file.removeprefix("file:"), columns=["slice"])["slice"].to_pylist() for file in files]


def test_how_slices_lie_in_the_files_tells_nothing(spark: SparkSession, small_config: Small) -> None:
    """Neither the order of rows nor their spread over files may depend on which slices hold pings."""
    orders = []
    for name, cells in (("none", []), ("one", [("a", 5 * 256)]), ("two", [("a", 6 * 256), ("b", 3 * 256)])):
        config = small_config(f"name={name}", f"input.path={small_config().input.path}/{name}", "privacy.budget=100")
        write_pings(config.input.path, grid_of(config), cells)
        collect(spark, config)
        orders.append(sorted(read_slice_numbers(spark, config)))
    assert orders[0] == orders[1] == orders[2]


def test_another_draw_into_the_same_table_waits(
    spark: SparkSession, small_config: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each draw has a lock of its own; but of two commits of Spark's at one moment, one could be lost."""
    config = small_config()
    write_pings(config.input.path, grid_of(config), [("one", 0)])
    append, waited = NoisyTensor._append_now, []

    def append_under_lock(*arguments: Any) -> None:
        with pytest.raises(Timeout), FileLock(f"{output_of(config).table('noisy_slices')}.lock", timeout=0):
            pass
        waited.append(True)
        append(*arguments)

    monkeypatch.setattr(NoisyTensor, "_append_now", append_under_lock)
    collect(spark, config)
    assert waited == [True]


def test_a_run_killed_after_the_commit_leaves_no_second_drawing(
    spark: SparkSession, small_config: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config()
    write_pings(config.input.path, grid_of(config), [("one", 0)])
    with monkeypatch.context() as patch:
        patch.setattr(NoisyTensor, "remove_orphans", lambda _: None)
        collect(spark, config)
    folder = Path(output_of(config).table("noisy_slices")) / f"draw_id={draw_id_of(config)}"
    orphan = folder / "part-00009-late.snappy.parquet"  # of a task that lost, and finished after the commit
    orphan.write_bytes(b"another drawing")
    assert collect(spark, config) is False
    assert not orphan.exists()
    assert stored_noise(spark, config).any()


def test_noise_is_drawn_once(spark: SparkSession, small_config: Small) -> None:
    config = small_config()
    write_pings(config.input.path, grid_of(config), [("one", 0)])
    assert collect(spark, config) is True
    first = stored_noise(spark, config)
    assert (stored_noise(spark, config) == first).all()
    assert collect(spark, config) is False
    assert (stored_noise(spark, config) == first).all()
    assert ledger_of(spark, config).state_of(draw_id_of(config)) is State.SPENT


def test_a_run_killed_before_the_commit_leaves_nothing_and_pays_once(
    spark: SparkSession, small_config: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config()
    write_pings(config.input.path, grid_of(config), [("one", 0)])

    with monkeypatch.context() as patch:
        patch.setattr(NoisyTensor, "store", kill)
        with pytest.raises(KeyboardInterrupt):
            collect(spark, config)
    # A half-written file with another drawing of noise, as a killed task leaves it.
    folder = Path(output_of(config).table("noisy_slices")) / f"draw_id={draw_id_of(config)}"
    folder.mkdir(parents=True)
    (folder / "part-00000-half.snappy.parquet").write_bytes(b"another drawing")
    collect(spark, config)
    assert sorted(os.path.basename(file) for file in noisy_files(spark, config)) == sorted(
        file.name for file in folder.rglob("part-*")
    )
    account = ledger_of(spark, config).account(config.dataset)
    assert account.committed == config.privacy.epsilon


def test_a_run_killed_before_it_was_booked_as_spent_is_taken_up(
    spark: SparkSession, small_config: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config()
    write_pings(config.input.path, grid_of(config), [("one", 0)])

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "mark_spent", kill)
        with pytest.raises(KeyboardInterrupt):
            collect(spark, config)
    first = stored_noise(spark, config)
    assert collect(spark, config) is False
    assert (stored_noise(spark, config) == first).all()
    assert ledger_of(spark, config).state_of(draw_id_of(config)) is State.SPENT


def test_a_tensor_that_was_paid_for_and_is_gone_is_not_drawn_again(spark: SparkSession, small_config: Small) -> None:
    config = small_config()
    write_pings(config.input.path, grid_of(config), [("one", 0)])
    ledger = ledger_of(spark, config)
    ledger.reserve(request_of(config))
    ledger.mark_spent(request_of(config), make_plan(config).cells_draw, "")
    with pytest.raises(LedgerConflict, match="no longer in"):
        collect(spark, config)
