"""Where everything of a configuration's output lies: one place that knows the folder names."""

from __future__ import annotations

import json
import posixpath
from dataclasses import dataclass
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from vdr_spark.config import ReleaseConfig, absolute

# Hadoop's names of object stores, and what fsspec calls the same stores.
_FSSPEC_SCHEMES = {"s3a": "s3", "s3n": "s3", "wasbs": "abfs", "wasb": "abfs"}


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


def filesystem(path: str) -> tuple[fsspec.AbstractFileSystem, str]:
    """The file system of a path and the path in it, by Hadoop's or by fsspec's name of the store."""
    scheme, separator, rest = path.partition("://")
    known = f"{_FSSPEC_SCHEMES.get(scheme, scheme)}{separator}{rest}" if separator else path
    return fsspec.core.url_to_fs(known)  # type: ignore[no-any-return]


def exists(path: str) -> bool:
    fs, inside = filesystem(path)
    return bool(fs.exists(inside))


def write_text(path: str, content: str) -> None:
    """Write a small file so that a reader sees either all of it or none."""
    fs, inside = filesystem(path)
    fs.makedirs(posixpath.dirname(inside), exist_ok=True)
    if not isinstance(fs, LocalFileSystem):
        fs.pipe_file(inside, content.encode())  # whole or not at all, and no right to delete is needed
        return
    fs.pipe_file(inside + ".tmp", content.encode())
    fs.mv(inside + ".tmp", inside)


def read_text(path: str) -> str:
    fs, inside = filesystem(path)
    content: bytes = fs.cat_file(inside)
    return content.decode()


def as_json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, sort_keys=True, default=str)


def write_json(path: str, content: dict[str, Any]) -> None:
    write_text(path, as_json(content))


def read_json(path: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(read_text(path))
    return content
