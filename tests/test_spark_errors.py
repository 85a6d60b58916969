"""Conflicts between two writers, as a classic and as a remote session tell of them."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from vdr_spark.spark_errors import COMMIT_CONFLICTS, is_conflict, pass_over_conflicts


@pytest.mark.parametrize(
    "words",
    [
        "(io.delta.exceptions.ConcurrentAppendException) [DELTA_CONCURRENT_APPEND] Files were added",
        "(io.delta.exceptions.ProtocolChangedException) The protocol version",
        "(org.apache.spark.sql.delta.DeltaConcurrentModificationException) another writer",
        "java.nio.file.FileAlreadyExistsException: s3a://bucket/ledger/_delta_log/00000000000000000007.json",
        "[DELTA_METADATA_CHANGED] The metadata of the Delta table has been changed",
    ],
)
def test_a_remote_conflict_is_known_by_its_words(words: str) -> None:
    assert is_conflict(PySparkException(words))
    with pass_over_conflicts():
        raise PySparkException(words)


def test_nothing_else_is_passed_over() -> None:
    with pytest.raises(PySparkException), pass_over_conflicts():
        raise PySparkException("[DELTA_TABLE_NOT_FOUND] no table")
    with pytest.raises(ValueError, match="conflict"), pass_over_conflicts():
        raise ValueError("[DELTA_CONCURRENT_APPEND] conflict")


def test_delta_names_its_conflicts() -> None:
    names = {conflict.__name__ for conflict in COMMIT_CONFLICTS}
    assert names == {
        "DeltaConcurrentModificationException",
        "ConcurrentWriteException",
        "MetadataChangedException",
        "ProtocolChangedException",
        "ConcurrentAppendException",
        "ConcurrentDeleteReadException",
        "ConcurrentDeleteDeleteException",
        "ConcurrentTransactionException",
    }
