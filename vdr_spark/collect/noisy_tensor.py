"""The noisy tensor of a draw: its one stored copy, and the gate that everything passes that reads it.

All slices become readable in one Delta commit, or none does, and that commit is remembered by the draw's name:
whatever is retried, at most one drawing of a cell can ever be read. What a killed or losing attempt left in the folder
is removed before noise is drawn and again after the commit. And no stage reads a tensor unless the ledger has the draw
as spent, with the SHA-256 of just these numbers. In an object store, where a process that was taken for dead may come
back, a drawing is first written aside and booked, which the ledger lets one of them do, and only then made readable.
"""

from __future__ import annotations

import posixpath
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from vdr_spark.collect.staging import Staging, drawn_by_another, transaction_of
from vdr_spark.collect.tensor_digest import TensorDigest, digest_files, digest_tensor
from vdr_spark.errors import DamagedTable, LedgerConflict, StageMissing
from vdr_spark.privacy.entries import BudgetRequest, Draw, Entry
from vdr_spark.privacy.ledger import Ledger
from vdr_spark.spark_errors import SPARK_ERRORS, is_conflict
from vdr_spark.spark_versions import is_about_a_file
from vdr_spark.storage.catalog import CatalogTable
from vdr_spark.storage.delta_files import list_files, naming_damage
from vdr_spark.storage.delta_log import list_commits
from vdr_spark.storage.files import filesystem
from vdr_spark.storage.paths import is_local
from vdr_spark.storage.places import OutputFolder
from vdr_spark.storage.schemas import NOISY_SLICES
from vdr_spark.storage.slice_bytes import SLICE_COLUMNS
from vdr_spark.storage.store_log import open_log_to_write
from vdr_spark.storage.tables import (
    append_once,
    create_if_missing,
    find_folder,
    find_version,
    is_delta_table,
    only_writer,
    open_disk,
    read_partition,
)

_PARQUET = ".parquet"


@dataclass(frozen=True)
class Contents:
    """What one pass over the stored numbers tells of them."""

    files: tuple[str, ...]  # or, where they are out of reach, what changes when the table does
    sha256: str  # of the slices' own SHA-256, one per line, in order
    slice_sums: tuple[int, ...]  # noisy, in units


