"""No user's counts exceed the L2 norm, exactly, and no user is scaled down further than a unit demands."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.collect.test_bounding import Pings, kept_by_user, pack_pings, prune_in_chunks, tally
from vdr_spark.collect import bounding
from vdr_spark.collect.bounding import Norm
from vdr_spark.collect.norms import find_weights, merge_pairs, weigh
from vdr_spark.units import WEIGHT_UNIT

CELL_BITS = 10

pings = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=70)


def slow_weight(counts: list[int], norm: int) -> int:
    """The largest number of units, by bisection in exact rationals: every ping counts that fraction of a ping."""

    def fits(units: int) -> bool:
        return sum((Fraction(units, WEIGHT_UNIT) * count) ** 2 for count in counts) <= Fraction(norm) ** 2

    low, high = 0, WEIGHT_UNIT + 1  # low fits; high does not, or is more than a whole ping
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def square_of(amounts: Counter[int]) -> int:
    return sum(amount**2 for amount in amounts.values())


@given(pings, st.integers(1, 12))
def test_users_are_scaled_as_exact_rationals_scale_them(pings: Pings, norm: int) -> None:
    for user, amounts in kept_by_user(Norm(norm, CELL_BITS), pings).items():
        own = Counter(number for of, number in pings if of == user)
        weight = slow_weight(list(own.values()), norm)
        assert amounts == Counter({number: times * weight for number, times in own.items()})
        assert square_of(amounts) <= (norm * WEIGHT_UNIT) ** 2
        if square_of(own) <= norm**2:
            assert weight == WEIGHT_UNIT  # counts fully


@settings(max_examples=300)
@given(st.lists(st.integers(1, 2**42), min_size=1, max_size=6), st.integers(1, 2**40))
@example([2**26], 1)  # the last user whose squares are summed up in doubles
@example([2**26 + 1], 1)
@example([94906267, 1], 3)  # its square needs 54 bits, and the one that is added gets lost in doubles
@example([3, 4], 5)
@example([2**42], 2**22)  # the norm that is bounded is a whole number of units per ping, to the unit
def test_counts_of_any_size_are_scaled_to_the_unit(counts: list[int], norm: int) -> None:
    """Up to the squares of 2**42, which no machine integer holds."""
    code, amounts = np.zeros(len(counts), np.int32), np.array(counts)
    (weight,) = find_weights(1, code, amounts, norm).tolist()
    assert weight == slow_weight(counts, norm)
    assert sum((int(weight) * count) ** 2 for count in counts) <= (norm * WEIGHT_UNIT) ** 2


@given(st.integers(1, 2**84), st.integers(1, 2**42))
def test_a_weight_is_the_largest_that_fits(square: int, norm: int) -> None:
    weight, limit = weigh(square, norm), (norm * WEIGHT_UNIT) ** 2
    assert weight**2 * square <= limit
    assert weight == WEIGHT_UNIT or (weight + 1) ** 2 * square > limit


def test_a_huge_user_among_light_ones_is_weighed_alone() -> None:
    code, counts = np.array([0, 1, 1, 2], np.int32), np.array([5, 2**41, 2**30 + 1, 3])
    found = find_weights(4, code, counts, 4)
    assert found.tolist() == [slow_weight(of, 4) for of in ([5], [2**41, 2**30 + 1], [3], [])]
    assert found[1] == 0  # more pings in a cell than units: nothing rather than too much


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0, 1, 2**16, 2**32, 2**33 + 1]), st.integers(1, 9))))
def test_pairs_are_merged_whatever_the_number_of_the_cell(entries: list[tuple[int, int, int]]) -> None:
    users, cells, counts = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    merged = list(zip(*(column.tolist() for column in merge_pairs(users.astype(np.int32), cells, counts)), strict=True))
    expected: Counter[tuple[int, int]] = Counter()
    for user, cell, count in entries:
        expected[user, cell] += count
    assert len(merged) == len(expected)
    assert {(user, cell): count for user, cell, count in merged} == expected


@given(pings, st.integers(1, 8), st.randoms())
def test_the_order_of_arrival_does_not_matter(pings: Pings, norm: int, random: object) -> None:
    shuffled = list(pings)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert kept_by_user(Norm(norm, CELL_BITS), pings) == kept_by_user(Norm(norm, CELL_BITS), shuffled)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=80), st.integers(1, 9), st.integers(1, 4), st.integers(0, 99))
def test_pings_of_several_chunks_are_scaled_as_one(copies: list[int], norm: int, chunks: int, seed: int) -> None:
    """The same cell of a user may come merged from one chunk and ping by ping from another."""
    bound = Norm(norm, CELL_BITS)
    everything = [(0, number) for number, times in enumerate(copies) for _ in range(times)]
    everything += [(1, number) for number in range(3)] + [(2, 5)] * 30
    where = np.random.default_rng(seed).integers(0, chunks, len(everything))
    parts = [[ping for ping, place in zip(everything, where, strict=True) if place == chunk] for chunk in range(chunks)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounding, "_PRUNE_ABOVE", 5)
        code, packed = prune_in_chunks(bound, parts)
        assert len(packed) <= len(everything)
        assert tally(bound, 3, code, packed) == tally(bound, 3, *pack_pings(bound, everything))


def test_a_user_with_very_many_pings_takes_the_room_of_the_cells() -> None:
    bound = Norm(10, CELL_BITS)
    code, packed = prune_in_chunks(bound, [[(0, number % 1000) for number in range(24_000)]])
    assert len(packed) == 1000
    amounts = tally(bound, 3, code, packed)
    assert set(amounts.values()) == {24 * slow_weight([24] * 1000, 10)}


def test_pings_that_are_spread_count_for_more_than_by_sums() -> None:
    """400 pings in 400 cells have the norm 20; in one cell, 400."""
    spread = tally(Norm(20, CELL_BITS), 1, *pack_pings(Norm(20, CELL_BITS), [(0, number) for number in range(400)]))
    heaped = tally(Norm(20, CELL_BITS), 1, *pack_pings(Norm(20, CELL_BITS), [(0, 7)] * 400))
    assert spread.total() == 400 * WEIGHT_UNIT
    assert 20 * WEIGHT_UNIT - 400 < heaped.total() <= 20 * WEIGHT_UNIT
