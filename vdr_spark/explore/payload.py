"""A slice as the page's texture wants it: half floats, which hold a released count to its last digit.

Released counts have 11 significant bits, deviations 8; a half float has 11. So a slice of 576 x 576 cells is 664 kB and
goes to the graphics card as it comes. Its range is made to fit by a power of two, `exponent`, which costs no digit.

    magic  "VDR1" | side u32 | exponent i32 | reserved u32 | side x side half floats, south to north, west to east
"""

from __future__ import annotations

import math
import struct

import numpy as np

from vdr_spark.arrays import Floats, Slices
from vdr_spark.errors import InvalidQuery
from vdr_spark.pyramid import blocks_along, factors_of
from vdr_spark.release.pyramid_sums import halve
from vdr_spark.release.release import Release

MAGIC = b"VDR1"
MOST_A_SIDE = 2048  # squares of a picture: a finer one shows no more on any screen, and takes 8 MB a slice
LAYERS = ("count", "deviation")
_LARGEST_POWER = 15  # a half float reaches 65,504, just below 2 ** 16


def pack(layer: Floats) -> bytes:
    """Return a picture (S, S) as bytes."""
    largest = float(np.abs(layer).max(initial=0.0))
    exponent = max(0, math.frexp(largest)[1] - _LARGEST_POWER)
    header = MAGIC + struct.pack("<IiI", len(layer), exponent, 0)
    return header + np.ldexp(layer, -exponent).astype("<f2").tobytes()


def unpack(content: bytes) -> Floats:
    """Return the picture that `pack` was given, to a half float's precision. (S, S)"""
    side, exponent, _ = struct.unpack("<IiI", content[4:16])
    half = np.frombuffer(content, "<f2", offset=16).reshape(side, side)
    found: Floats = np.ldexp(half.astype(np.float64), exponent)
    return found


def factors(side: int) -> list[int]:
    """Return the sizes of squares that a grid can be shown in, in cells: single cells unless there are too many."""
    return [factor for factor in (1, *factors_of(side)) if blocks_along(side, factor) <= MOST_A_SIDE]


def picture(release: Release, number: int, layer: str, factor: int) -> Floats:
    """Return counts or deviations of one slice, summed over squares of `factor` cells a side. (S, S)

    The sums are those of the table `pyramid`, and so are their error bars, which are not the cells' own added up.
    """
    allowed = factors(release.grid.cells_per_side)
    if factor not in allowed:
        raise InvalidQuery(f"factor must be one of {', '.join(map(str, allowed))}, not {factor}; choose one of them")
    counts, deviation = release.part((slice(number, number + 1), slice(None), slice(None)))
    if layer == "count":
        return _sum_squares(counts[0], factor)
    if deviation is None:
        raise InvalidQuery(f"layer must be count, not {layer}: {release.model} gives no error bars; ask for the counts")
    if factor == 1:
        cells: Floats = deviation[0].astype(np.float64)
        return cells
    return _errors_of_sums(release, _sum_squares(counts[0], factor), _sum_squares(deviation[0], factor, 2), factor)


def _errors_of_sums(release: Release, counts: Floats, variances: Floats, factor: int) -> Floats:
    if release.sum_errors is not None:
        starts = np.arange(0, release.grid.cells_per_side, factor)
        lengths = np.minimum(factor, release.grid.cells_per_side - starts).astype(np.float64)
        variances = release.sum_errors.variance(lengths[:, None] * lengths, np.ones((1, 1)), counts, variances)
    found: Floats = np.sqrt(variances)
    return found


def _sum_squares(layer: Slices, factor: int, power: int = 1) -> Floats:
    """Return sums over squares of `factor` cells a side, a power of two. (M, M) -> (S, S)"""
    sums: Floats = layer[None].astype(np.float64) ** power
    for _ in range(factor.bit_length() - 1):
        sums = halve(sums)
    found: Floats = sums[0]
    return found
