"""A drawing in a store: booked before it can be read, finished by whoever comes next, and never a second one.

The table lies on a disk and is committed to as one in a bucket is.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.collect.test_noisy_tensor import kill
from tests.conftest import write_pings
from tests.plans import collect, draw_id_of, draws_of, grid_of, ledger_of, output_of, stored_noise
from tests.storage.folders import log_on_disk
from vdr_spark.collect import noisy_tensor
from vdr_spark.collect.staging import Staging
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import LedgerConflict
from vdr_spark.privacy.entries import BudgetRequest, Draw, State
from vdr_spark.privacy.ledger import Ledger

Small = Callable[..., ReleaseConfig]


@pytest.fixture
def config(small_config: Small, monkeypatch: pytest.MonkeyPatch) -> ReleaseConfig:
    monkeypatch.setattr(noisy_tensor, "open_log_to_write", log_on_disk)
    config = small_config()
    write_pings(str(config.input.path), grid_of(config), [("one", 0)])
    return config


def drawings(config: ReleaseConfig) -> list[str]:
    """The folders of drawings that hold a file of rows."""
    folder = Path(str(output_of(config).table("noisy_slices")), f"draw_id={draw_id_of(config)}")
    return sorted({file.parent.name for file in folder.rglob("*.parquet") if not file.name.startswith(".")})


def test_it_is_booked_before_it_can_be_read(
    spark: SparkSession, config: ReleaseConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Staging, "commit", kill)
        with pytest.raises(KeyboardInterrupt):
            collect(spark, config)
    assert draws_of(spark, config).cells.contents() is None
    spent = ledger_of(spark, config).find_spending(draws_of(spark, config).plan.cells_draw)
    assert spent is not None
    first = drawings(config)
    assert len(first) == 1
    assert collect(spark, config) is False  # nothing is drawn: the one that was booked is made readable
    assert drawings(config) == first
    contents = draws_of(spark, config).cells.contents()
    assert contents is not None
    assert contents.sha256 == spent.tensor_sha256
    assert stored_noise(spark, config).any()


def test_what_was_drawn_and_not_booked_is_removed_before_noise_is_drawn_again(
    spark: SparkSession, config: ReleaseConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "mark_spent", kill)
        with pytest.raises(KeyboardInterrupt):
            collect(spark, config)
    left = drawings(config)
    assert len(left) == 1
    assert collect(spark, config) is True
    assert len(drawings(config)) == 1
    assert drawings(config) != left
    states = [entry.state for entry in ledger_of(spark, config).entries()]
    assert states == [State.GRANTED, State.RESERVED, State.SPENT]


def test_who_was_overtaken_throws_its_own_away(
    spark: SparkSession, config: ReleaseConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process books its drawing between ours and our booking: as after we were taken for dead."""
    plain = Ledger.mark_spent

    def overtaken(self: Ledger, request: BudgetRequest, draw: Draw, sha256: str) -> object:
        plain(self, request, draw, "of the other's")
        return plain(self, request, draw, sha256)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "mark_spent", overtaken)
        with pytest.raises(LedgerConflict, match=r"was first: its noise stands.*thrown away, unread"):
            collect(spark, config)
    assert drawings(config) == []
    assert draws_of(spark, config).cells.contents() is None
    with pytest.raises(LedgerConflict, match="was made and paid for, but its noisy tensor is no longer"):
        collect(spark, config)


def test_whose_drawing_was_removed_is_told(
    spark: SparkSession, config: ReleaseConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Staging.write

    def write_and_lose(self: Staging, slices: object) -> str:
        folder = plain(self, slices)  # type: ignore[arg-type]
        self.remove(folder)
        return folder

    monkeypatch.setattr(Staging, "write", write_and_lose)
    with pytest.raises(LedgerConflict, match="took it for dead"):
        collect(spark, config)
    assert ledger_of(spark, config).state_of(draw_id_of(config)) is State.RESERVED
