"""Files as tasks open them: on a disk by their path, in S3 by pyarrow's client, whose keys are never shown."""

import pickle
from pathlib import Path

import pytest

from vdr_spark.storage.arrow_files import ON_DISK, FileAccess, _client

KEYS = (("access_key", "me"), ("endpoint_override", "127.0.0.1:1"), ("scheme", "http"), ("secret_key", "hush"))


def test_a_file_on_a_disk_is_opened_by_its_decoded_path(tmp_path: Path) -> None:
    file = tmp_path / "a b%20c.parquet"
    file.write_bytes(b"12345")
    assert ON_DISK.open(file.as_uri()) == str(file)
    assert ON_DISK.size_of(file.as_uri()) == 5
    with pytest.raises(FileNotFoundError):
        ON_DISK.size_of((tmp_path / "gone").as_uri())


def test_keys_travel_to_tasks_and_are_shown_nowhere() -> None:
    access = FileAccess(KEYS)
    assert pickle.loads(pickle.dumps(access)) == access
    assert "hush" not in f"{access!r} {access}"


def test_a_process_has_one_client_per_kind_of_access() -> None:
    assert _client(KEYS) is _client(KEYS)
    assert _client(KEYS) is not _client((*KEYS[:-1], ("secret_key", "other")))
