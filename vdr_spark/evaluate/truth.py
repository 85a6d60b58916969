"""The exact counts, for evaluation only: computed in memory, returned to the caller, written nowhere.

For a generated city the truth is nobody's secret. For real pings these figures are not differentially private, so
the commands that need them say so and ask first.
"""

from __future__ import annotations

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from vdr_spark.arrays import Slices
from vdr_spark.config.settings import InputSettings
from vdr_spark.grid import Grid
from vdr_spark.pings.readers import read_pings, reading_settings
from vdr_spark.spark.grid_columns import cell_column
from vdr_spark.spark.query_loggers import mute_query_loggers
from vdr_spark.spark.settings import settings_of_spark
from vdr_spark.spark_versions import to_arrow


def count_truth(spark: SparkSession, pings_input: InputSettings, grid: Grid) -> Slices:
    """Return the exact number of pings of all users in every cell, none left out. (T, M, M)"""
    with mute_query_loggers(), settings_of_spark(spark, reading_settings(pings_input)):
        return _count(read_pings(spark, pings_input), grid)


def _count(pings: DataFrame, grid: Grid) -> Slices:
    cell = cell_column(grid, F.col("lat"), F.col("lon"), F.col("ts")).alias("cell")
    located = pings.where(F.col("user_id").isNotNull()).select(cell).where(F.col("cell").isNotNull())
    table = to_arrow(located.groupBy("cell").count())
    counts = np.zeros(grid.size, dtype=np.float32)
    counts[table.column("cell").to_numpy()] = table.column("count").to_numpy()
    return counts.reshape(grid.shape)
