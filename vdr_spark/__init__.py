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

    from vdr_spark import load_config, release, spark_session
    config = load_config("conf/demo.yaml")
    published = release(spark_session(config.spark), config)
"""

from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.errors import VdrError
from vdr_spark.grid import Box, Grid
from vdr_spark.pipeline import release, run_stage
from vdr_spark.query import forecast, nearest_hotspot, range_count
from vdr_spark.release import Release, read_release, register_views
from vdr_spark.session import spark_session

__all__ = [
    "Box",
    "Grid",
    "Release",
    "ReleaseConfig",
    "VdrError",
    "forecast",
    "load_config",
    "nearest_hotspot",
    "range_count",
    "read_release",
    "register_views",
    "release",
    "run_stage",
    "spark_session",
]
