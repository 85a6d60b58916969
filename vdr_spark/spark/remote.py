"""Remote sessions (Spark Connect): the plan is made here, everything else happens on a server.

There is no Java process to ask, no Spark context, and this process may lie on another machine than Spark's driver.
"""

from __future__ import annotations

import os
import posixpath
import secrets

from pyspark.sql import SparkSession

from vdr_spark.errors import EnvironmentProblem, InvalidConfig
from vdr_spark.spark_errors import SPARK_ERRORS
from vdr_spark.storage.files import filesystem, write_text
from vdr_spark.storage.paths import is_local


def is_remote(session: SparkSession) -> bool:
    """Whether a session is one of Spark Connect."""
    return any(kind.__module__.startswith("pyspark.sql.connect") for kind in type(session).__mro__)


def names_a_server() -> bool:
    """Whether the environment names a server of Spark Connect for sessions that do not exist yet."""
    return "SPARK_REMOTE" in os.environ


def require_same_disk(spark: SparkSession, *folders: str) -> None:
    """Refuse folders on this machine's disk that the server does not see as the same ones.

    Locks, the ledger's head and work files are ours and lie here; tables are the server's. Were they on two machines,
    no lock would keep out a second client. So the server is asked to read a word that was written here just now.
    """
    for folder in folders:
        if is_local(folder) and not _reads_our_word(spark, folder):
            raise InvalidConfig(
                f"output, ledger: {folder} is a folder of this machine, and the Spark Connect server does not read "
                "what is written there: it must be one that both see at the same path, a mounted disk or a volume"
            )


def _reads_our_word(spark: SparkSession, folder: str) -> bool:
    word = secrets.token_hex(16)
    path = posixpath.join(folder, f"vdr-{word}.txt")  # no dot before it: Spark would pass over it
    fs, inside = filesystem(path)
    try:
        write_text(path, word)
    except OSError as problem:
        raise EnvironmentProblem(f"{folder} cannot be written to: {problem.strerror}") from None
    try:
        return [row.value for row in spark.read.option("__globPaths__", "false").text(path).collect()] == [word]
    except SPARK_ERRORS:
        return False
    finally:
        fs.rm_file(inside)
