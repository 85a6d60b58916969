"""The exact counts, for evaluation only: computed in memory, returned to the caller, written nowhere.

For a generated city the truth is nobody's secret. For real pings these figures are not differentially private, so
the commands that need them say so and ask first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from vdr_spark.config import ReleaseConfig
from vdr_spark.pings.readers import read_pings


def true_counts(spark: SparkSession, config: ReleaseConfig) -> NDArray[np.float32]:
    """Exact number of pings of all users in every cell, none left out. (T, M, M)"""
    grid = config.domain
    pings = read_pings(spark, config.input)
    cell = grid.cell_column(F.col("lat"), F.col("lon"), F.col("ts")).alias("cell")
    located = pings.where(F.col("user_id").isNotNull()).select(cell).where(F.col("cell").isNotNull())
    table = located.groupBy("cell").count().toArrow()
    counts = np.zeros(grid.size, dtype=np.float32)
    counts[table.column("cell").to_numpy()] = table.column("count").to_numpy()
    return counts.reshape(grid.shape)
