"""`--dry-run`: the page on standard output, what the run would stop at as errors, and the exit code it would have."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import typer

from vdr_spark.cli.console import console
from vdr_spark.cli.options import open_spark
from vdr_spark.dry_run import rehearse
from vdr_spark.plan import Plan

logger = logging.getLogger(__name__)


def run(plan: Plan, stages: Sequence[str]) -> None:
    """Print what stages would do; end with the exit code of the first thing that they would stop at."""
    found = rehearse(plan, stages, lambda: open_spark(plan.config, "dry run"))
    console.print(str(found), markup=False)
    for problem in found.problems:
        logger.error(str(problem), extra={"error": type(problem).__name__})
    if found.problems:
        raise typer.Exit(found.problems[0].exit_code)
