"""A job that failed, in words that quote nobody.

Spark repeats in its message whatever went wrong in a task, and that may be a row: `The value 'anna' cannot be cast`.
So of an unexpected failure only names are passed on: Spark's conditions, the kinds of exceptions, where our code stood.
"""

from __future__ import annotations

import re

from pyspark.errors import PySparkException

from vdr_spark.config.settings import InputSettings
from vdr_spark.errors import DiskFull, EnvironmentProblem, InvalidInput, JobFailed
from vdr_spark.pings.layouts import LAYOUTS
from vdr_spark.spark_errors import SPARK_ERRORS
from vdr_spark.spark_versions import condition_of, is_about_a_file
from vdr_spark.storage.free_space import is_disk_full
from vdr_spark.workers import locate_in_code

_EXCEPTION = re.compile(r"\b(?:java|scala|org\.apache|io\.delta|py4j|pyspark)\.[\w.]+(?:Exception|Error)\b")
_CONDITION = re.compile(r"(?:^|(?:Exception|Error): )\[([A-Z][A-Z0-9_.]+)\]", re.MULTILINE)
_TASK_PROBLEM = re.compile(r"TaskProblem: (\w+(?: \(E\w+\))? in [\w.<>: ,]+)")
_FILE = re.compile(r"(?:file:|\w+://)\S+?\.(?:parquet|csv|txt|gz)\b")
# What our code in a worker imports, and no other name: a row may look like the message of an exception.
_MISSING_MODULE = re.compile(
    r"^ModuleNotFoundError: No module named '(vdr_spark|numpy|pandas|pyarrow|pydantic|yaml|fsspec|delta)\b",
    re.MULTILINE,
)
_MACHINE_PROBLEMS = ("Permission denied", "Too many open files")


def describe_failure(problem: Exception, pings_input: InputSettings, afterwards: str = "") -> Exception:
    """A damaged file, a bare Python, a full disk are the user's to mend, the rest is a defect.

    Of Spark's account, which may quote data, only names are repeated. `afterwards` ends the advice to run it again.
    """
    text = str(problem)
    if (module := _MISSING_MODULE.search(text)) is not None:
        return EnvironmentProblem(
            f"Spark's Python workers cannot import {module[1]}: they run a Python of their own. Send yours along "
            "(--archives with PYSPARK_PYTHON, docs/platforms/yarn.md), or install the wheel on every node, and run "
            f"the same command again{afterwards}."
        )
    if is_disk_full(problem):
        return DiskFull(
            "a disk is full, that of Spark's shuffle files or that of the tables: make room, or name another place, "
            f"and run the same command again{afterwards}"
        )
    if "Java heap space" in text:
        return EnvironmentProblem(
            "Spark's Java process has too little memory for this: give it more (spark.driver_memory here, or "
            f"spark.executor.memory on a cluster) and run the same command again{afterwards}"
        )
    if not is_about_a_file(problem):
        return redact(problem)
    file = _FILE.search(str(problem))
    # Where a file, or a folder such as user_id=anna, is named after its user, the name is nobody's to print.
    tells = LAYOUTS[pings_input.layout].user_in_file_name is not None or (file is not None and "=" in file[0])
    which = f"a file of {pings_input.location}" if file is None or tells else file[0]
    return InvalidInput(
        f"input: {which} cannot be read: it is damaged, or its columns have other types than the other files'. "
        f"Mend or remove it and run the same command again{afterwards}."
    )


def redact(problem: Exception) -> JobFailed:
    """Turn the failure of a job over pings into one that names what is known to hold no data."""
    text = str(problem)
    condition = condition_of(problem) if isinstance(problem, PySparkException) else None
    names = [condition, *_CONDITION.findall(text), *_EXCEPTION.findall(text), *_TASK_PROBLEM.findall(text)]
    names += [phrase for phrase in _MACHINE_PROBLEMS if phrase in text]
    if not isinstance(problem, SPARK_ERRORS):
        names.append(f"{type(problem).__name__} {locate_in_code(problem)}")
    listed = ", ".join(dict.fromkeys(name for name in names if name)) or type(problem).__name__
    return JobFailed(
        f"Spark could not finish the job ({listed}). Its full account may quote people's data and is not repeated; "
        "a cluster's log of Spark has it, a local session keeps none."
    )
