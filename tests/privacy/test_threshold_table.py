"""The guided look-up finds what a binary search finds, for every word and every table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vdr_spark.privacy.threshold_table import ThresholdTable

LAST_WORD = 2**63 - 1
words = st.integers(0, LAST_WORD)


@given(thresholds=st.lists(words, min_size=1, max_size=60), others=st.lists(words, max_size=60))
def test_it_counts_as_a_search_does(thresholds: list[int], others: list[int]) -> None:
    table = ThresholdTable(np.array(sorted(thresholds), dtype=np.int64))
    near = [word + step for word in thresholds for step in (-1, 0, 1) if 0 <= word + step <= LAST_WORD]
    asked = np.array([0, LAST_WORD - 1, LAST_WORD, *near, *others], dtype=np.int64)
    np.testing.assert_array_equal(table.count_reached(asked), np.searchsorted(table.ascending, asked, side="right"))


@pytest.mark.parametrize("ends", [[], [LAST_WORD], [LAST_WORD, LAST_WORD]])
def test_many_thresholds_in_one_stretch_are_told_apart(ends: list[int]) -> None:
    crowd = np.arange(1000) * 3 + 2**40
    table = ThresholdTable(np.array([0, 0, *crowd, *ends], dtype=np.int64))
    asked = np.concatenate([crowd - 1, crowd, crowd + 1, [LAST_WORD]])
    np.testing.assert_array_equal(table.count_reached(asked), np.searchsorted(table.ascending, asked, side="right"))


@pytest.mark.parametrize("width", [1, 2])
def test_words_close_above_a_threshold_are_found(width: int) -> None:
    table = ThresholdTable(np.array([5, 100, LAST_WORD], dtype=np.int64))
    asked = np.array([0, 4, 5, 6, 7, 99, 100, 101, 102, LAST_WORD - 1, LAST_WORD], dtype=np.int64)
    close = asked[table.find_close(asked, table.count_reached(asked), width)]
    assert close.tolist() == {1: [5, 100, LAST_WORD], 2: [5, 6, 100, 101, LAST_WORD]}[width]
