"""A file is created once, whole, whoever tries; and where that cannot be had, it is said."""

from __future__ import annotations

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vdr_spark.errors import EnvironmentProblem
from vdr_spark.storage.conditional_put import NoConditionalPut
from vdr_spark.storage.disk_folder import DiskFolder, has_hard_links


def test_one_of_many_creates_a_file(tmp_path: Path) -> None:
    folder = DiskFolder(str(tmp_path / "new"))
    contents = [f"writer {number}".encode() * 1000 for number in range(16)]
    with ThreadPoolExecutor(16) as pool:
        told = list(pool.map(lambda content: folder.create_if_absent("log/0.json", content), contents))
    assert told.count(True) == 1
    assert folder.read("log/0.json") == contents[told.index(True)]
    assert os.listdir(tmp_path / "new" / "log") == ["0.json"]  # no draft is left


def test_who_asks_again_with_the_same_content_was_first(tmp_path: Path) -> None:
    folder = DiskFolder(str(tmp_path))
    assert folder.create_if_absent("a", b"mine")
    assert folder.create_if_absent("a", b"mine")
    assert not folder.create_if_absent("a", b"another's")


def test_reads_and_removes(tmp_path: Path) -> None:
    folder = DiskFolder(str(tmp_path))
    assert folder.read("a") is None
    folder.create_if_absent("a", b"x")
    folder.remove("a", "never there")
    assert folder.read("a") is None


def test_a_file_system_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(NoConditionalPut, match="without hard links"):
        DiskFolder(str(tmp_path)).create_if_absent("a", b"x")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(EnvironmentProblem, match="cannot be written to"):
        DiskFolder(str(tmp_path / "file")).create_if_absent("a", b"x")


def test_finds_what_is_below_and_leaves_no_empty_folder(tmp_path: Path) -> None:
    folder = DiskFolder(str(tmp_path))
    assert folder.find() == folder.find("never there") == []
    for name in ("a/b/one", "a/b/two", "c"):
        folder.create_if_absent(name, name.encode())
    assert [(found.name, found.size) for found in folder.find("a")] == [("a/b/one", 7), ("a/b/two", 7)]
    folder.remove("a/b/one")
    assert [found.name for found in folder.find()] == ["a/b/two", "c"]
    folder.remove("a/b/two")
    assert not (tmp_path / "a/b").exists()


def test_a_disk_says_whether_a_name_is_taken_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert has_hard_links(tmp_path)
    assert os.listdir(tmp_path) == []

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    assert not has_hard_links(tmp_path)
    assert os.listdir(tmp_path) == []
