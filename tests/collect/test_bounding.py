"""No user contributes more than k pings; which ones is uniform, and the same however the work is repeated."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2

from vdr_spark.collect import bounding
from vdr_spark.collect.bounding import Bounding, Norm, Sample, SampleKey, Weight, build_bounding
from vdr_spark.collect.buckets import hash_ids
from vdr_spark.collect.locate import Located
from vdr_spark.units import WEIGHT_UNIT

CELL_BITS = 10
KEY = SampleKey.seeded(3)
Pings = list[tuple[int, int]]  # user, number of the ping; equal pairs are exact duplicates


def pack_pings(bound: Bounding, pings: Pings, key: SampleKey = KEY) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """Pack pings: the code and the 64 bits of each. A ping's cell is its number, so counts tell what was kept."""
    users, numbers = np.array(pings, dtype=np.int64).reshape(-1, 2).T
    content = (np.full(len(users), 29.7).view(np.uint64), np.full(len(users), -95.3).view(np.uint64))
    located = Located(pa.array(users), numbers.copy(), (*content, (numbers * 1_000_000).view(np.uint64)))
    return users.astype(np.int32), bound.pack(located, hash_ids(pa.array(users), key.first))


def kept_by_user(bound: Bounding, pings: Pings) -> dict[int, Counter[int]]:
    """Of each user: by how many units each of their pings counts. Users are asked one by one, and all together."""
    code, packed = pack_pings(bound, pings)
    users = int(code.max(initial=-1)) + 1
    alone = {user: tally(bound, 1, np.zeros((code == user).sum(), np.int32), packed[code == user]) for user in {*code}}
    assert sum(alone.values(), Counter()) == tally(bound, users, code, packed)  # others do not matter
    return alone


def tally(bound: Bounding, users: int, code: NDArray[np.int32], packed: NDArray[np.uint64]) -> Counter[int]:
    cells, amounts = bound.count_cells(users, code, packed)
    counts: Counter[int] = Counter()
    for cell, amount in zip(cells.tolist(), [1] * len(cells) if amounts is None else amounts.tolist(), strict=True):
        counts[cell] += amount
    return counts


def lowest_in_plain_python(sample: Sample, packed: NDArray[np.uint64]) -> list[int]:
    """The k packed pings of lowest priority, each copy of a word with a number of its own."""
    numbered = [(word, copy) for word, copies in Counter(packed.tolist()).items() for copy in range(copies)]
    priority = {
        (word, copy): int(sample._priority(np.array([word], np.uint64), np.array([copy]))[0]) for word, copy in numbered
    }
    return sorted(word for word, _ in sorted(numbered, key=lambda ping: priority[ping])[: sample.k])


pings = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=70)
keys = st.builds(SampleKey, st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))


@given(pings, st.integers(1, 8), keys)
def test_every_user_keeps_exactly_the_smaller_of_k_and_all(pings: Pings, k: int, key: SampleKey) -> None:
    for user, kept in kept_by_user(Sample(k, CELL_BITS, key), pings).items():
        own = Counter(number for of, number in pings if of == user)
        assert kept.total() == min(k, own.total())
        assert kept <= own  # nothing is kept twice, nothing is made up


@given(pings, st.integers(1, 8), st.randoms(), st.booleans())
def test_the_order_of_arrival_does_not_matter(pings: Pings, k: int, random: object, weighted: bool) -> None:
    bound: Bounding = Weight(k, CELL_BITS) if weighted else Sample(k, CELL_BITS, KEY)
    shuffled = list(pings)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert kept_by_user(bound, pings) == kept_by_user(bound, shuffled)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=60), st.integers(1, 12), keys)
def test_equals_are_chosen_among_as_a_plain_sort_would(numbers: list[int], k: int, key: SampleKey) -> None:
    sample = Sample(k, CELL_BITS, key)
    code, packed = pack_pings(sample, [(0, number) for number in numbers])
    expected = lowest_in_plain_python(sample, packed)
    assert sorted(sample._keep_lowest_of_equals(packed).tolist()) == expected
    assert tally(sample, 1, code, packed) == Counter(word % 2**CELL_BITS for word in expected)


