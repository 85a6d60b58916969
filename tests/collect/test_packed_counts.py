"""Counts survive the way through the shuffle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vdr_spark.arrays import Integers
from vdr_spark.collect import packed_counts
from vdr_spark.collect.packed_counts import LayerCounts, add_up, pack_counts, sum_packed

CELLS, PER_LAYER = 45, 9
Part = list[tuple[int, int]]  # cell, amount

parts = st.lists(st.lists(st.tuples(st.integers(0, CELLS - 1), st.integers(1, 2**40))), max_size=4)


def as_arrays(part: Part) -> tuple[Integers, Integers]:
    cells, amounts = np.array(part, dtype=np.int64).reshape(-1, 2).T
    return cells, amounts


def by_hand(tasks: list[Part]) -> dict[int, int]:
    return {c: sum(a for task in tasks for cell, a in task if cell == c) for task in tasks for c, _ in task}


def as_dict(layers: list[LayerCounts]) -> dict[int, int]:
    """Sums by cell, of layers that stand in order and whose cells do."""
    assert [layer for layer, _, _ in layers] == sorted({layer for layer, _, _ in layers})
    for _, cells, counts in layers:
        assert (np.diff(cells) > 0).all()
        assert counts.dtype == np.int64
    return {
        layer * PER_LAYER + cell: count
        for layer, cells, counts in layers
        for cell, count in zip(cells.tolist(), counts.tolist(), strict=True)
    }


@pytest.mark.parametrize("cells_per_number", [0, 10**9])  # never in an array; always
@given(tasks=parts)
def test_adding_in_an_array_and_by_sorting_agree(cells_per_number: int, tasks: list[Part]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_counts, "_MAX_CELLS_PER_NUMBER", cells_per_number)
        assert as_dict(add_up([as_arrays(task) for task in tasks], PER_LAYER)) == by_hand(tasks)
        ones = add_up([(as_arrays(task)[0], None) for task in tasks], PER_LAYER)
        assert as_dict(ones) == by_hand([[(cell, 1) for cell, _ in task] for task in tasks])


def test_sums_that_doubles_do_not_hold_are_exact() -> None:
    large = np.array([2**53, 1, 2**60, 3])
    (layer,) = add_up([(np.array([4, 4, 5, 5]), large)], PER_LAYER)
    assert layer[2].tolist() == [2**53 + 1, 2**60 + 3]


def test_amounts_beside_ones() -> None:
    (layer,) = add_up([(np.array([4, 4]), None), (np.array([4]), np.array([5]))], PER_LAYER)
    assert (layer[0], layer[1].tolist(), layer[2].tolist()) == (0, [4], [7])


@given(parts)
def test_what_is_packed_and_summed_is_the_count(tasks: list[Part]) -> None:
    """Each task packs its own counts; the sum over tasks is the count of all."""
    batches = [batch for task in tasks for batch in pack_counts(add_up([as_arrays(task)], PER_LAYER))]
    totals = sum_packed(batches, PER_LAYER)
    expected = np.zeros(CELLS, dtype=np.int64)
    for cell, count in by_hand(tasks).items():
        expected[cell] = count
    assert set(totals) == {cell // PER_LAYER for cell in by_hand(tasks)}
    for layer, total in totals.items():
        assert (total == expected[layer * PER_LAYER : (layer + 1) * PER_LAYER]).all()


def test_a_task_packs_one_row_per_layer() -> None:
    cells = np.array([0, 8, 9, 44], dtype=np.int64)
    layers = [batch.column("layer").to_pylist() for batch in pack_counts(add_up([(cells, None)], PER_LAYER))]
    assert layers == [[0], [1], [4]]
