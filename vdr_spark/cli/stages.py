"""The commands that run stages: they are prepared together, run one after the other, and kept on record."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from vdr_spark.cli.console import ConsoleProgress, ask_to_go_on, console, say_skipped
from vdr_spark.cli.options import open_config, open_spark
from vdr_spark.cli.run_record import begin_record
from vdr_spark.plan import Plan, Region, make_plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_stages(
    command: str,
    names: Sequence[str],
    conf: Path,
    overrides: Sequence[str],
    ask: bool = False,
    dry: bool = False,
    spark: SparkSession | None = None,
) -> None:
    """Run stages of a configuration in order; with `dry` only say what they would do. A session may be given."""
    config = open_config(conf, [*overrides])
    plan = make_plan(config)
    if dry:
        from vdr_spark.cli import dry_run

        dry_run.run(plan, names)
        return
    record = begin_record(command, plan)
    spark = spark or open_spark(config, names[0], "vdr_spark.pipeline")
    from vdr_spark.pipeline import Pipeline  # its second was Java's

    record.note_spark(spark)
    pipeline = Pipeline(spark, config, ConsoleProgress(), confirm=ask_to_go_on if ask else lambda: True)
    pipeline.prepare(names)
    for name in names:
        with record.stage(name) as noted:
            done = pipeline.run(name)
            noted["outcome"] = "done" if done else "complete already"
        if not done:
            say_skipped(name)
    if "publish" in names:
        withdrawn = pipeline.withdrawals()
        for region in plan.regions:
            if plan.release_id(region) not in withdrawn:
                _say_published(plan, region, conf, overrides)


def _say_published(plan: Plan, region: Region, conf: Path, overrides: Sequence[str]) -> None:
    """Say where a release is, and by which command one looks at it."""
    of_region = f" of region {region.name}" if region.name else ""
    tables = f"{escape(plan.config.output)}/tables" if plan.output.schema is None else plan.output.tables
    console.print(f"Release [bold]{plan.release_id(region)}[/bold]{of_region} is in {tables}")
    chosen = ["--region", region.name] if region.name else []
    shown = ("spark.conf=..." if text.startswith("spark.conf") else text for text in overrides)  # it may hold keys
    rest = [str(conf), *chosen, *(f"--set={text}" for text in shown)]
    console.print(f"Its report is written by: {shlex.join(['vdr', 'report', *rest])}", markup=False)
    console.print(f"Its maps are drawn by: {shlex.join(['vdr', 'draw', *rest])}", markup=False)
