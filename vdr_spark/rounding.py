"""The digits of released numbers: those that mean something, and sums that are exact in every engine."""

from __future__ import annotations

import numpy as np

from vdr_spark.arrays import Image, Slices

_COUNT_BITS, _DEVIATION_BITS = 10, 7
QUANTUM = 2.0**-16
"""Of what released counts are whole multiples: doubles then add up to 2^37 pings without rounding, in any order."""


def round_counts(counts: Slices) -> Slices:
    """Return counts to 11 significant bits, as multiples of the quantum; sums stay what they were."""
    return np.stack([_round_to_quanta(_round_to_bits(layer, _COUNT_BITS)) for layer in counts])


def round_deviations(deviation: Slices) -> Slices:
    """Return error bars to 8 significant bits."""
    return _round_to_bits(deviation, _DEVIATION_BITS)


def _round_to_quanta(layer: Image) -> Image:
    """Round a slice to multiples of the quantum, and carry what is left from cell to cell: its sum stays what it was.

    Rounded each by itself, millions of cells with a hundred thousandth of a ping would all become nothing. A count
    above 2^-6 has few bits, and is such a multiple already.
    """
    quanta = layer.astype(np.float64) / QUANTUM
    whole = np.floor(quanta)
    carried = np.rint(np.cumsum(quanta - whole))  # remainders, each below 1
    rounded: Image = ((whole + np.diff(carried, prepend=0).reshape(whole.shape)) * QUANTUM).astype(np.float32)
    return rounded


def _round_to_bits(values: Slices, bits: int) -> Slices:
    """Round to so many bits after the leading one."""
    mantissa, exponent = np.frexp(values)  # 0.5 to 1
    scale = np.float32(2 ** (bits + 1))
    rounded: Slices = np.ldexp(np.rint(mantissa * scale) / scale, exponent).astype(np.float32)
    return rounded
