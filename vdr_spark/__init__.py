"""Differentially private release of location density, at user level, on Spark.

A first release in Python:

    from vdr_spark import Publisher
    publisher = Publisher.from_yaml("conf/demo.yaml")
    print(publisher.explain())
    release = publisher.release()

The way of a release, and the rooms that it passes:

    config              what a person wrote: frozen, validated settings
    plan                what that comes to: draws and their ids, price, cells, places
    pings, synth        pings in: readers of the field's formats; generated cities
    privacy             exact noise, mechanisms, accounting, the ledger
    collect             Spark: at most k pings of each user, counts, noise on every cell, stored once
    denoise             the driver: priors from the noisy slices, estimation, networks
    refine              from the pings kept to all pings
    release             Delta tables, the privacy statement, and `Release`, the same as an object
    query               range count, nearest hot spot, forecast
    sql                 the same for engines: views and table functions with error bars, as text
    check               do the pings fit the configuration? for the operator, not private
    series              windows that are released one after the other: what is due, whose turn it is
    audit               does what was promised agree with what is there?
    evaluate, report    errors against a known truth; pictures
    report_page         a release as one page to look at, to print, to sign
    pipeline            the stages in order, each resumable; `publisher` is the façade over all of it
    storage, spark      places, files, locks and tables; the session
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vdr_spark.audit import AuditReport as AuditReport
    from vdr_spark.check import CheckReport as CheckReport
    from vdr_spark.config import ReleaseConfig as ReleaseConfig
    from vdr_spark.config import load_config as load_config
    from vdr_spark.errors import VdrError as VdrError
    from vdr_spark.grid import Box as Box
    from vdr_spark.grid import Grid as Grid
    from vdr_spark.publisher import Publisher as Publisher
    from vdr_spark.release.read import read_release as read_release
    from vdr_spark.release.register import list_releases as list_releases
    from vdr_spark.release.register import withdraw_release as withdraw_release
    from vdr_spark.release.release import Release as Release
    from vdr_spark.release.sql_functions import register_duckdb as register_duckdb
    from vdr_spark.release.views import register_series as register_series
    from vdr_spark.release.views import register_views as register_views
    from vdr_spark.spark.session import spark_session as spark_session

    __version__: str

# Names are fetched when they are asked for: every Python worker of a Spark job imports this package, and must not
# wait for PyTorch, Petastorm and pandas to count a few cells.
_HOMES = {
    "AuditReport": "audit",
    "Box": "grid",
    "CheckReport": "check",
    "Grid": "grid",
    "Publisher": "publisher",
    "Release": "release.release",
    "ReleaseConfig": "config",
    "VdrError": "errors",
    "list_releases": "release.register",
    "load_config": "config",
    "read_release": "release.read",
    "register_duckdb": "release.sql_functions",
    "register_series": "release.views",
    "register_views": "release.views",
    "spark_session": "spark.session",
    "withdraw_release": "release.register",
}
__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("vdr-spark")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from vdr_spark.packages import explain_missing_packages

    with explain_missing_packages():
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
