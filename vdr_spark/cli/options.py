"""Arguments that the commands share."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vdr_spark.cli.console import caution, console, leave_on_interrupt
from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.config.file import read_settings, validate
from vdr_spark.config.windowed import name_first_window
from vdr_spark.cost import is_small
from vdr_spark.errors import InvalidQuery
from vdr_spark.plan import make_plan
from vdr_spark.storage.store_access import learn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from vdr_spark.release.release import Release

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
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be done, and refused; nothing is read, reserved or written.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of sentences.")]


RegionName = Annotated[
    str | None, typer.Option("--region", metavar="NAME", help="Which region, where the release has several.")
]


WithdrawnToo = Annotated[
    bool, typer.Option("--withdrawn-too", help="Also a release that was withdrawn, for a steward who must look.")
]


def open_config(conf: Path, overrides: list[str] | None) -> ReleaseConfig:
    return load_config(conf, overrides or ())


def open_any_window(conf: Path, overrides: list[str] | None) -> ReleaseConfig:
    """Return the configuration; of a series that of its first window, where none is named and any will do."""
    settings = read_settings(conf, overrides or ())
    if settings.get("series") is None or settings.get("window") is not None:
        return validate(settings, conf)
    return validate(settings | {"window": name_first_window(settings)}, conf)


def open_spark(config: ReleaseConfig, app_name: str, *meanwhile: str) -> SparkSession:
    """Open the session, with a sign of life while a JVM starts; `meanwhile` modules are loaded that come next."""
    from vdr_spark.spark.meanwhile import load_meanwhile
    from vdr_spark.spark.session import spark_session

    with console.status("starting Spark ..."), load_meanwhile(*meanwhile):
        spark = spark_session(config.spark, f"vdr {app_name} {config.name}", small=is_small(make_plan(config)))
    leave_on_interrupt()
    return spark


def open_release(
    config: ReleaseConfig, region: str | None, release_id: str | None, withdrawn_too: bool = False
) -> Release:
    """Read the release of a configuration, or that of an id: without Spark, unless its tables have names.

    What a reader has to know of it is said: that it protects nobody, or was withdrawn.
    """
    plan = make_plan(config)
    learn(config.spark.conf)
    wanted = release_id or plan.release_id(plan.choose_region(region))
    if plan.output.schema is None:
        from vdr_spark.release.read import read_release

        release = read_release(config.output, wanted, allow_withdrawn=withdrawn_too)
    else:
        spark = open_spark(config, "read")
        from vdr_spark.release.views import read_by_spark

        release = read_by_spark(spark, plan.output, wanted, allow_withdrawn=withdrawn_too)
    if not release.protected:
        caution("this release was made with a test seed; it protects nobody")
    if release.withdrawal is not None:
        caution(f"this release was {release.withdrawal}. It is not to be used any more")
    return release


def read_numbers(name: str, text: str, count: int) -> list[float]:
    """Read so many numbers with commas between them."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != count:
        raise InvalidQuery(f"{name} takes {count} numbers with commas between them, not {text!r}")
    return numbers


def read_moment(name: str, text: str | None) -> datetime | None:
    """Read an ISO time; one without a zone the release takes to be in its own."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidQuery(f"{name} takes a time such as 2020-01-07T09:00, not {text!r}") from None
