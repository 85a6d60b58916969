"""The stages as tasks of a scheduler that calls a function in a Python of its own, such as Databricks' wheel tasks.

There a task has done its work when the function returns, and has failed when it raises; what an exit code means is the
scheduler's affair, and `SystemExit`, which `vdr` ends with, may count as a failure whatever its code. So these return
after exit code 0 and raise after any other. Arguments are those of the command, without its name:
`collect` with `CONF --set key=value` is `vdr collect CONF --set key=value`.
"""

from __future__ import annotations

import sys
from functools import partial

from vdr_spark.cli.app import app
from vdr_spark.cli.console import run


class TaskFailed(RuntimeError):
    """A command ended with another exit code than 0, its `code`; what it had to say is in the log, above."""

    def __init__(self, command: str, code: int) -> None:
        super().__init__(f"vdr {command} ended with exit code {code}; the lines above say why")
        self.code = code


def run_task(command: str) -> None:
    """Run a command with the arguments of this process; raise `TaskFailed` where its exit code is not 0."""
    code = run(app, [command, *sys.argv[1:]])
    if code != 0:
        raise TaskFailed(command, code)


# Names of the entry points `vdr_spark.tasks` (pyproject.toml).
collect = partial(run_task, "collect")
denoise = partial(run_task, "denoise")
refine = partial(run_task, "refine")
publish = partial(run_task, "publish")
audit = partial(run_task, "audit")
release = partial(run_task, "release")
