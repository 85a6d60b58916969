"""The ledger's head: what remembers, outside the ledger's table, its last entry.

A chain of hashes shows edits in the middle of a ledger, not that its end was cut off or that all of it is gone. So
after every entry its number and hash are also written to a small file. It lies beside the table; a privacy officer
puts it where the release job may write and nobody may delete (`ledger_head` in the configuration).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from vdr_spark.errors import EnvironmentProblem, LedgerConflict
from vdr_spark.privacy.entries import Entry
from vdr_spark.storage.files import exists, read_json, write_json


@dataclass(frozen=True)
class Position:
    """The number and hash of a ledger's last entry; number 0 before the first."""

    sequence: int
    entry_hash: str

    def contradicts(self, entries: Sequence[Entry]) -> bool:
        """Whether a ledger lacks this entry. The position must have been read before the entries were."""
        if self.sequence == 0:
            return False
        return len(entries) < self.sequence or entries[self.sequence - 1].entry_hash != self.entry_hash


@dataclass(frozen=True)
class LedgerHead:
    """The file at a path."""

    path: str

    def read(self) -> Position:
        try:
            if not exists(self.path):
                return Position(0, "")
            content = read_json(self.path)
            return Position(int(content["sequence"]), str(content["entry_hash"]))
        except (json.JSONDecodeError, KeyError, TypeError, ValueError, UnicodeDecodeError):
            raise LedgerConflict(
                f"the ledger's head {self.path} is damaged: it must hold the number and hash of the last entry. "
                "Restore it, or have people compare the ledger with what was released before it is removed"
            ) from None
        except OSError as problem:
            raise EnvironmentProblem(
                f"the ledger's head {self.path} cannot be read ({type(problem).__name__}); look at its address and at "
                "the rights and credentials at hand"
            ) from None

    def advance(self, entry: Entry) -> None:
        """Remember an entry. Written after the entry, so a crash in between leaves the head behind, never ahead."""
        if self.read().sequence < entry.sequence:
            write_json(self.path, {"sequence": entry.sequence, "entry_hash": entry.entry_hash})
