"""The Java process of a local session: is there a Java, how much memory may it have, and where does it talk to?"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vdr_spark.errors import EnvironmentProblem
from vdr_spark.spark_versions import OLDEST_JAVA, delta_version


def share_of_memory() -> str:
    """Return a third of this machine, 1 to 16 GiB: Python workers and PyTorch need theirs."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        total = 6 << 30
    return f"{max(1, min(16, total // 3 >> 30))}g"


def require_java() -> str:
    """Return what Java says of its version; refused where there is none that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    advice = f"Install a JDK of version {OLDEST_JAVA} or newer, or point JAVA_HOME at one."
    if java is None or not Path(java).exists():
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "there is no `java` on the PATH"
        raise EnvironmentProblem(f"Spark needs Java {OLDEST_JAVA} or newer, but {where}. {advice}")
    try:
        text = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError as problem:
        raise EnvironmentProblem(f"{java} is no Java that runs ({problem.strerror}). {advice}") from None
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    if found is None or int(found[1]) < OLDEST_JAVA:
        what = f"is version {found[1]}" if found else "does not name its version"
        raise EnvironmentProblem(f"Spark needs Java {OLDEST_JAVA} or newer, but {java} {what}. {advice}")
    return text


@contextmanager
def output_to(log: Path) -> Iterator[None]:
    """Send what the JVM says to a file, while it starts and for as long as it lives.

    Its standard output too: Ivy of Spark 3.5 writes there, where our results belong.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    kept = {stream: os.dup(stream) for stream in (1, 2)}
    with log.open("ab") as file:
        for stream in kept:
            os.dup2(file.fileno(), stream)
    try:
        yield
    finally:
        for stream, copy in kept.items():
            os.dup2(copy, stream)
            os.close(copy)


def explain_no_jvm(log: Path) -> str:
    text = log.read_text(errors="replace") if log.exists() else ""
    if any(words in text for words in ("unresolved dependency", "UNRESOLVED DEPENDENCIES", "FAILED DOWNLOADS")):
        return (
            f"Delta's jars (delta-spark {delta_version()}) could not be fetched from Maven. Without a way "
            f"out, set spark.delta_jars to a list of jar files or to `provided`. Ivy's words are in {log}"
        )
    return f"Spark's Java process did not start; what it said is in {log}"
