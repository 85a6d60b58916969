"""A histogram of pings per user: one user in one bin, paid for on a line of its own, drawn once, used for advice."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tests.conftest import write_pings
from tests.plans import collect, grid_of, ledger_of, run_release
from vdr_spark import Publisher
from vdr_spark.advise import Earlier
from vdr_spark.collect.draws import open_draws
from vdr_spark.collect.sizes import BINS, OnePerUser, bins_of
from vdr_spark.collect.stage import draw_sizes
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import BudgetExceeded, InvalidConfig, LedgerConflict
from vdr_spark.plan import make_plan
from vdr_spark.privacy.entries import State
from vdr_spark.privacy.mechanism import Mechanism

Small = Callable[..., ReleaseConfig]
# So large an epsilon that the noise is zero, and bins are what was counted.
NO_NOISE = ("privacy.epsilon=1e6", "privacy.accept_weak_promise=true", "privacy.budget=1e9")
PAID = "privacy.size_histogram={share: 1/50}"


def test_bins_are_powers_of_two() -> None:
    assert bins_of(np.array([1, 2, 3, 4, 7, 8, 2**20 - 1, 2**20, 2**40])).tolist() == [0, 1, 1, 2, 2, 3, 19, 20, 23]


def test_a_user_adds_one_to_one_bin_however_many_pings_there_are() -> None:
    """Added or removed, whoever it is: the histogram changes by one in L1 and in L2."""
    bounding = OnePerUser(cells_per_layer=256)
    # Two users in one chunk, the first of them in another one too: 7 + 6 pings, and 3.
    _, packed = bounding.prune(np.array([7, 3]), np.ones(10, np.uint64))
    _, more = bounding.prune(np.array([6]), np.ones(6, np.uint64))
    both = np.concatenate([packed, more])
    cells, counted = bounding.count_cells(2, np.array([0, 1, 0]), both)
    assert cells.tolist() == [256 * number for number in range(BINS)]  # a layer for each bin
    assert counted is not None
    assert counted.tolist() == [0, 1, 0, 1] + [0] * (BINS - 4)
    _, without = bounding.count_cells(1, np.array([0, 0]), both[[0, 2]])
    assert without is not None
    assert np.abs(counted - without).sum() == 1


def test_a_histogram_is_paid_for_once_and_advises(spark: SparkSession, small_config: Small) -> None:
    config = small_config(*NO_NOISE, PAID)
    heavy = [("heavy", cell) for cell in range(400)]
    light = [(f"user{number}", 7 * (number // 3)) for number in range(90) for _ in range(3)]
    write_pings(config.input.path, grid_of(config), [*heavy, *light])
    publisher = Publisher(config, spark)
    assert publisher.advise().source == "declared"  # nothing is read, nothing booked
    assert ledger_of(spark, config).entries() == []

    advice = publisher.advise(pay=True)
    assert advice.source == "histogram"
    assert open_draws(spark, make_plan(config)).find_sizes() == [0, 90, *[0] * 6, 1, *[0] * (BINS - 9)]
    booked = [(e.purpose, e.state) for e in ledger_of(spark, config).entries() if e.purpose]
    assert booked == [("sizes", State.RESERVED), ("sizes", State.SPENT)]

    # Again, with another k, and by the release itself: the same draw, never a second one.
    assert publisher.advise(pay=True).as_dict() == advice.as_dict()
    chosen = small_config(*NO_NOISE, PAID, "privacy.k=3")
    assert Publisher(chosen, spark).advise().source == "histogram"
    run_release(spark, chosen)
    spent = {e.purpose: e.epsilon for e in ledger_of(spark, config).entries() if e.state is State.SPENT}
    assert spent == {"sizes": 20_000, "cells": 980_000}
    assert len(ledger_of(spark, config).entries()) == 1 + 4
    assert Publisher(chosen, spark).audit().holds

    # What was released tells another release what its bound kept: 3 of 400, and 3 of 3.
    earlier = Publisher(chosen, spark).advise(earlier=Earlier(chosen.output))
    told = {table.source: table for table in earlier.tables}
    assert set(told) == {"histogram", "earlier", "declared"}
    assert "kept 0." in told["earlier"].sentence


def test_it_is_booked_before_a_ping_is_read_and_drawn_once_whatever_is_killed(
    spark: SparkSession, small_config: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config(PAID)
    write_pings(config.input.path, grid_of(config), [("one", 0)] * 40)

    asked: list[tuple[int, int, float]] = []

    def killed(_packed: object, slices: int, cells: int, mechanism: Mechanism, *_: object) -> None:
        asked.append((slices, cells, mechanism.variance))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("vdr_spark.collect.stage.add_noise", killed)
        with pytest.raises(KeyboardInterrupt):
            draw_sizes(spark, open_draws(spark, make_plan(config)))
    assert asked == [(BINS, 1, pytest.approx(2 * (50 / 6) ** 2, rel=0.01))]  # scale 1 / (6 / 50), in every bin
    assert ledger_of(spark, config).account(config.dataset).reserved == Fraction(6, 50)
    draws = open_draws(spark, make_plan(config))
    assert draw_sizes(spark, draws) is True
    first = draws.find_sizes()
    assert draw_sizes(spark, open_draws(spark, make_plan(config))) is False
    assert open_draws(spark, make_plan(config)).find_sizes() == first
    assert [e.state for e in ledger_of(spark, config).entries() if e.purpose == "sizes"] == ["reserved", "spent"]


def test_what_was_paid_for_and_is_gone_is_not_drawn_again(spark: SparkSession, small_config: Small) -> None:
    config = small_config(PAID)
    write_pings(config.input.path, grid_of(config), [("one", 0)])
    plan, ledger = make_plan(config), ledger_of(spark, config)
    ledger.reserve(plan.budget_request)
    assert plan.sizes_draw is not None
    ledger.mark_spent(plan.budget_request, plan.sizes_draw, "")
    for again in (lambda: draw_sizes(spark, open_draws(spark, plan)), lambda: collect(spark, config)):
        with pytest.raises(LedgerConflict, match=r"pings per user .* was estimated and paid for"):
            again()


def test_a_budget_that_does_not_allow_it(spark: SparkSession, small_config: Small) -> None:
    spender = small_config()
    write_pings(spender.input.path, grid_of(spender), [("one", 0)])
    assert collect(spark, spender) is True  # all of the budget
    with pytest.raises(BudgetExceeded):
        draw_sizes(spark, open_draws(spark, make_plan(small_config(PAID))))


def test_nothing_to_pay_for_is_a_sentence(spark: SparkSession, small_config: Small) -> None:
    with pytest.raises(InvalidConfig, match=r"privacy\.size_histogram: is missing"):
        Publisher(small_config(), spark).advise(pay=True)
