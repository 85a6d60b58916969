"""A fast keyed hash for NumPy: the finaliser of SplitMix64, in which every input bit reaches every output bit.

Nothing rests on its secrecy. The bound of k pings holds for any choice among a user's pings; the hash only has to
make that choice look random and come out the same when a task is repeated.
"""

from __future__ import annotations

import numpy as np

from vdr_spark.collect.sorting import Hashes

_ROUND = np.uint64(0x9E3779B97F4A7C15)


def mix(z: Hashes) -> Hashes:
    """Map 64 bits to 64 bits, one to one."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def absorb(state: Hashes, bits: Hashes) -> Hashes:
    """Take further bits into a hash that `mix` will finish."""
    state = (state ^ bits) * _ROUND
    return state ^ (state >> np.uint64(32))
