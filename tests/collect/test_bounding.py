"""No user contributes more than k pings; which ones is uniform, and the same however the work is repeated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from vdr_spark.collect.bounding import SampleKey, keep_lowest

Rows = list[tuple[int, int, int]]  # user, ping, cell


def kept_of(rows: Rows, k: int, key: SampleKey | None = None) -> Rows:
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    user, ping, cell = (np.ascontiguousarray(column) for column in table.T)
    chosen = keep_lowest(user, ping, cell, k, key or SampleKey(1, 2))
    return [(int(u), int(p), int(c)) for u, p, c in table[chosen]]


rows = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 1)), max_size=60)


@given(rows, st.integers(1, 8), st.integers(0, 2**64 - 1))
def test_every_user_keeps_exactly_the_smaller_of_k_and_all(rows: Rows, k: int, secret: int) -> None:
    kept = kept_of(rows, k, SampleKey(secret, secret // 3))
    for user in range(5):
        of_user = [row for row in rows if row[0] == user]
        mine = [row for row in kept if row[0] == user]
        assert len(mine) == min(k, len(of_user))
        assert all(mine.count(row) <= of_user.count(row) for row in mine)  # nothing is kept twice


@given(rows, st.integers(1, 8), st.randoms())
def test_the_order_of_arrival_does_not_matter(rows: Rows, k: int, random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert sorted(kept_of(rows, k)) == sorted(kept_of(shuffled, k))


@given(rows, st.integers(1, 8))
def test_the_choice_depends_on_the_users_own_pings_only(rows: Rows, k: int) -> None:
    alone = [row for row in rows if row[0] == 1]
    assert sorted(kept_of(alone, k)) == sorted(row for row in kept_of(rows, k) if row[0] == 1)


@pytest.mark.parametrize("pings", [range(12), [0, 0, 0, 0, 0, 0, 6, 7, 8, 9, 10, 11]], ids=["distinct", "duplicates"])
def test_every_ping_is_equally_likely(pings: list[int]) -> None:
    """A ping and its exact duplicates are separate pings, each with the same chance."""
    times, k = 6000, 3
    counts = np.zeros(12)
    random = np.random.default_rng(5)
    for _ in range(times):
        key = SampleKey(*random.integers(0, 2**63, 2).tolist())
        for _, ping, _ in kept_of([(9, ping, ping) for ping in pings], k, key):
            counts[ping] += 1
    expected = np.bincount(list(pings), minlength=12) * times * k / 12
    seen = expected > 0
    assert chisquare(counts[seen], expected[seen]).pvalue > 1e-5


def test_keys_are_drawn_anew() -> None:
    assert SampleKey.drawn() != SampleKey.drawn()
    assert SampleKey.seeded(4) == SampleKey.seeded(4)