class NoisyTensor:
    """The stored noisy slices of one draw. Numbers are hashed once per process, as long as the files stay the same."""

    def __init__(self, spark: SparkSession, output: OutputFolder, draw: Draw, slices: int, ledger: Ledger) -> None:
        self.draw = draw
        self._spark, self._output, self._slices, self._ledger = spark, output, slices, ledger
        self._found: str | None = None
        self._place = output.table(NOISY_SLICES.name)
        self._contents: Contents | None = None
        self._spent: tuple[tuple[str, ...], Entry] | None = None

    @property
    def path(self) -> str:
        """The Delta table that holds it, and those of other draws: its path or its name."""
        return str(self._place)

    @cached_property
    def _staging(self) -> Staging | None:
        """Where a drawing lies before it is booked; None where the table is not in a store, or its store is unfit."""
        log = open_log_to_write(self._place)
        return None if log is None else Staging(self._spark, log, self.draw, self._ledger)

    def rows(self) -> DataFrame | None:
        """Return the draw's rows of `noisy_slices`; None where there is no such table yet."""
        return read_partition(self._spark, self._place, NOISY_SLICES, self.draw.draw_id)

    def is_stored(self) -> bool:
        """Whether the tensor is there, whole. One with slices missing or twice is refused, never used."""
        return self.contents() is not None

    @property
    def is_within_reach(self) -> bool:
        """Whether the table's files can be looked at, and what does not belong there be removed."""
        return self._table_folder() is not None

    def files(self) -> list[str]:
        """Return where Parquet files are that hold it: those Delta calls live; a copy, where these are out of reach."""
        folder = self._table_folder()
        return self._live_files(folder) if folder is not None else self._copy_out()

    def _live_files(self, table: str) -> list[str]:
        """Return the files that Delta calls live, never the folder's listing."""
        if is_local(table):
            with suppress(DamagedTable):  # without Spark, which takes longer to ask; in doubt it is asked
                return list_files(table, draw_id=self.draw.draw_id)
        rows = self.rows()
        if rows is None:
            return []
        folder = f"/draw_id={self.draw.draw_id}/"
        # Delta gives names as they are, where Spark's own tables give URIs: a folder may be called `100%25`.
        return sorted(file.replace("%", "%25") for file in rows.inputFiles() if folder in file)

    def contents(self) -> Contents | None:
        """Return sums and SHA-256 of what is stored; None where nothing is."""
        files = self._state()
        if not files:
            return None
        if self._contents is None or self._contents.files != files:
            self._contents = self._read_contents(files)
        return self._contents

    def store(self, noisy: DataFrame, units_per_ping: int, protected: bool, request: BudgetRequest) -> None:
        """Evaluate `noisy` once and make it readable under the draw's id, all slices at once.

        In a store it is booked as spent first; on a disk `mark_spent` does so afterwards.
        """
        self.remove_orphans()
        create_if_missing(self._spark, self._place, NOISY_SLICES)
        labelled = noisy.select(
            *SLICE_COLUMNS,
            F.lit(units_per_ping).cast("bigint").alias("units_per_ping"),
            F.lit(protected).alias("protected"),
        )
        if self._staging is not None:
            self._staging.store(labelled, request)
        else:
            self._append(labelled)

    def _append(self, labelled: DataFrame) -> None:
        """Store in one commit, on a disk under locks, elsewhere where no second process is said to be.

        The draw's own lock does not keep out a process that draws something else into the same table.
        """
        try:
            with only_writer(self._spark, self._place):
                self._append_now(labelled)
        except SPARK_ERRORS as problem:
            if not is_conflict(problem):
                raise
            raise drawn_by_another(self.draw) from None
        finally:
            self.remove_orphans()

    def _append_now(self, labelled: DataFrame) -> None:
        """Let Spark write plain files; commit them on a disk without it, which takes seconds for a first commit."""
        on_disk = open_disk(self._place)
        if on_disk is not None:
            staging = Staging(self._spark, on_disk, self.draw, self._ledger)
            staging.commit(staging.write(labelled))
        else:
            named = labelled.select(F.lit(self.draw.draw_id).alias("draw_id"), "*")
            append_once(named, self._place, NOISY_SLICES, transaction_of(self.draw))

    def finish_commit(self) -> None:
        """Make a tensor readable that was booked by a run that was killed before it could; else change nothing."""
        if self._staging is not None and (spent := self._awaited()) is not None:
            self._staging.finish(spent.tensor_sha256)

    def _awaited(self) -> Entry | None:
        """Return the entry of a draw that is booked as spent and not in the table: in a store it may lie beside it."""
        spent = None if self._staging is None else self._ledger.find_spending(self.draw)
        return spent if spent is not None and not self._state() else None

    def mark_spent(self, request: BudgetRequest) -> None:
        """Tell the ledger that the draw was made, and what came of it."""
        self.remove_orphans()
        contents = self.contents()
        if contents is None:
            raise LedgerConflict(
                f"draw {self.draw.draw_id} was made, but its noisy numbers are no longer in {self._output.root}; "
                "bring the folder back as it was"
            )
        self._spent = contents.files, self._ledger.mark_spent(request, self.draw, contents.sha256)

    def require_spent(self) -> Entry:
        """Return the ledger's entry of the draw; refuse a tensor that is not booked as spent with these numbers."""
        contents = self.contents()
        if contents is None:
            raise StageMissing(f"draw {self.draw.draw_id} has no noisy tensor yet; run `vdr collect` first")
        if self._spent is None or self._spent[0] != contents.files:
            self.remove_orphans()
            spent = self._ledger.find_spending(self.draw)
            if spent is None or spent.tensor_sha256 != contents.sha256:
                raise LedgerConflict(
                    f"draw {self.draw.draw_id}, as it is stored, is not booked as spent in {self._ledger.path}; "
                    "run `vdr collect` first"
                )
            self._spent = contents.files, spent
        return self._spent[1]

    def remove_orphans(self) -> None:
        """Delete files of this draw that no commit refers to: another drawing of the same cells, half or whole.

        Called by every stage that touches the draw, because a task that lost a race may finish its file late.
        """
        table = self._table_folder()
        if table is None or self._awaited() is not None:
            return
        fs, folder = filesystem(self._folder(table))
        for file in self.find_orphans():
            fs.rm_file(file)
        if fs.exists(folder) and not fs.find(folder):
            fs.rm(folder, recursive=True)

    def find_orphans(self) -> list[str]:
        """Return files of this draw that no commit refers to; none where the table's files are out of reach."""
        table = self._table_folder()
        if table is None:
            return []
        fs, folder = filesystem(self._folder(table))
        fs.invalidate_cache()
        if not fs.exists(folder):
            return []
        if not is_delta_table(self._spark, self._place) and list_commits(table):
            return []  # a session that looked while the table was being made may not see it: touch nothing
        live = {unquote(file).rsplit("/", 1)[-1] for file in self._live_files(table)}
        names = {file: file.rsplit("/", 1)[-1].removeprefix(".").removesuffix(".crc") for file in fs.find(folder)}
        return [file for file, name in names.items() if name not in live]

    def _folder(self, table: str) -> str:
        return f"{table}/draw_id={self.draw.draw_id}"

    def _table_folder(self) -> str | None:
        """Return where the table's files are; None where a catalog has them, out of reach, or there are none yet."""
        if self._found is None:
            self._found = find_folder(self._spark, self._place)
        return self._found

    def _state(self) -> tuple[str, ...]:
        """Return what changes whenever the stored rows may have changed; nothing where there are none."""
        folder = self._table_folder()
        if folder is not None:
            return tuple(self._live_files(folder))
        rows = self.rows()
        if rows is None or rows.isEmpty():
            return ()
        assert isinstance(self._place, CatalogTable)  # a path is a folder
        return (f"version {find_version(self._spark, self._place)} of {self.path}",)

    def _copy_out(self) -> list[str]:
        """Copy the slices, which are noisy, to where later stages can read them without Spark."""
        rows, copy = self.rows(), self._output.noisy_copy(self.draw.draw_id)
        if rows is None or rows.isEmpty():
            return []
        rows.select(*SLICE_COLUMNS).coalesce(1).write.mode("overwrite").parquet(copy)
        fs, inside = filesystem(copy)
        fs.invalidate_cache()
        return [f"{copy}/{posixpath.basename(file)}" for file in fs.ls(inside, detail=False) if file.endswith(_PARQUET)]

    def _read_contents(self, files: tuple[str, ...]) -> Contents:
        try:
            found = self._digest(files)
        except SPARK_ERRORS as problem:
            if not is_about_a_file(problem):
                raise
            raise self._lacks_a_file() from None
        except DamagedTable:
            raise self._lacks_a_file() from None
        if found.slices != tuple(range(self._slices)):
            raise self._damaged(
                f"{len(found.slices)} slices stored, {self._slices} expected", "restore the table from Delta's history"
            )
        return Contents(files, found.sha256, found.sums)

    def _digest(self, files: tuple[str, ...]) -> TensorDigest:
        if all(is_local(file) for file in files) and self.is_within_reach:
            with naming_damage(self.path):
                return digest_files(files)
        rows = self.rows()
        assert rows is not None
        return digest_tensor(rows)

    def _lacks_a_file(self) -> LedgerConflict:
        return self._damaged("a file of it is gone or cannot be read", "bring the folder back as it was")

    def _damaged(self, what: str, remedy: str) -> LedgerConflict:
        return LedgerConflict(
            f"the noisy tensor of draw {self.draw.draw_id} in {self._output.root} is damaged: {what}. "
            f"It cannot be drawn again; {remedy}."
        )