def test_packed_pings_that_agree_in_their_upper_half_only_are_told_apart() -> None:
    """The sort looks at 32 bits; a difference below them still decides, also between two different cells."""
    sample = Sample(1, CELL_BITS, KEY)
    packed = np.array([(5 << 32) + (2 << CELL_BITS) + 7, (5 << 32) + (1 << CELL_BITS) + 8, 6 << 32], np.uint64)
    assert tally(sample, 1, np.zeros(3, np.int32), packed) == {8: 1}


def test_more_users_than_sixteen_bits_hold_are_bounded_each() -> None:
    users = 70_000
    bound = Sample(1, CELL_BITS, KEY)
    code, packed = pack_pings(bound, [(user, number) for number in range(2) for user in range(users)])
    cells, _ = bound.count_cells(users, code, packed)
    assert len(cells) == users
    assert abs(cells.sum() - users / 2) < 5 * np.sqrt(users) / 2


@pytest.mark.parametrize(
    ("copies", "k"),
    [([1] * 12, 3), ([6, 1, 1, 1, 1, 1, 1], 3), ([5, 4, 3, 2, 1], 4), ([9, 1], 5), ([2, 2, 2], 1)],
    ids=["distinct", "one often", "some often", "most are one", "pairs"],
)
def test_every_ping_is_equally_likely_exact_duplicates_too(copies: list[int], k: int) -> None:
    """A cell with c of a user's n pings keeps k c / n of them on average, over the keys of many runs."""
    runs, share = 3000, np.array(copies) / sum(copies)
    numbers = [(7, number) for number, times in enumerate(copies) for _ in range(times)]
    kept = np.zeros(len(copies))
    for run in range(runs):
        key = SampleKey.seeded(run)
        sample = Sample(k, CELL_BITS, key)
        _, packed = pack_pings(sample, numbers, key)
        cells, _ = sample.count_cells(1, np.zeros(len(packed), np.int32), packed)
        kept += np.bincount(cells, minlength=len(copies))
    # Sampled without replacement, so the counts vary less than a multinomial's by this factor.
    narrower = (sum(copies) - k) / (sum(copies) - 1)
    statistic = (((kept - runs * k * share) ** 2) / (runs * k * share)).sum() / narrower
    assert chi2.sf(statistic, len(copies) - 1) > 1e-4


def test_two_users_with_the_same_pings_keep_different_ones() -> None:
    kept = kept_by_user(Sample(5, CELL_BITS, KEY), [(user, number) for user in range(2) for number in range(100)])
    assert kept[0] != kept[1]


def prune_in_chunks(bound: Bounding, chunks: list[Pings]) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    fewer = [prune_pings(bound, 3, *pack_pings(bound, chunk)) for chunk in chunks]
    return np.concatenate([code for code, _ in fewer]), np.concatenate([packed for _, packed in fewer])


def prune_pings(
    bound: Bounding, users: int, code: NDArray[np.int32], packed: NDArray[np.uint64]
) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """What travels of a chunk."""
    sizes, fewer = bound.prune(np.bincount(code, minlength=users), packed[np.argsort(code, kind="stable")])
    assert sizes.sum() == len(fewer)
    return np.repeat(np.arange(users, dtype=np.int32), sizes), fewer


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=150),
    st.integers(1, 4),
    keys,
    st.integers(1, 4),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_pruned_pings_count_the_same(
    copies: list[int], k: int, key: SampleKey, chunks: int, seed: int, weighted: bool
) -> None:
    """Users of very many pings are thinned chunk by chunk, with any number of copies of a ping in any of them."""
    bound: Bounding = Weight(k, CELL_BITS) if weighted else Sample(k, CELL_BITS, key)
    numbers = [(0, number) for number, times in enumerate(copies) for _ in range(times)]
    everything = [*numbers, *((1, number) for number in range(3)), *((2, number) for number in range(40))]
    random = np.random.default_rng(seed)
    where = random.integers(0, chunks, len(everything))
    parts = [[ping for ping, place in zip(everything, where, strict=True) if place == chunk] for chunk in range(chunks)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounding, "_PRUNE_ABOVE", 5)
        patch.setattr(bounding, "_COPIES", 3)  # further ones come last
        code, packed = prune_in_chunks(bound, parts)
        assert tally(bound, 3, code, packed) == tally(bound, 3, *pack_pings(bound, everything))


