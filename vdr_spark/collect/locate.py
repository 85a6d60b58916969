"""From pings to located pings: four integers that are all the later steps need.

`user_a, user_b` stand for the user, `ping` for what identifies the ping among the user's own, `cell` for where and
when. Pings outside the box or the period, without a user, or with a null or NaN in them are left out.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from vdr_spark.grid import Grid


@dataclass(frozen=True)
class UserKeys:
    """Two numbers drawn for each run, under which user ids are hashed to 2 x 64 bits.

    Two users who share both hashes would be bounded as one person, and then the removal of one could change what is
    kept of the other. With 27 million users that happens by chance once in 10**23 runs, and because the keys are
    drawn after the ids exist, nobody can choose ids that do it on purpose.
    """

    a: int
    b: int

    @classmethod
    def drawn(cls) -> UserKeys:
        return cls(secrets.randbits(63), secrets.randbits(63))

    @classmethod
    def seeded(cls, seed: int) -> UserKeys:
        return cls(2 * seed, 2 * seed + 1)


def locate(pings: DataFrame, grid: Grid, keys: UserKeys) -> DataFrame:
    """`user_id, lat, lon, ts` to `user_a, user_b, ping, cell` (all bigint). A row in, at most one row out."""
    user, lat, lon, ts = (F.col(name) for name in ("user_id", "lat", "lon", "ts"))
    located = pings.select(
        _hash(keys.a, user).alias("user_a"),
        _hash(keys.b, user).alias("user_b"),
        F.xxhash64(lat, lon, ts).alias("ping"),
        grid.cell_column(lat, lon, ts).alias("cell"),
        user.isNotNull().alias("_known"),
    )
    return located.where(F.col("_known") & F.col("cell").isNotNull()).drop("_known")


def _hash(key: int, user: Column) -> Column:
    return F.xxhash64(F.lit(key), user)
