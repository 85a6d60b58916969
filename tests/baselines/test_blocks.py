"""Blocks cover every cell once, and spread sums keep them."""

import numpy as np
import pytest

from vdr_spark.baselines.blocks import cut_evenly, repeat_blocks, spread_blocks, sum_blocks


@pytest.mark.parametrize(("cells", "parts"), [(576, 37), (7, 7), (5, 1), (100, 64)])
def test_parts_differ_by_a_cell_at_most(cells: int, parts: int) -> None:
    widths = np.diff(cut_evenly(cells, parts))
    assert len(widths) == parts
    assert widths.sum() == cells
    assert widths.max() - widths.min() <= 1


def test_finer_cuts_are_nested() -> None:
    assert set(cut_evenly(576, 64)) <= set(cut_evenly(576, 128)) <= set(cut_evenly(576, 256))


def test_sums_are_those_of_the_cells_and_spreading_keeps_them() -> None:
    layer = np.random.default_rng(0).poisson(3.0, (10, 13)).astype(float)
    rows, columns = cut_evenly(10, 3), cut_evenly(13, 4)
    sums = sum_blocks(layer, rows, columns)
    assert sums[1, 2] == layer[rows[1] : rows[2], columns[2] : columns[3]].sum()
    np.testing.assert_allclose(sum_blocks(spread_blocks(sums, rows, columns), rows, columns), sums)
    assert repeat_blocks(sums, rows, columns)[rows[1], columns[2]] == sums[1, 2]
