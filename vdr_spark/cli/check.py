"""`vdr check`: the exact figures of the pings beside the configuration's, printed and kept nowhere."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

from vdr_spark.check import CheckReport, check
from vdr_spark.check.report import NOT_PRIVATE
from vdr_spark.cli.console import ConsoleProgress, console
from vdr_spark.cli.options import open_spark
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import EnvironmentProblem
from vdr_spark.plan import make_plan
from vdr_spark.spark.progress import spark_task
from vdr_spark.spark.remote import is_remote
from vdr_spark.spark.side_channels import warn_about_side_channels


def run(config: ReleaseConfig, as_json: bool) -> bool:
    """Check the pings of a configuration and print what was found; whether nothing looks wrong."""
    spark = open_spark(config, "check")
    _require_a_reader(spark)
    warn_about_side_channels(spark)
    with spark_task(spark, ConsoleProgress(), "check: read pings"):
        report = check(spark, make_plan(config))
    if as_json:
        print(json.dumps(report.as_dict(), indent=2))
    else:
        _print(report)
    return report.fine


def _require_a_reader(spark: SparkSession) -> None:
    """Refuse where nobody sees what is printed but the cluster's logs, which keep it: it is exact."""
    # A remote session's driver is elsewhere, but this process prints, where the person is.
    if not is_remote(spark) and spark.sparkContext.getConf().get("spark.submit.deployMode") == "cluster":
        raise EnvironmentProblem(
            "spark.submit.deployMode must be client for `vdr check`, not cluster: what it prints is exact, and would "
            "be kept in the cluster's logs; use --deploy-mode client, or `Publisher.check` in a notebook"
        )


def _print(report: CheckReport) -> None:
    console.print(NOT_PRIVATE, style="bold red", markup=False)
    console.print()
    for line in report.lines():
        console.print(line, style="yellow" if line.startswith("  !") else None, markup=False)
