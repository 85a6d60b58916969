"""Arguments that the commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vdr_spark.cli.console import console, leave_on_interrupt
from vdr_spark.config import ReleaseConfig, load_config

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Conf = Annotated[Path, typer.Argument(metavar="CONF", help="The configuration, a YAML file; see conf/.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a setting, as in grid.cells_per_side=288. Repeatable."),
]
ReadsTheTruth = Annotated[
    bool, typer.Option("--reads-the-truth", help="These pings are not generated, and I may see their truth.")
]
Yes = Annotated[
    bool, typer.Option("--yes", help="Do not ask before a further draw over the same dataset; what it costs is said.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of sentences.")]


RegionName = Annotated[
    str | None, typer.Option("--region", metavar="NAME", help="Which region, where the release has several.")
]


def open_config(conf: Path, overrides: list[str] | None) -> ReleaseConfig:
    return load_config(conf, overrides or ())


def open_spark(config: ReleaseConfig, app_name: str) -> SparkSession:
    """Open the session, with a sign of life while a JVM starts."""
    from vdr_spark.spark.session import spark_session

    with console.status("starting Spark ..."):
        spark = spark_session(config.spark, f"vdr {app_name} {config.name}")
    leave_on_interrupt()
    return spark
