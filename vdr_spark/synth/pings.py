"""A block of pings as NumPy columns: what the generators make and Spark receives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Floats, Integers


@dataclass(frozen=True)
class Pings:
    """Columns of equal length (n,)."""

    user: Integers  # numbered from 0 within the block
    lat: Floats
    lon: Floats
    ts_us: Integers  # microseconds since 1970 (UTC)

    def __len__(self) -> int:
        return len(self.user)

    def by_time(self) -> Pings:
        """The same pings in order of time, so that everyone's are mixed as in a real feed."""
        order = np.argsort(self.ts_us, kind="stable")
        return Pings(self.user[order], self.lat[order], self.lon[order], self.ts_us[order])
