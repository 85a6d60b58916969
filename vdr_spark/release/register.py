"""The register of an output: which releases it holds, and which of them were withdrawn.

On a local disk it is read, and a release is withdrawn, without Spark, as budgets are looked at. In a store, and where
tables have names, Spark is asked, whose credentials they were written with.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

from vdr_spark.release.choice import Row, choose_release
from vdr_spark.release.read import naming_what_lacks, release_rows
from vdr_spark.release.record import ReleaseRecord
from vdr_spark.release.statement_page import statement_page
from vdr_spark.release.withdrawals import (
    Withdrawal,
    Withdrawals,
    parse_reason,
    read_withdrawals,
    refuse_republishing,
)
from vdr_spark.storage.catalog import Place
from vdr_spark.storage.delta_creation import append_row_once, create_by_delta_rs
from vdr_spark.storage.files import write_text
from vdr_spark.storage.paths import holds_locks
from vdr_spark.storage.places import OutputFolder
from vdr_spark.storage.schemas import CELLS, RELEASES, WITHDRAWALS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from vdr_spark.plan import Plan


def list_releases(output: str) -> list[ReleaseRecord]:
    """Return what is published in an output folder on a local disk, the newest first, withdrawn releases too."""
    return Register(OutputFolder.at(output)).records()


def withdraw_release(output: str, release_id: str, reason: str) -> Withdrawal:
    """Mark a release of an output folder as not to be used any more, for ever; nothing is deleted.

    Every reader refuses it from now on. No epsilon comes back, and what was downloaded stays out there. Of a release
    that was withdrawn before, the withdrawal that counts is returned, and nothing changes.
    """
    return Register(OutputFolder.at(output)).withdraw(release_id, reason)


def find_withdrawn(plan: Plan, open_spark: Callable[[], SparkSession]) -> dict[str, Withdrawal]:
    """Return which releases of a plan were withdrawn, by their ids."""
    gone = Register(plan.output, open_spark).withdrawals()
    own = [plan.release_id(region) for region in plan.regions]
    return {release_id: gone[release_id] for release_id in own if release_id in gone}


def require_one_to_publish(plan: Plan, open_spark: Callable[[], SparkSession]) -> dict[str, Withdrawal]:
    """Return the same; refuse a plan of which nothing is left to publish."""
    gone = find_withdrawn(plan, open_spark)
    if len(gone) == len(plan.regions):
        raise refuse_republishing(next(iter(gone.values())))
    return gone


def _start_spark() -> SparkSession:
    from vdr_spark.spark.session import spark_session

    return spark_session()


class Register:
    """The tables `releases` and `withdrawals` of an output."""

    def __init__(self, folder: OutputFolder, open_spark: Callable[[], SparkSession] = _start_spark) -> None:
        """`open_spark` is called where the tables cannot be reached without Spark, and not before."""
        self._folder, self._open_spark = folder, open_spark

    @property
    def _is_on_disk(self) -> bool:
        return self._folder.schema is None and holds_locks(self._folder.root)

    def records(self) -> list[ReleaseRecord]:
        """Return what is published, the newest first, withdrawn releases too."""
        gone = self.withdrawals()
        records = [self._to_record(row, gone) for row in self._rows()]
        return sorted(records, key=lambda record: record.created, reverse=True)

    def find(self, release_id: str | None = None, region: str | None = None) -> ReleaseRecord:
        """Return one of them, withdrawn or not, by the rule of `vdr_spark.release.choice`."""
        return self._to_record(
            choose_release(self._rows(), self._folder.tables, release_id, region), self.withdrawals()
        )

    def withdrawals(self) -> Withdrawals:
        """Return what was withdrawn; nothing where the output is from before there was any."""
        if self._is_on_disk:
            return read_withdrawals(self._folder)
        from vdr_spark.release.views import withdrawals_by_spark

        return withdrawals_by_spark(self._open_spark(), self._folder)

    def withdraw(self, release_id: str, reason: str) -> Withdrawal:
        """Withdraw a release that is published, once; return the withdrawal that counts: this one, or an earlier."""
        words = parse_reason(reason)
        record = self.find(release_id)
        if record.withdrawal is None:
            self._mark(Withdrawal(release_id, datetime.now(UTC), words, version("vdr-spark")))
        counts = self.withdrawals()[release_id]
        with suppress(KeyError, TypeError):  # a statement that is no page of ours
            write_text(self._folder.statement(release_id, "html"), statement_page(record.statement, counts))
        return counts

    def create_withdrawals(self) -> None:
        """Make the table `withdrawals`, empty, unless it is there: who asks the tables in SQL can always join it."""
        if self._is_on_disk:
            create_by_delta_rs(str(self._place), WITHDRAWALS)
            return
        from vdr_spark.storage.tables import create_if_missing

        create_if_missing(self._open_spark(), self._place, WITHDRAWALS)

    def migrate(self) -> dict[str, list[str]]:
        """Bring `releases` and `cells` up to date in place, as publishing does; return the columns that each lacked."""
        from vdr_spark.storage.tables import is_delta_table, migrate, only_writer

        self.create_withdrawals()  # first: an up-to-date `releases` has it beside it
        spark, changed = self._open_spark(), {}
        for table in (RELEASES, CELLS):
            place = self._folder.table(table.name)
            if not is_delta_table(spark, place):
                continue
            with only_writer(spark, place):
                added = migrate(spark, place, table)
            if added is not None:
                changed[table.name] = added
        return changed

    @property
    def _place(self) -> Place:
        return self._folder.table(WITHDRAWALS.name)

    def _rows(self) -> list[Row]:
        if self._is_on_disk:
            return [*release_rows(self._folder)]
        from vdr_spark.release.views import rows_by_spark

        return [*rows_by_spark(self._open_spark(), self._folder)]

    def _to_record(self, row: Row, gone: Withdrawals) -> ReleaseRecord:
        with naming_what_lacks(row, self._folder):
            return ReleaseRecord.from_row(row, gone.get(row["release_id"]))

    def _mark(self, withdrawal: Withdrawal) -> None:
        """Write the row, once for each release, whoever else does so at the same moment."""
        self.create_withdrawals()
        transaction = f"withdrawal:{withdrawal.release_id}"
        if self._is_on_disk:
            append_row_once(str(self._place), WITHDRAWALS, transaction, asdict(withdrawal))
            return
        from vdr_spark.release.views import mark_by_spark

        mark_by_spark(self._open_spark(), self._place, withdrawal, transaction)
