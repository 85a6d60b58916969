"""Where everything of a configuration's output lies: one place that knows the folder names."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from vdr_spark.config import ReleaseConfig, absolute


@dataclass(frozen=True)
class Workspace:
    """The output folder of a configuration, and the release that is being made in it.

    tables/      Delta: cells, releases, ledger, noisy_slices
    work/        what one stage leaves for the next, one folder a release; all of it made from noisy counts
    statements/  the privacy statement of every release, as JSON and as a page
    pictures/    drawn from the release alone
    evaluation/  compared with the truth, by the `evaluate` command only; no part of any release
    """

    root: str
    draw_id: str
    release_id: str
    ledger: str
    witness: str

    @classmethod
    def of(cls, config: ReleaseConfig) -> Workspace:
        root = absolute(config.output)
        ledger = absolute(config.ledger) if config.ledger else posixpath.join(root, "tables", "ledger")
        # Before a region is chosen, there is a draw and no release yet.
        release_id = config.release_id if len(config.views()) == 1 else config.draw_id
        witness = absolute(config.witness) if config.witness else ledger.rstrip("/") + ".witness.json"
        return cls(root, config.draw_id, release_id, ledger, witness)

    def table(self, name: str) -> str:
        """Path of a Delta table: cells, releases or noisy_slices."""
        return posixpath.join(self.root, "tables", name)

    def stage(self, *names: str) -> str:
        """Path of something that a stage of this release leaves for the next one."""
        return posixpath.join(self.root, "work", self.release_id, *names)

    def statement(self, kind: str) -> str:
        """Path of the release's privacy statement: `json`, or `html`, the page."""
        return posixpath.join(self.root, "statements", f"{self.release_id}.{kind}")

    def pictures(self, name: str) -> str:
        return posixpath.join(self.root, "pictures", name)

    def evaluation(self, name: str) -> str:
        return posixpath.join(self.root, "evaluation", name)
