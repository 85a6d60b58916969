"""The noisy tensor of a draw: its one stored copy, and the gate that everything passes that reads it.

All slices become readable in one Delta commit, or none does, and that commit is remembered by the draw's name:
whatever is retried, at most one drawing of a cell can ever be read. What a killed or losing attempt left in the folder
is removed before noise is drawn and again after the commit. And no stage reads a tensor unless the ledger has the draw
as spent, with the SHA-256 of just these numbers.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote

from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from vdr_spark.collect.slice_digests import DIGEST_SCHEMA, digest_slices
from vdr_spark.errors import DamagedTable, LedgerConflict, StageMissing
from vdr_spark.privacy.accounting import BudgetRequest, Draw, Entry
from vdr_spark.privacy.ledger import Ledger
from vdr_spark.spark_versions import is_about_a_file
from vdr_spark.storage.delta_files import list_files
from vdr_spark.storage.delta_log import list_commits
from vdr_spark.storage.files import filesystem
from vdr_spark.storage.paths import is_local
from vdr_spark.storage.places import OutputFolder
from vdr_spark.storage.schemas import NOISY_SLICES
from vdr_spark.storage.tables import append_once, create_if_missing, read_partition
from vdr_spark.workers import in_worker


@dataclass(frozen=True)
class Contents:
    """What one pass over the stored numbers tells of them."""

    files: tuple[str, ...]
    sha256: str  # of the slices' own SHA-256, one per line, in order
    slice_sums: tuple[int, ...]  # noisy, in units


class NoisyTensor:
    """The stored noisy slices of one draw. Numbers are hashed once per process, as long as the files stay the same."""

    def __init__(self, spark: SparkSession, output: OutputFolder, draw: Draw, slices: int, ledger: Ledger) -> None:
        self.draw = draw
        self._spark, self._output, self._slices, self._ledger = spark, output, slices, ledger
        self._contents: Contents | None = None
        self._spent: tuple[tuple[str, ...], Entry] | None = None

    @property
    def path(self) -> str:
        """The Delta table that holds it, and those of other draws."""
        return self._output.table(NOISY_SLICES.name)

    def rows(self) -> DataFrame | None:
        """Return the draw's rows of `noisy_slices`; None where there is no such table yet."""
        return read_partition(self._spark, self.path, NOISY_SLICES, self.draw.draw_id)

    def is_stored(self) -> bool:
        """Whether the tensor is there, whole. One with slices missing or twice is refused, never used."""
        return self.contents() is not None

    def files(self) -> list[str]:
        """Return where the Parquet files are that hold it: those Delta calls live, never the folder's listing."""
        if is_local(self.path):
            with suppress(DamagedTable):  # without Spark, which takes longer to ask; in doubt it is asked
                return list_files(self.path, draw_id=self.draw.draw_id)
        rows = self.rows()
        if rows is None:
            return []
        folder = f"/draw_id={self.draw.draw_id}/"
        # Delta gives names as they are, where Spark's own tables give URIs: a folder may be called `100%25`.
        return sorted(file.replace("%", "%25") for file in rows.inputFiles() if folder in file)

    def contents(self) -> Contents | None:
        """Return sums and SHA-256 of what is stored; None where nothing is."""
        files = tuple(self.files())
        if not files:
            return None
        if self._contents is None or self._contents.files != files:
            self._contents = self._read_contents(files)
        return self._contents

    def store(self, noisy: DataFrame, units_per_ping: int, protected: bool) -> None:
        """Evaluate `noisy` once and make it readable under the draw's id, all slices at once."""
        self.remove_orphans()
        create_if_missing(self._spark, self.path, NOISY_SLICES)
        named = noisy.select(
            F.lit(self.draw.draw_id).alias("draw_id"),
            "slice",
            "counts",
            F.lit(units_per_ping).cast("bigint").alias("units_per_ping"),
            F.lit(protected).alias("protected"),
        )
        try:
            append_once(named, self.path, NOISY_SLICES, f"draw:{self.draw.draw_id}")
        finally:
            self.remove_orphans()

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
        fs, folder = filesystem(self._folder)
        for file in self.find_orphans():
            fs.rm_file(file)
        if fs.exists(folder) and not fs.find(folder):
            fs.rm(folder, recursive=True)

    def find_orphans(self) -> list[str]:
        """Return files of this draw that no commit refers to."""
        fs, folder = filesystem(self._folder)
        fs.invalidate_cache()
        if not fs.exists(folder):
            return []
        if not DeltaTable.isDeltaTable(self._spark, self.path) and list_commits(self.path):
            return []  # a session that looked while the table was being made may not see it: touch nothing
        live = {unquote(file).rsplit("/", 1)[-1] for file in self.files()}
        names = {file: file.rsplit("/", 1)[-1].removeprefix(".").removesuffix(".crc") for file in fs.find(folder)}
        return [file for file, name in names.items() if name not in live]

    @cached_property
    def _folder(self) -> str:
        return f"{self.path}/draw_id={self.draw.draw_id}"

    def _read_contents(self, files: tuple[str, ...]) -> Contents:
        rows = self.rows()
        assert rows is not None
        digests = rows.select("slice", "counts").mapInArrow(in_worker(digest_slices), DIGEST_SCHEMA)
        try:
            found = sorted((row.slice, row.sha256, row.total) for row in digests.collect())
        except (PySparkException, Py4JJavaError) as problem:
            if not is_about_a_file(problem):
                raise
            raise self._damaged("a file of it is gone or cannot be read", "bring the folder back as it was") from None
        if [number for number, _, _ in found] != list(range(self._slices)):
            raise self._damaged(
                f"{len(found)} slices stored, {self._slices} expected", "restore the table from Delta's history"
            )
        lines = "".join(f"{number} {sha256}\n" for number, sha256, _ in found)
        return Contents(files, hashlib.sha256(lines.encode()).hexdigest(), tuple(total for _, _, total in found))

    def _damaged(self, what: str, remedy: str) -> LedgerConflict:
        return LedgerConflict(
            f"the noisy tensor of draw {self.draw.draw_id} in {self._output.root} is damaged: {what}. "
            f"It cannot be drawn again; {remedy}."
        )
