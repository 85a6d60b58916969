"""A full disk is told as one, whoever came upon it, with what is free where."""

import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.disks import fill, tiny_disk
from vdr_spark.errors import DiskFull, InvalidConfig
from vdr_spark.storage.delta_creation import create_by_delta_rs
from vdr_spark.storage.files import write_text
from vdr_spark.storage.free_space import (
    describe_rooms,
    explain_full_disk,
    find_existing,
    find_room,
    format_bytes,
    is_disk_full,
)
from vdr_spark.storage.schemas import WITHDRAWALS
from vdr_spark.storage.tensor_file import Tensor, write_tensor

ROOT_ONLY = [("output", "/")]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with tiny_disk(tmp_path / "disk", 1) as folder:
        yield folder


def write_parquet(disk: Path) -> None:
    pq.write_table(pa.table({"a": np.random.default_rng(0).random(1 << 18)}), disk / "a.parquet")


def write_small(disk: Path) -> None:
    write_text(f"{disk}/a.txt", "x" * (2 << 20))


def write_by_delta_rs(disk: Path) -> None:
    fill(disk, leave=0)
    create_by_delta_rs(f"{disk}/tables/withdrawals", WITHDRAWALS)


def write_a_tensor(disk: Path) -> None:
    counts = np.random.default_rng(0).random((4, 512, 512), dtype=np.float32)
    write_tensor(f"{disk}/work/a.parquet", Tensor(counts, counts))


@pytest.mark.parametrize("write", [write_parquet, write_small, write_by_delta_rs, write_a_tensor])
def test_a_disk_that_fills_up_is_a_mistake_to_mend(disk: Path, write: Callable[[Path], None]) -> None:
    with pytest.raises(DiskFull) as told, explain_full_disk(lambda: [("output", str(disk)), ("elsewhere", "/")]):
        write(disk)
    assert "run the same command again; what is complete is kept" in str(told.value)
    assert f"Free now: output ({disk})" in str(told.value)
    assert " of 1.05 MB, elsewhere (/)" in str(told.value)


def test_dev_full() -> None:
    """Where nobody may mount anything."""
    with pytest.raises(DiskFull), explain_full_disk(lambda: ()):
        Path("/dev/full").write_text("x")


@pytest.mark.parametrize(
    "problem",
    [
        OSError(errno.ENOSPC, "said by Python"),
        OSError(errno.EDQUOT, "a quota"),
        RuntimeError("java.io.IOException: No space left on device\n\tat java.base/..."),
        RuntimeError("Generic LocalFileSystem error: ... (os error 28)"),
        RuntimeError("TaskProblem: OSError (ENOSPC) in noise.py:3 add"),
    ],
)
def test_by_whoever_says_it(problem: Exception) -> None:
    assert is_disk_full(problem)
    later = ValueError("something else")
    later.__cause__ = problem
    assert is_disk_full(later)


@pytest.mark.parametrize("problem", [OSError(errno.EACCES, "no"), RuntimeError("ENOSPC is a word"), KeyError("28")])
def test_other_problems_are_others(problem: Exception) -> None:
    assert not is_disk_full(problem)
    with pytest.raises(type(problem)), explain_full_disk(lambda: ()):
        raise problem


def test_what_has_a_sentence_keeps_it() -> None:
    with pytest.raises(InvalidConfig, match=r"^a sentence$"), explain_full_disk(lambda: ()):
        raise InvalidConfig("a sentence")
    with (
        pytest.raises(DiskFull, match=r"^it is reserved\. Free now: output \(/\)"),
        explain_full_disk(lambda: ROOT_ONLY),
    ):
        raise DiskFull("it is reserved")


def test_a_disk_is_found_before_its_folders_are(tmp_path: Path) -> None:
    assert find_existing(f"{tmp_path}/not/yet") == str(tmp_path)
    room, here = find_room(f"{tmp_path}/not/yet"), find_room(str(tmp_path))
    assert room is not None
    assert here is not None
    assert room.device == here.device
    assert 0 < room.free <= room.total
    assert find_room("s3a://bucket/x") is None
    assert describe_rooms([("output", "s3a://bucket/x")]) == ""


def test_sizes_for_people() -> None:
    assert [format_bytes(n) for n in (0, 999, 1500, 2.5e6, 3e9, 4e15)] == [
        "0 B",
        "999 B",
        "1.5 kB",
        "2.5 MB",
        "3 GB",
        "4e+03 TB",
    ]
