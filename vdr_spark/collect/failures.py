"""A job that failed, in words that quote nobody.

Spark repeats in its message whatever went wrong in a task, and that may be a row: `The value 'anna' cannot be cast`.
So of an unexpected failure only names are told: Spark's conditions, the kinds of exceptions, where our code stood.
"""

from __future__ import annotations

import re

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from vdr_spark.errors import JobFailed
from vdr_spark.workers import whereabouts

_KIND = re.compile(r"\b(?:java|scala|org\.apache|io\.delta|py4j|pyspark)\.[\w.]+(?:Exception|Error)\b")
_CONDITION = re.compile(r"(?:^|(?:Exception|Error): )\[([A-Z][A-Z0-9_.]+)\]", re.MULTILINE)
_OURS = re.compile(r"TaskProblem: (\w+ in [\w.<>: ,]+)")
_OF_THE_MACHINE = ("No space left on device", "Permission denied", "Too many open files", "Java heap space")


def without_data(problem: Exception) -> JobFailed:
    """The failure of a job over pings, as far as it can be told."""
    text = str(problem)
    condition = problem.getCondition() if isinstance(problem, PySparkException) else None
    told = [condition, *_CONDITION.findall(text), *_KIND.findall(text), *_OURS.findall(text)]
    told += [words for words in _OF_THE_MACHINE if words in text]
    if not isinstance(problem, PySparkException | Py4JJavaError):
        told.append(f"{type(problem).__name__} {whereabouts(problem)}")
    names = ", ".join(dict.fromkeys(name for name in told if name)) or type(problem).__name__
    return JobFailed(
        f"Spark could not finish the job ({names}). Its full account may quote people's data and is not repeated; "
        "a cluster's log of Spark has it, a local session keeps none."
    )
