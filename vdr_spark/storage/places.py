"""Where everything lies: the one module that knows the names of folders and files."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from vdr_spark.storage.catalog import CatalogTable, Place
from vdr_spark.storage.paths import absolute


@dataclass(frozen=True)
class OutputFolder:
    """The output folder of a configuration; paths only, nothing is looked up.

    tables/      Delta: cells, pyramid, releases, withdrawals, noisy_slices, and the ledger unless it has a place of its
                 own; none of these where the tables have names in a schema
    work/        what one stage leaves for the next, one folder per release; all of it made from noisy counts
    statements/  the privacy statement of every release, as JSON and as a page
    pictures/    plotted from the release alone
    reports/     a page for people about every release, from the released tables and the ledger
    runs/        one folder per run of a command: settings, versions, timings, log lines; for the operator only
    evaluation/  compared with the truth, by the `evaluate` command only; no part of any release
    """

    root: str
    schema: str | None = None  # in which the tables have names, where they are not in the folder

    @classmethod
    def at(cls, location: str, schema: str | None = None) -> OutputFolder:
        return cls(absolute(location), schema)

    def table(self, name: str) -> Place:
        """Return where a Delta table is: cells, releases or noisy_slices."""
        return self._path("tables", name) if self.schema is None else CatalogTable(f"{self.schema}.{name}")

    @property
    def tables(self) -> str:
        """Where the tables are, in words."""
        return self.root if self.schema is None else f"schema {self.schema}"

    def work(self, release_id: str) -> ReleaseFolder:
        """Return the folder in which the stages of one release work."""
        return ReleaseFolder(self._path("work", release_id))

    def noisy_copy(self, draw_id: str) -> str:
        """Return the folder for a copy of a draw's noisy slices, where the files of the table are out of reach."""
        return self._path("work", f"{draw_id}.noisy")

    def series(self, name: str) -> SeriesFolder:
        """Return the folder of what the windows of a series share."""
        return SeriesFolder(self._path("work", f"{name}.series"))

    def lock(self, draw_id: str) -> str:
        """Return the path of the file that is locked while a draw is made."""
        return self._path("work", f"{draw_id}.lock")

    def statement(self, release_id: str, kind: str) -> str:
        """Return the path of a release's privacy statement: `json`, or `html`, the page."""
        return self._path("statements", f"{release_id}.{kind}")

    def run(self, name: str) -> RunFolder:
        """Return the folder that one run of a command leaves for the operator."""
        return RunFolder(self._path("runs", name))

    def picture(self, name: str) -> str:
        return self._path("pictures", name)

    def report(self, release_id: str, beside_truth: bool = False) -> str:
        """Return the path of the report on a release; one that shows a truth lies apart from every release."""
        return (
            self.evaluation(f"report-{release_id}.html")
            if beside_truth
            else self._path("reports", f"{release_id}.html")
        )

    def evaluation(self, name: str) -> str:
        return self._path("evaluation", name)

    @property
    def summary(self) -> str:
        """The demo's figures."""
        return self._path("summary.json")

    def _path(self, *names: str) -> str:
        return posixpath.join(self.root, *names)


@dataclass(frozen=True)
class ReleaseFolder:
    """What the stages of one release leave for each other; paths only."""

    root: str

    @property
    def denoised(self) -> str:
        """The denoised tensor; its presence says that denoising is done."""
        return posixpath.join(self.root, "denoised.parquet")

    @property
    def denoising(self) -> str:
        """How it was denoised."""
        return posixpath.join(self.root, "denoised.json")

    @property
    def refined(self) -> str:
        """The refined tensor; its presence says that refinement is done."""
        return posixpath.join(self.root, "refined.parquet")

    @property
    def refinement(self) -> str:
        """How it was refined."""
        return posixpath.join(self.root, "refined.json")

    def network(self, model: str) -> str:
        """Return the folder that keeps the training of a network."""
        return posixpath.join(self.root, model)


@dataclass(frozen=True)
class SeriesFolder:
    """What the windows of a series share; paths only."""

    root: str

    @property
    def checkpoint(self) -> str:
        """How far a stream has read the table of pings: Spark's own, of versions and files, without a row."""
        return posixpath.join(self.root, "stream")

    def networks(self, region: str | None) -> str:
        """Return the folder of notes on the networks that are kept for a region's later windows."""
        return posixpath.join(self.root, "networks", *([region] if region else []))


@dataclass(frozen=True)
class RunFolder:
    """What a run leaves for the operator; paths only."""

    root: str

    @property
    def facts(self) -> str:
        """What was asked, with which versions, how long it took, how it ended."""
        return posixpath.join(self.root, "run.json")

    @property
    def log(self) -> str:
        """Its log lines, a JSON object each."""
        return posixpath.join(self.root, "log.jsonl")


@dataclass(frozen=True)
class LedgerPlaces:
    """The ledger's table, and the file outside of it that remembers its last entry."""

    table: Place
    head: str

    @classmethod
    def at(cls, output: OutputFolder, ledger: str | None = None, head: str | None = None) -> LedgerPlaces:
        """Return the places that a configuration names, or those beside its other tables.

        Beside a table that has a name in a catalog no file can lie: its head is kept in the output folder.
        """
        table = absolute(ledger).rstrip("/") if ledger else output.table("ledger")
        beside = table if isinstance(table, str) else posixpath.join(output.root, "ledger")
        return cls(table, absolute(head) if head else f"{beside}.head.json")
