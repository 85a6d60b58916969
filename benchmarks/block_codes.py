"""What the true blocks of 4 x 4 cells come to when each is told by one of K codes, and nothing else is known of it.

Two codebooks. k-means: plain counts, squared error, which is what the paper's model is trained by. And one made for the
very measure, the mean absolute error at records: it need not say where a block is empty, because nobody asks there.
Both see the truth, and no noise. A decoder that also sees the codes of other blocks may do better, so neither is a
proof; both are local optima.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2, vq

SIDE = 4  # cells along each side of a block: what one code of the model stands for
_MOST_BLOCKS = 30_000  # that codes are fitted to
_ROUNDS = 15
_AT_ONCE = 1 << 18  # distances that are held: as many as a processor's cache has room for

Blocks = NDArray[np.float32]
"""(N, 16)"""


def bound(truth: NDArray[np.float32], sizes: Sequence[int]) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield sizes of codebooks, and the mean absolute error at records of both."""
    blocks = _cut(truth)
    fitted = np.random.default_rng(0).permutation(blocks)[:_MOST_BLOCKS]
    for size in sizes:
        codes = _fit_squares(fitted, size)
        of_measure = _fit_measure(fitted, codes)
        yield (
            size,
            {
                "k-means": _error(blocks, codes[vq(blocks, codes)[0]]),
                "for the measure": _error(blocks, of_measure[_find_cheapest(blocks, of_measure)]),
            },
        )


def _cut(truth: NDArray[np.float32]) -> Blocks:
    """Return the blocks that hold a record. Empty ones take a code of their own and are off by nothing."""
    slices, side, _ = truth.shape
    pad = -side % SIDE
    padded = np.pad(truth, ((0, 0), (0, pad), (0, pad)))
    along = (side + pad) // SIDE
    blocks = padded.reshape(slices, along, SIDE, along, SIDE).swapaxes(2, 3).reshape(-1, SIDE**2)
    return blocks[blocks.any(axis=1)]


def _fit_squares(blocks: Blocks, size: int) -> Blocks:
    codes = kmeans2(blocks, _choose_apart(blocks, size - 1), iter=_ROUNDS, minit="matrix")[0]
    return np.concatenate([np.zeros((1, blocks.shape[1])), codes]).astype(np.float32)


def _choose_apart(blocks: Blocks, number: int) -> Blocks:
    """Return blocks to begin with, each the likelier the further it is from those before (k-means++)."""
    random, chosen = np.random.default_rng(0), np.zeros((number, blocks.shape[1]), np.float32)
    distance = np.square(blocks, dtype=np.float64).sum(axis=1)  # from the empty block, which has a code of its own
    for place in range(number):
        if not distance.any():  # fewer blocks differ than there are codes
            return chosen[:place]
        chosen[place] = blocks[random.choice(len(blocks), p=distance / distance.sum())]
        np.minimum(distance, np.square(blocks - chosen[place]).sum(axis=1), out=distance)
    return chosen


def _fit_measure(blocks: Blocks, codes: Blocks) -> Blocks:
    """Move codes to the medians of the records in the blocks that choose them, again and again."""
    codes = codes.copy()
    for _ in range(_ROUNDS):
        chosen = _find_cheapest(blocks, codes)
        for number in np.unique(chosen):
            codes[number] = _median_at_records(blocks[chosen == number])
    return codes


def _median_at_records(blocks: Blocks) -> NDArray[np.float32]:
    """Return for each place the count that half of the records there have no more than. (N, 16) -> (16,)"""
    counts = np.sort(blocks, axis=0)
    records = counts.cumsum(axis=0)
    middle = (records >= records[-1] / 2).argmax(axis=0)
    median: NDArray[np.float32] = np.take_along_axis(counts, middle[None], axis=0)[0]
    return median


def _find_cheapest(blocks: Blocks, codes: Blocks) -> NDArray[np.int64]:
    """Return for each block the code that is least wrong at its records. (N,)"""
    chosen = np.empty(len(blocks), dtype=np.int64)
    step = max(1, _AT_ONCE // len(codes))
    for first in range(0, len(blocks), step):
        some = blocks[first : first + step]
        off = np.zeros((len(some), len(codes)), np.float32)
        for counts, told in zip(some.T, codes.T, strict=True):  # place by place
            off += np.abs(told - counts[:, None]) * counts[:, None]
        chosen[first : first + step] = off.argmin(axis=1)
    return chosen


def _error(blocks: Blocks, told: Blocks) -> float:
    return float((np.abs(told - blocks, dtype=np.float64) * blocks).sum() / blocks.sum(dtype=np.float64))
