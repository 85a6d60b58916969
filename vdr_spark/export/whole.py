"""Files and folders that are there whole or not at all.

Everything is written into a hidden folder beside the place where it belongs, on the same disk, and renamed at the end.
What fails leaves nothing behind; what is killed leaves the hidden folder, whose name ends in `.part`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from vdr_spark.errors import DiskFull, InvalidExport
from vdr_spark.storage.free_space import is_disk_full


def check_places(paths: Sequence[Path], overwrite: bool) -> None:
    """Refuse places that are taken, unless they may be overwritten, and folders that are not there."""
    folder = paths[0].parent
    if not folder.is_dir():
        raise InvalidExport(f"the folder {folder} must exist, and does not; make it first, or name another path")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidExport(f"the folder {folder} must be one that you may write into; name a path in another one")
    for path in paths:
        if path.is_dir() and not is_zarr(path):
            raise InvalidExport(f"{path} is a folder, and not a Zarr store: it is never replaced; name another path")
        if os.path.lexists(path) and not overwrite:
            raise InvalidExport(
                f"{path} exists, and nothing is overwritten unasked; name another path, or say --overwrite "
                "(overwrite=True)"
            )


def is_zarr(folder: Path) -> bool:
    """Whether a folder is a Zarr store, of the old format or the new one."""
    return any((folder / name).is_file() for name in (".zgroup", "zarr.json"))


@contextmanager
def write_whole(paths: Sequence[Path], overwrite: bool) -> Iterator[list[Path]]:
    """Give a temporary path for each of `paths`, all in one folder, and put what was written there in place.

    The first is the one a person asked for, and is put in place last: where it is, all the others are. A path to which
    nothing was written has nothing afterwards: an older file there would belong to another release.
    """
    check_places(paths, overwrite)
    first = paths[0]
    try:
        with _hidden_folder(first) as folder:
            hidden = [folder / path.name for path in paths]
            yield hidden
            check_places(paths, overwrite)  # somebody else may have been faster
            for made, path in reversed(list(zip(hidden, paths, strict=True))):
                _put_in_place(made, path)
    except OSError as problem:
        free, kind = shutil.disk_usage(first.parent).free / 1e6, DiskFull if is_disk_full(problem) else InvalidExport
        raise kind(
            f"{first} could not be written: {problem.strerror or problem}; nothing is left of it. {free:,.0f} MB are "
            "free on that disk: make room, or name a path in a folder that can be written"
        ) from problem


@contextmanager
def _hidden_folder(beside: Path) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(dir=beside.parent, prefix=f".{beside.name}.", suffix=".part"))
    try:
        yield folder
    except BaseException:
        _remove_until_gone(folder)
        raise
    shutil.rmtree(folder)


def _remove_until_gone(folder: Path) -> None:
    """Remove a folder into which somebody may still be writing: zarr's threads finish what they have begun."""
    quiet = 0
    for _ in range(50):
        quiet = 0 if folder.exists() else quiet + 1
        if quiet == 3:
            return
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.05)


def _put_in_place(made: Path, path: Path) -> None:
    if path.is_dir():  # no rename replaces a folder with files in it: the old one goes, with the hidden folder
        path.rename(made.with_name(f"replaced {made.name}"))
    if made.exists():
        made.replace(path)
    else:
        path.unlink(missing_ok=True)
