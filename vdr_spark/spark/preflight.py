"""A look at Spark's Python workers, before anything is booked: what they have, and what they lack.

A task that cannot import our code fails after its epsilon was reserved. So workers are asked first, by a function that
travels whole: it is pickled by value, and needs nothing but Python. It is called in Spark's plain way and not through
Arrow, as our tasks are, so that workers without pyarrow can say so too.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from vdr_spark.errors import EnvironmentProblem
from vdr_spark.spark.settings import read_setting
from vdr_spark.spark_errors import SPARK_ERRORS

logger = logging.getLogger(__name__)

PACKAGES = ("numpy", "pyarrow", "vdr_spark")  # what tasks import
# Our code in tasks: what bounds, counts and adds noise.
MODULES = (
    "vdr_spark.arrow_columns",
    "vdr_spark.collect.bounding",
    "vdr_spark.collect.buckets",
    "vdr_spark.collect.counting",
    "vdr_spark.collect.hashing",
    "vdr_spark.collect.locate",
    "vdr_spark.collect.noise",
    "vdr_spark.collect.norms",
    "vdr_spark.collect.packed_counts",
    "vdr_spark.collect.parquet_splits",
    "vdr_spark.collect.sizes",
    "vdr_spark.collect.sorting",
    "vdr_spark.collect.total",
    "vdr_spark.privacy.discrete_gaussian",
    "vdr_spark.privacy.discrete_laplace",
    "vdr_spark.privacy.exact_digits",
    "vdr_spark.privacy.gaussian_steps",
    "vdr_spark.privacy.gaussian_thinning",
    "vdr_spark.privacy.half_gaussian",
    "vdr_spark.privacy.randomness",
    "vdr_spark.privacy.threshold_table",
    "vdr_spark.storage.arrow_files",
    "vdr_spark.storage.slice_bytes",
    "vdr_spark.workers",
)
_MOST_ASKED = 64
_PAUSE_S = 0.2  # that a task takes, so that no executor answers for all
_ADVICE = (
    "Send your Python along (--archives with PYSPARK_PYTHON, docs/platforms/yarn.md), or install the wheel on every "
    "node, and run the same command again. Nothing was reserved."
)
_KNOWN_PROBLEMS = ("PYTHON_VERSION_MISMATCH", "Cannot run program")
_SENT = "spark.submit.pyFiles"  # what --py-files named

Question = Callable[[object], str]


@dataclass(frozen=True)
class Worker:
    """One kind of worker: where it runs, its Python, the versions of what it has, and a digest of our code there."""

    host: str
    python: str
    versions: dict[str, str]
    code: str | None

    @property
    def lacks(self) -> list[str]:
        return [name for name in PACKAGES if name not in self.versions]


def require_workers(spark: SparkSession) -> None:
    """Refuse a session whose Python workers lack a package, or have other code of ours than this process."""
    if _is_this_python(spark):
        return
    here = _parse(build_question(0.0)(None))
    for worker in ask_workers(spark):
        listed = ", ".join(f"{name} {found}" for name, found in worker.versions.items())
        logger.info("Python workers on %s: Python %s, %s", worker.host, worker.python, listed or "none of what we need")
        if worker.lacks:
            raise EnvironmentProblem(
                f"Spark's Python workers on {worker.host} (Python {worker.python}) cannot import "
                f"{', '.join(worker.lacks)}. {_hint_at_wheels(spark, worker)}{_ADVICE}"
            )
        if worker.code != here.code:
            raise EnvironmentProblem(
                f"Spark's Python workers on {worker.host} have another vdr_spark than this process "
                f"({worker.versions['vdr_spark']}, here {here.versions['vdr_spark']}; the code differs): noise must "
                f"be drawn by the code that accounts for it. {_ADVICE}"
            )


def ask_workers(spark: SparkSession) -> list[Worker]:
    """Ask more tasks than there are likely to be executors; one answer for each kind of worker that was met."""
    tasks = _number_to_ask(spark)
    look = F.udf(build_question(_PAUSE_S), "string", useArrow=False)
    asked = spark.range(0, tasks, 1, tasks).select(look("id").alias("answer"))
    try:
        answers = {row.answer for row in asked.collect()}
    except SPARK_ERRORS as problem:
        told = next((words for words in _KNOWN_PROBLEMS if words in str(problem)), type(problem).__name__)
        raise EnvironmentProblem(
            f"Spark's Python workers{_name_host(str(problem))} do not run ({told}): they need Python "
            f"{sys.version_info[0]}.{sys.version_info[1]}, as this process has, with NumPy and pyarrow. {_ADVICE}"
        ) from None
    return [_parse(answer) for answer in sorted(answers)]


def _name_host(failure: str) -> str:
    """Return the host that Spark says a task was lost on, where it says so."""
    found = re.search(r"Lost task \S+ in stage \S+ \(TID \d+\) \((\S+) executor", failure)
    return f" on {found[1]}" if found else ""


def _hint_at_wheels(spark: SparkSession, worker: Worker) -> str:
    """Return a sentence for who sent the wheel as it is: Spark hands it on, and no Python looks into it."""
    sent = [file.rsplit("/", 1)[-1] for file in (read_setting(spark, _SENT) or "").split(",")]
    wheels = [file for file in sent if file.endswith(".whl")]
    if not wheels or "vdr_spark" not in worker.lacks:
        return ""
    return f"Of --py-files Spark takes .zip, .egg and .py only: send {wheels[0]} as a copy that is called .zip. "


def build_question(pause: float) -> Question:
    """Build the function that tells, as JSON, what its worker has."""
    packages, modules = PACKAGES, MODULES

    def look(_: object) -> str:
        # Refers to nothing of this module: workers may not have it.
        import hashlib
        import importlib
        import importlib.metadata
        import importlib.util
        import json
        import platform
        import time

        from pyspark.sql.pandas.utils import require_minimum_pyarrow_version

        time.sleep(pause)
        versions, code = {}, None
        for name in packages:
            try:
                importlib.import_module(name)
                if name == "pyarrow":
                    require_minimum_pyarrow_version()
            except Exception:  # too old for Spark, or broken: as good as missing
                continue
            try:
                versions[name] = importlib.metadata.version(name.replace("_", "-"))
            except importlib.metadata.PackageNotFoundError:
                versions[name] = "of no known version"
        if "vdr_spark" in versions:
            digest = hashlib.sha256()
            for name in modules:
                spec = importlib.util.find_spec(name)
                source = None if spec is None else spec.loader.get_source(name)  # type: ignore[union-attr]
                digest.update((source or "missing").encode())
            code = digest.hexdigest()
        return json.dumps(
            {"host": platform.node(), "python": platform.python_version(), "versions": versions, "code": code}
        )

    return look


def _parse(answer: str) -> Worker:
    return Worker(**json.loads(answer))


def _is_this_python(spark: SparkSession) -> bool:
    """Whether workers are children of this process and run its interpreter: then they have what it has."""
    master = read_setting(spark, "spark.master") or ""
    local = master == "local" or master.startswith("local[")
    return local and os.environ.get("PYSPARK_PYTHON") == sys.executable  # unset: whichever is first on the path


def _number_to_ask(spark: SparkSession) -> int:
    keys = ("spark.executor.instances", "spark.dynamicAllocation.initialExecutors")
    told = [int(text) for key in keys if (text := read_setting(spark, key) or "").isdecimal()]
    return max(1, min(_MOST_ASKED, 4 * max(told, default=2)))
