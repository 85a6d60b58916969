"""What remembers, outside the budget book, how far it was written.

A chain of hashes shows edits in the middle of a book, not that its end was cut off or that all of it is gone. So after
every entry its number and hash are also written to a small file of their own. It lies beside the book; a privacy
officer puts it where the release job may write and nobody may delete (`witness` in the configuration).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from vdr_spark.errors import LedgerConflict
from vdr_spark.storage.files import exists, read_json, write_json


class Witnessed(Protocol):
    """An entry, as far as a witness knows it."""

    @property
    def sequence(self) -> int: ...

    @property
    def entry_hash(self) -> str: ...


@dataclass(frozen=True)
class Seen:
    """The last entry that a witness saw; number 0 before the first."""

    sequence: int
    entry_hash: str


@dataclass(frozen=True)
class Witness:
    path: str

    def last_seen(self) -> Seen:
        if not exists(self.path):
            return Seen(0, "")
        try:
            content = read_json(self.path)
            return Seen(int(content["sequence"]), str(content["entry_hash"]))
        except (json.JSONDecodeError, KeyError, TypeError, ValueError, UnicodeDecodeError):
            raise LedgerConflict(
                f"the ledger's witness {self.path} is damaged: it must hold the number and hash of the last entry. "
                "Restore it, or have people compare the ledger with what was released before it is removed"
            ) from None

    def contradicts(self, seen: Seen, entries: Sequence[Witnessed]) -> bool:
        """Whether the book lacks what was seen. `seen` must have been read before the entries were."""
        if seen.sequence == 0:
            return False
        return len(entries) < seen.sequence or entries[seen.sequence - 1].entry_hash != seen.entry_hash

    def see(self, entry: Witnessed) -> None:
        """Remember an entry. Written after the entry, so a crash in between leaves the witness behind, never ahead."""
        if self.last_seen().sequence < entry.sequence:
            write_json(self.path, {"sequence": entry.sequence, "entry_hash": entry.entry_hash})
