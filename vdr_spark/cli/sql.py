"""`vdr sql`: views and table functions over a published release, made by Spark or printed as text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vdr_spark.cli.console import caution, console
from vdr_spark.cli.options import Overrides, RegionName, open_config, open_release, open_spark
from vdr_spark.config.settings import SparkSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from vdr_spark.config import ReleaseConfig
    from vdr_spark.release.release import Release

app = typer.Typer(
    help="Ask a published release in SQL, with error bars: range_count, series, hour_profile, hotspots.",
    no_args_is_help=True,
)

Target = Annotated[
    str, typer.Argument(metavar="CONF|OUTPUT", help="The configuration, a YAML file, or an output folder.")
]
ReleaseId = Annotated[str | None, typer.Option("--release", help="Which release. Default: that of the configuration.")]
Schema = Annotated[
    str | None,
    typer.Option(metavar="CATALOG.SCHEMA", help="Where views and functions are made. Default: where the tables are."),
]
Prefix = Annotated[str, typer.Option(metavar="TEXT", help="Put before all names: one schema for several releases.")]


@app.command("install")
def install_command(
    target: Target,
    schema: Schema = None,
    prefix: Prefix = "",
    region: RegionName = None,
    release_id: ReleaseId = None,
    overrides: Overrides = None,
) -> None:
    """Make views and SQL functions in a schema, by Spark, where everyone who may read it finds them."""
    config, release = _open(target, region, release_id, overrides)
    from vdr_spark.release.sql_install import install_sql

    if schema is None and release.tables is None:  # before Spark is started for it
        from vdr_spark.release.sql_install import refuse_paths

        raise refuse_paths()
    names = install_sql(_spark(config), release, schema, prefix)
    if not names:
        caution("this Spark has no SQL functions, only the views were made; `vdr sql show --template` has the queries")
    for name in names:
        console.print(name, markup=False)


@app.command("show")
def show_command(
    target: Target,
    engine: Annotated[str, typer.Option(metavar="NAME", help="spark, databricks, duckdb or trino.")] = "spark",
    template: Annotated[
        bool, typer.Option("--template", help="Queries with places such as :south to fill in, instead of functions.")
    ] = False,
    schema: Schema = None,
    prefix: Prefix = "",
    region: RegionName = None,
    release_id: ReleaseId = None,
    overrides: Overrides = None,
) -> None:
    """Print the same as plain SQL, for those who run it themselves. Trino has no such functions: it gets templates."""
    from vdr_spark.sql.dialects import choose_dialect

    choose_dialect(engine)
    config, release = _open(target, region, release_id, overrides)
    if release.tables is None:
        from vdr_spark.release.sql_functions import sql_script

        script = sql_script(release, engine, schema, prefix)
    else:
        from vdr_spark.release.sql_install import script_by_spark

        script = script_by_spark(_spark(config), release, engine, schema or release.tables, prefix)
    print(script.text(template))


def _open(
    target: str, region: str | None, release_id: str | None, overrides: list[str] | None
) -> tuple[ReleaseConfig | None, Release]:
    """Return a release by its configuration, which comes along, or by its output folder."""
    if target.endswith((".yaml", ".yml")) or Path(target).is_file():
        config = open_config(Path(target), overrides)
        return config, open_release(config, region, release_id)
    from vdr_spark.release.read import read_release

    return None, read_release(target, release_id, region)


def _spark(config: ReleaseConfig | None) -> SparkSession:
    if config is not None:
        return open_spark(config, "sql")
    from vdr_spark.spark.session import spark_session

    with console.status("starting Spark ..."):
        return spark_session(SparkSettings(), "vdr sql")
