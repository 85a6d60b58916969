"""Sums over blocks against a plain loop."""

import numpy as np
import pytest

from vdr_spark.denoise.estimation.blocks import Level


def plain_sums(level: Level, tensor: np.ndarray) -> np.ndarray:
    slices, side, _ = tensor.shape
    found = np.zeros((-(-slices // level.slices), -(-side // level.side), -(-side // level.side)))
    for t, y, x in np.ndindex(tensor.shape):
        found[t // level.slices, y // level.side, x // level.side] += float(tensor[t, y, x])
    return found


LEVELS = [Level(1, 1), Level(4, 1), Level(1, 3), Level(5, 2), Level(4, 7), Level(10, 1), Level(64, 100)]


@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_sums_are_those_of_a_loop_also_at_ragged_edges(level: Level) -> None:
    tensor = np.random.default_rng(0).normal(size=(7, 10, 10)).astype(np.float32)
    found = level.sums(tensor)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, plain_sums(level, tensor), rtol=1e-6, atol=1e-6)
    assert found.sum() == pytest.approx(float(tensor.sum(dtype=np.float64)), abs=1e-5)


def test_counts_and_masks_are_summed_as_numbers() -> None:
    mask = np.ones((2, 3, 3), bool)
    np.testing.assert_array_equal(Level(2, 1).sums(mask), [[[4, 2], [2, 1]]] * 2)
    np.testing.assert_array_equal(Level(1, 1).sums(mask), mask)


def test_small_counts_beside_large_ones_are_not_lost() -> None:
    """In single precision 2**24 + 1 is 2**24."""
    tensor = np.ones((1, 64, 64), np.float32)
    tensor[0, 0, 0] = 2**24
    assert Level(64, 1).sums(tensor)[0, 0, 0] == 2**24 + 64 * 64 - 1


@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_spread_gives_every_cell_its_block(level: Level) -> None:
    shape = (7, 10, 10)
    blocks = level.sums(np.random.default_rng(1).normal(size=shape))
    for t in range(shape[0]):
        found = level.spread(blocks, shape, t)
        assert found.shape == shape[1:]
        for y, x in np.ndindex(shape[1:]):
            assert found[y, x] == np.float32(blocks[t // level.slices, y // level.side, x // level.side])
