"""`vdr check`: the exact figures of the pings beside the configuration's, printed and kept nowhere."""

from __future__ import annotations

import json

from vdr_spark.check import CheckReport, check
from vdr_spark.check.report import NOT_PRIVATE
from vdr_spark.cli.console import ConsoleProgress, console
from vdr_spark.cli.options import open_spark
from vdr_spark.config import ReleaseConfig
from vdr_spark.plan import make_plan
from vdr_spark.spark.progress import spark_task
from vdr_spark.spark.session import warn_about_side_channels


def run(config: ReleaseConfig, as_json: bool) -> bool:
    """Check the pings of a configuration and print what was found; whether nothing looks wrong."""
    spark = open_spark(config, "check")
    warn_about_side_channels(spark)
    with spark_task(spark, ConsoleProgress(), "check: read pings"):
        report = check(spark, make_plan(config))
    if as_json:
        print(json.dumps(report.as_dict(), indent=2))
    else:
        _print(report)
    return report.fine


def _print(report: CheckReport) -> None:
    console.print(NOT_PRIVATE, style="bold red", markup=False)
    console.print()
    for line in report.lines():
        console.print(line, style="yellow" if line.startswith("  !") else None, markup=False)
