"""Some of many slices, evenly spread: what is fitted or measured seldom needs all of them."""

from __future__ import annotations

import numpy as np


def spread_slices(slices: int, most: int) -> list[int]:
    """At most `most` numbers of 0 .. slices - 1, the first and the last among them."""
    return [int(t) for t in np.unique(np.linspace(0, slices - 1, min(most, slices)).round())]
