"""From pings to located pings: who, which ping of theirs, and in which cell; all the later steps need.

Pings outside the box or the period, without a user, or with a null or NaN in them are left out.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from vdr_spark.grid import Grid


def locate(pings: DataFrame, grid: Grid) -> DataFrame:
    """`user_id, lat, lon, ts` to `user, ping, cell`. A row in, at most one row out.

    `user` stays the id itself. A hash would be shorter, but two users whose hashes meet would be bounded as one
    person, and the removal of one could change what is kept of the other: a sensitivity of 2k. Spark's fast hashes
    have such pairs under every key. `ping`, 64 bits, only orders a user's own pings, where a collision does no harm.
    """
    user, lat, lon, ts = (F.col(name) for name in ("user_id", "lat", "lon", "ts"))
    located = pings.where(user.isNotNull()).select(
        user.alias("user"),
        F.xxhash64(user, lat, lon, ts).alias("ping"),
        grid.cell_column(lat, lon, ts).alias("cell"),
    )
    return located.where(F.col("cell").isNotNull())
