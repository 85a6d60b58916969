"""A small file is there whole or not at all, whoever else writes it."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fsspec.implementations.local import LocalFileSystem

from vdr_spark.storage.files import read_json, write_json


def test_many_may_write_one_file_at_once(tmp_path: Path) -> None:
    """Of the ledger's head, say: each finds its own draft, and a reader one of them whole."""
    path = str(tmp_path / "new/head.json")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: write_json(path, {"number": number}), range(400)))
    assert read_json(path)["number"] in range(400)
    assert os.listdir(tmp_path / "new") == ["head.json"]


def test_what_could_not_be_written_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "head.json"
    write_json(str(path), {"number": 1})

    def fail(*_: object, **__: object) -> None:
        raise OSError("no")

    monkeypatch.setattr(LocalFileSystem, "mv", fail)
    with pytest.raises(OSError, match="no"):
        write_json(str(path), {"number": 2})
    assert json.loads(path.read_text()) == {"number": 1}
    assert os.listdir(tmp_path) == ["head.json"]
