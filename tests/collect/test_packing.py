"""Counts survive the way through the shuffle."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vdr_spark.collect.packing import pack_cells, sum_packed


@given(st.lists(st.lists(st.integers(0, 5 * 9 - 1)), max_size=4))
def test_packed_and_summed_is_counted(tasks: list[list[int]]) -> None:
    batches = [batch for task in tasks for batch in pack_cells(np.array(task, dtype=np.int64), 9)]
    totals = sum_packed(batches, 9)
    expected = np.bincount([cell for task in tasks for cell in task], minlength=45).reshape(5, 9)
    for number in range(5):
        assert (totals.get(number, np.zeros(9)) == expected[number]).all()
