"""Arguments that the commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vdr_spark.cli.console import caution, console, leave_on_interrupt
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
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of sentences.")]


def open_config(conf: Path, overrides: list[str] | None, warn: bool = False) -> ReleaseConfig:
    """Read the configuration and, before work that matters, say what to be careful with."""
    config = load_config(conf, overrides or ())
    if warn:
        for text in config.cautions():
            caution(text)
    return config


def open_spark(config: ReleaseConfig, app_name: str) -> SparkSession:
    """Return the session, with a sign of life while a JVM starts."""
    from vdr_spark.session import sideways_cautions, spark_session  # here, so that `vdr query` is not kept waiting

    with console.status("starting Spark ..."):
        spark = spark_session(config.spark, f"vdr {app_name} {config.name}")
    leave_on_interrupt()
    for text in sideways_cautions(spark):
        caution(text)
    return spark
