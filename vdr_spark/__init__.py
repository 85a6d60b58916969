"""Differentially private release of location density, at user level, on Spark.

The way of a release, and where each part lives:

    config, grid        what is published, for whom, at which price; nothing is taken from the data
    data                pings in: readers of the field's formats, generated cities
    privacy             exact noise, the budget ledger, the privacy statement
    collect             Spark: at most k pings of each user, counts, noise on every cell, stored once
    denoise             the driver: a prior from the noisy slices (temporal, VQ-VAE), fused with the counts
    refine              from the pings kept to all pings
    release             Delta tables, and `Release`, the same as an object
    query               range count, nearest hot spot, forecast
    evaluate, report    errors against a known truth; pictures
    pipeline            the stages in order, each resumable

A first release in Python:

    from vdr_spark import load_config, run_release, spark_session
    config = load_config("conf/demo.yaml")
    published = run_release(spark_session(config.spark), config)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vdr_spark.config import ReleaseConfig as ReleaseConfig
    from vdr_spark.config import load_config as load_config
    from vdr_spark.errors import VdrError as VdrError
    from vdr_spark.grid import Box as Box
    from vdr_spark.grid import Grid as Grid
    from vdr_spark.pipeline import run_release as run_release
    from vdr_spark.pipeline import run_stage as run_stage
    from vdr_spark.query import forecast as forecast
    from vdr_spark.query import nearest_hotspot as nearest_hotspot
    from vdr_spark.query import range_count as range_count
    from vdr_spark.release.read import read_release as read_release
    from vdr_spark.release.release import Release as Release
    from vdr_spark.release.views import register_views as register_views
    from vdr_spark.session import spark_session as spark_session

# Names are fetched when they are asked for: every Python worker of a Spark job imports this package, and must not
# wait for PyTorch, Petastorm and pandas to count a few cells.
_HOMES = {
    "Box": "grid",
    "Grid": "grid",
    "Release": "release.release",
    "ReleaseConfig": "config",
    "VdrError": "errors",
    "forecast": "query",
    "load_config": "config",
    "nearest_hotspot": "query",
    "range_count": "query",
    "read_release": "release.read",
    "register_views": "release.views",
    "run_release": "pipeline",
    "run_stage": "pipeline",
    "spark_session": "session",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
