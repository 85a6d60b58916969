"""A block of pings as NumPy columns: what the generators make and Spark receives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Pings:
    """Columns of equal length (n,)."""

    user: NDArray[np.int64]  # numbered from 0 within the block
    lat: NDArray[np.float64]
    lon: NDArray[np.float64]
    ts_us: NDArray[np.int64]  # microseconds since 1970 (UTC)

    def __len__(self) -> int:
        return len(self.user)

    def by_time(self) -> Pings:
        """The same pings in order of time, so that everyone's are mixed as in a real feed."""
        order = np.argsort(self.ts_us, kind="stable")
        return Pings(self.user[order], self.lat[order], self.lon[order], self.ts_us[order])