@pytest.mark.parametrize("bound", [Sample(10, CELL_BITS, KEY), Weight(10, CELL_BITS)], ids=["sample", "weight"])
def test_of_a_user_with_very_many_pings_few_are_left(bound: Bounding) -> None:
    many = [(0, number % 1000) for number in range(8000)] * 3  # 24 copies of 1000 pings
    distinct = [(0, number) for number in range(1000)]
    light = [(1, number) for number in range(50)]
    code, packed = pack_pings(bound, [*many, *light])
    assert len(packed) > 4 * bounding._PRUNE_ABOVE
    fewer_code, _ = prune_pings(bound, 2, code, packed)
    assert (fewer_code == 1).sum() == len(light)
    assert (fewer_code == 0).sum() <= max(len(distinct), len(many) // 5)


def test_a_sampled_user_of_distinct_pings_shrinks_to_a_small_multiple_of_k() -> None:
    sample = Sample(10, 20, KEY)
    code, packed = pack_pings(sample, [(0, number) for number in range(40_000)])
    assert len(prune_pings(sample, 1, code, packed)[1]) < 2 * bounding._COPIES * 10
    assert tally(sample, 1, *prune_pings(sample, 1, code, packed)) == tally(sample, 1, code, packed)


def test_what_is_kept_does_not_depend_on_the_chunks_even_with_many_copies() -> None:
    sample = Sample(10, CELL_BITS, KEY)
    pings = [(0, number % 500) for number in range(20_000)]
    whole = tally(sample, 3, *prune_in_chunks(sample, [pings]))
    halves = tally(sample, 3, *prune_in_chunks(sample, [pings[:10_000], pings[10_000:]]))
    assert whole == halves


def test_a_user_of_one_ping_in_very_many_copies_keeps_k() -> None:
    sample = Sample(10, CELL_BITS, KEY)
    assert tally(sample, 3, *prune_in_chunks(sample, [[(0, 5)] * 20_000])) == {5: 10}


@given(pings, st.integers(1, 8))
def test_weights_of_a_user_sum_to_k_but_for_rounding(pings: Pings, k: int) -> None:
    for user, amounts in kept_by_user(Weight(k, CELL_BITS), pings).items():
        own = Counter(number for of, number in pings if of == user)
        n = own.total()
        if n <= k:
            assert amounts == Counter({number: times * WEIGHT_UNIT for number, times in own.items()})
        else:
            assert k * WEIGHT_UNIT - n < amounts.total() <= k * WEIGHT_UNIT
            assert len({amounts[number] / times for number, times in own.items()}) == 1  # every ping counts alike


def test_a_user_with_more_pings_than_units_adds_nothing_rather_than_too_much() -> None:
    weight = Weight(1, CELL_BITS)
    stands_for_many = np.array([(WEIGHT_UNIT + 1) << CELL_BITS], np.uint64)
    assert tally(weight, 1, np.zeros(1, np.int32), stands_for_many).total() == 0


def test_weights_under_an_absurd_k_are_whole_pings() -> None:
    weight = Weight(2**45, CELL_BITS)
    cells, amounts = weight.count_cells(1, np.zeros(1, np.int32), np.array([(3 << CELL_BITS) + 5], np.uint64))
    assert amounts is not None
    assert amounts.dtype == np.int64
    assert (cells.tolist(), amounts.tolist()) == ([5], [3 * WEIGHT_UNIT])


@pytest.mark.parametrize(("cells", "bits"), [(1, 1), (2, 1), (1024, 10), (1025, 11)])
def test_cell_numbers_fit_their_bits(cells: int, bits: int) -> None:
    assert build_bounding("sample", 5, cells, KEY) == Sample(5, bits, KEY)
    assert build_bounding("weight", 5, cells, KEY) == Weight(5, bits)
    assert build_bounding("l2", 5, cells, KEY) == Norm(5, bits)


def test_a_bounding_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="must be `sample`, `weight` or `l2`, not 'clip'"):
        build_bounding("clip", 5, 10, KEY)


def test_keys_are_generated_anew() -> None:
    assert SampleKey.generate() != SampleKey.generate()
    assert SampleKey.seeded(4) == SampleKey.seeded(4) != SampleKey.seeded(5)
