"""An object is created once; a store that says so and does not do so is found out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.storage.folders import careless, in_memory, on_disk
from vdr_spark.storage import conditional_put
from vdr_spark.storage.conditional_put import NoConditionalPut, StoreFolder, find_proven_folder, open_folder, prove


@pytest.fixture(autouse=True)
def nothing_proven() -> Iterator[None]:
    conditional_put._proven.clear()
    yield
    conditional_put._proven.clear()


@pytest.fixture(params=["memory", "disk"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> StoreFolder:
    return in_memory() if request.param == "memory" else on_disk(tmp_path / "folder")


def test_of_many_at_once_one_creates_it(folder: StoreFolder) -> None:
    for number in range(20):
        contents = [f"{number} by {rival}".encode() for rival in range(8)]
        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(lambda content, name=f"a/{number}": folder.create_if_absent(name, content), contents))
        assert won.count(True) == 1
        assert folder.read(f"a/{number}") == contents[won.index(True)]


def test_a_yes_that_got_lost_is_found_out(folder: StoreFolder) -> None:
    assert folder.create_if_absent("a", b"mine")
    assert folder.create_if_absent("a", b"mine")  # as a library asks again that heard no answer
    assert not folder.create_if_absent("a", b"another's")


def test_what_is_there(folder: StoreFolder) -> None:
    assert folder.read("none") is None
    assert folder.find("none") == []
    folder.replace("b/2", b"22")
    folder.replace("b/1", b"1")
    assert [(found.name, found.size) for found in folder.find("b")] == [("b/1", 1), ("b/2", 2)]
    folder.remove("b/1")
    assert [found.name for found in folder.find("b")] == ["b/2"]


def test_a_store_is_tried_and_nothing_is_left(folder: StoreFolder) -> None:
    prove(folder)
    assert folder.find() == []


def test_a_store_that_ignores_the_condition_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoConditionalPut, match="it told 8 that they were the first"):
        prove(careless("s3a://bucket/place"))
    monkeypatch.setattr(conditional_put, "open_folder", careless)
    said = find_proven_folder("s3a://bucket/place")
    assert isinstance(said, str)
    assert "does not keep the condition" in said


def test_a_store_is_tried_once_per_process(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    monkeypatch.setattr(conditional_put, "open_folder", in_memory)
    monkeypatch.setattr(conditional_put, "prove", lambda folder: tried.append(folder.location))
    assert isinstance(find_proven_folder("s3a://bucket/a"), StoreFolder)
    assert isinstance(find_proven_folder("s3a://bucket/b"), StoreFolder)
    assert isinstance(find_proven_folder("s3a://other/b"), StoreFolder)
    assert tried == ["s3a://bucket/a", "s3a://other/b"]


def test_places_without_it_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoConditionalPut, match="neither in S3"):
        open_folder("hdfs://name/x")
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(NoConditionalPut, match=r"pip install vdr-spark\[stores\]"):
        open_folder("s3a://bucket/x")


def _refused(name: str) -> Callable[..., None]:
    def refuse(*_: object, **__: object) -> None:
        from obstore.exceptions import PermissionDeniedError

        raise PermissionDeniedError(f"{name} with AKIAKEY refused")

    return refuse


def test_trouble_is_told_without_a_word_of_the_librarys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obstore.put", _refused("put"))
    with pytest.raises(conditional_put.StoreUnreachable, match="PermissionDeniedError") as told:
        in_memory().create_if_absent("a", b"")
    assert "AKIAKEY" not in str(told.value)
