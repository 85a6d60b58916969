"""A Delta table's log as files: which commits there are, and what is left of a table that never had one."""

from __future__ import annotations

from contextlib import suppress

from vdr_spark.storage.files import filesystem

_COMMITS = (".json", ".parquet")  # how the names of commits and checkpoints in a log end


def remove_log_without_commit(path: str) -> None:
    """Remove what a run left that was killed just before the table's first commit.

    Delta takes such a place for no table, but in use. Never a commit, should another process be making one right now:
    those files are left, and so is their folder.
    """
    if list_commits(path):
        return
    fs, log = filesystem(f"{path}/_delta_log")
    with suppress(OSError):
        for folder, _, files in list(fs.walk(log, topdown=False)):
            for file in files:
                if not file.endswith(_COMMITS):  # one may have come since
                    fs.rm_file(f"{folder}/{file}")
            fs.rmdir(folder)


def list_commits(path: str) -> list[str]:
    """Return the files of a Delta table's log, each with what changes when it is replaced; none without a table."""
    fs, log = filesystem(f"{path}/_delta_log")
    fs.invalidate_cache()
    files = fs.find(log, detail=True).items()
    changing = ("size", "mtime", "LastModified", "ETag", "etag", "last_modified", "ino")
    return sorted(f"{name} {[info.get(key) for key in changing]}" for name, info in files if name.endswith(_COMMITS))
