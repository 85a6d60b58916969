"""Where everything lies: the one module that knows the names of folders and files."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from vdr_spark.storage.paths import absolute


@dataclass(frozen=True)
class OutputFolder:
    """The output folder of a configuration; paths only, nothing is looked up.

    tables/      Delta: cells, releases, noisy_slices, and the ledger unless it has a place of its own
    work/        what one stage leaves for the next, one folder per release; all of it made from noisy counts
    statements/  the privacy statement of every release, as JSON and as a page
    pictures/    plotted from the release alone
    evaluation/  compared with the truth, by the `evaluate` command only; no part of any release
    """

    root: str

    @classmethod
    def at(cls, location: str) -> OutputFolder:
        return cls(absolute(location))

    def table(self, name: str) -> str:
        """Return the path of a Delta table: cells, releases or noisy_slices."""
        return posixpath.join(self.root, "tables", name)

    def work(self, release_id: str) -> ReleaseFolder:
        """Return the folder in which the stages of one release work."""
        return ReleaseFolder(posixpath.join(self.root, "work", release_id))

    def lock(self, draw_id: str) -> str:
        """Return the path of the file that is locked while a draw is made."""
        return posixpath.join(self.root, "work", f"{draw_id}.lock")

    def statement(self, release_id: str, kind: str) -> str:
        """Return the path of a release's privacy statement: `json`, or `html`, the page."""
        return posixpath.join(self.root, "statements", f"{release_id}.{kind}")

    def picture(self, name: str) -> str:
        return posixpath.join(self.root, "pictures", name)

    def evaluation(self, name: str) -> str:
        return posixpath.join(self.root, "evaluation", name)

    @property
    def summary(self) -> str:
        """The demo's figures."""
        return posixpath.join(self.root, "summary.json")


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
class LedgerPlaces:
    """The ledger's table, and the file outside of it that remembers its last entry."""

    table: str
    head: str

    @classmethod
    def at(cls, output: OutputFolder, ledger: str | None = None, head: str | None = None) -> LedgerPlaces:
        """Return the places that a configuration names, or those beside its other tables."""
        table = absolute(ledger).rstrip("/") if ledger else output.table("ledger")
        return cls(table, absolute(head) if head else f"{table}.head.json")

    @property
    def folder(self) -> str:
        """Where the table and its lock lie."""
        return posixpath.dirname(self.table)

    @property
    def lock(self) -> str:
        return f"{self.table}.lock"
