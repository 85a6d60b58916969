"""Where a drawing of noise lies before it is committed: beside the table's live files, not one of them.

Each drawing has a folder of its own below that of its draw, so two processes never write into one. The ledger lets one
drawing of a draw be booked, whoever draws at the same moment, or was taken for dead and was not; only what was booked
is made live. No reader of the table sees what is not committed; what is neither booked nor committed is an orphan, and
is removed by every stage that touches the draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from vdr_spark.collect.tensor_digest import digest_tensor
from vdr_spark.errors import LedgerConflict, Overtaken
from vdr_spark.privacy.entries import BudgetRequest, Draw
from vdr_spark.privacy.ledger import Ledger
from vdr_spark.spark_errors import SPARK_ERRORS
from vdr_spark.storage.store_log import StoreLog
from vdr_spark.storage.tables import find_staged, stage_files


@dataclass(frozen=True)
class Staging:
    """The drawings of one draw, beside the table whose log is given."""

    spark: SparkSession
    log: StoreLog[Any]
    draw: Draw
    ledger: Ledger

    def store(self, slices: DataFrame, request: BudgetRequest) -> None:
        """Evaluate slices once, book them as spent, and make them readable, in this order."""
        folder = self.write(slices)
        sha256 = self._digest(folder)
        self._require(folder)
        try:
            self.ledger.mark_spent(request, self.draw, sha256)
        except LedgerConflict:
            self.remove(folder)
            if self.ledger.find_spending(self.draw) is None:
                raise
            raise drawn_by_another(self.draw) from None
        self.commit(folder)

    def finish(self, sha256: str) -> None:
        """Make the drawing readable that was booked under a SHA-256, if it is here: noise is not drawn again."""
        for folder in self._folders():
            if self._digest(folder) == sha256:
                self.commit(folder)
                return

    def write(self, slices: DataFrame) -> str:
        """Evaluate slices once into a new folder; returns its name. What a failed attempt wrote is removed."""
        folder = f"{self._partition}/{uuid4().hex}"
        try:
            stage_files(slices, self.log, folder)
        except BaseException:
            self.remove(folder)
            raise
        return folder

    def commit(self, folder: str) -> None:
        """Make a drawing readable; changes nothing where that was done before."""
        self.log.append_once(find_staged(self.log, folder), transaction_of(self.draw))

    def remove(self, folder: str) -> None:
        self.log.folder.remove(*(found.name for found in self.log.folder.find(folder)))

    @property
    def _partition(self) -> str:
        return f"draw_id={self.draw.draw_id}"

    def _folders(self) -> list[str]:
        """Return the folders of all drawings, committed or not."""
        files = find_staged(self.log, self._partition)
        return sorted({file.path.rpartition("/")[0] for file in files} - {self._partition})

    def _digest(self, folder: str) -> str:
        self._require(folder)
        try:
            return digest_tensor(self.spark.read.parquet(f"{self.log.place}/{folder}")).sha256
        except SPARK_ERRORS:
            self._require(folder)
            raise

    def _require(self, folder: str) -> None:
        """Refuse a drawing whose files are gone: who took us for dead has removed them, and draws itself."""
        if not find_staged(self.log, folder):
            raise Overtaken(
                "this process was silent for so long that another one took it for dead, removed what it had drawn, "
                "unread, and draws itself. Nothing was spent twice; run this again when that one is done"
            )


def transaction_of(draw: Draw) -> str:
    """Return the name by which Delta remembers that a draw was stored."""
    return f"draw:{draw.draw_id}"


def drawn_by_another(draw: Draw) -> Overtaken:
    return Overtaken(
        f"another process has drawn {draw.draw_id} at the same time and was first: its noise stands, is paid for once, "
        "and is used by whoever runs this again. What was drawn here was thrown away, unread"
    )
