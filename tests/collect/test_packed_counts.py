"""Counts survive the way through the shuffle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vdr_spark.arrays import Integers
from vdr_spark.collect import packed_counts
from vdr_spark.collect.packed_counts import add_up, pack_counts, sum_packed

CELLS, PER_LAYER = 45, 9
Part = list[tuple[int, int]]  # cell, amount

parts = st.lists(st.lists(st.tuples(st.integers(0, CELLS - 1), st.integers(1, 2**40))), max_size=4)


def as_arrays(part: Part) -> tuple[Integers, Integers]:
    cells, amounts = np.array(part, dtype=np.int64).reshape(-1, 2).T
    return cells, amounts


def by_hand(tasks: list[Part]) -> dict[int, int]:
    return {c: sum(a for task in tasks for cell, a in task if cell == c) for task in tasks for c, _ in task}


@given(parts)
def test_adding_in_an_array_and_by_sorting_agree(tasks: list[Part]) -> None:
    for cells_per_number in (0, 10**9):  # never in an array; always
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(packed_counts, "_MAX_CELLS_PER_NUMBER", cells_per_number)
            cells, counts = add_up([as_arrays(task) for task in tasks], CELLS)
        assert (np.diff(cells) > 0).all()
        assert dict(zip(cells.tolist(), counts.tolist(), strict=True)) == by_hand(tasks)
        assert (cells.dtype, counts.dtype) == (np.int64, np.int64)


@given(parts)
def test_no_amount_is_one_each(tasks: list[Part]) -> None:
    ones = [(as_arrays(task)[0], None) for task in tasks]
    for cells_per_number in (0, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(packed_counts, "_MAX_CELLS_PER_NUMBER", cells_per_number)
            cells, counts = add_up(ones, CELLS)
        expected = by_hand([[(cell, 1) for cell, _ in task] for task in tasks])
        assert dict(zip(cells.tolist(), counts.tolist(), strict=True)) == expected


@given(parts)
def test_what_is_packed_and_summed_is_the_count(tasks: list[Part]) -> None:
    """Each task packs its own counts; the sum over tasks is the count of all."""
    batches = [batch for task in tasks for batch in pack_counts(*add_up([as_arrays(task)], CELLS), PER_LAYER)]
    totals = sum_packed(batches, PER_LAYER)
    expected = np.zeros(CELLS, dtype=np.int64)
    for cell, count in by_hand(tasks).items():
        expected[cell] = count
    assert set(totals) == {cell // PER_LAYER for cell in by_hand(tasks)}
    for layer, total in totals.items():
        assert (total == expected[layer * PER_LAYER : (layer + 1) * PER_LAYER]).all()


def test_a_task_packs_one_row_per_layer() -> None:
    cells = np.array([0, 8, 9, 44], dtype=np.int64)
    layers = [batch.column("layer").to_pylist() for batch in pack_counts(cells, np.ones_like(cells), PER_LAYER)]
    assert layers == [[0], [1], [4]]
