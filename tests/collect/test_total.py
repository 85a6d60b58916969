"""N, where it is not public: clipped, noisy, paid for on a line of its own, drawn once."""

import json
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tests.conftest import write_pings
from tests.plans import (
    collect,
    draw_id_of,
    grid_of,
    ledger_of,
    release_plan_of,
    request_of,
    run_release,
    scale_of,
    stored_noise,
)
from vdr_spark.collect.total import Clip
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import LedgerConflict, StageMissing
from vdr_spark.plan import make_plan
from vdr_spark.privacy.entries import State
from vdr_spark.privacy.mechanism import Mechanism

Small = Callable[..., ReleaseConfig]
# So large an epsilon that the noise is zero, and N what was counted.
NO_NOISE = ("privacy.epsilon=1e6", "privacy.accept_weak_promise=true", "privacy.budget=1e9")
ESTIMATED = (*NO_NOISE, "privacy.total_pings=null")


def estimate(most: int, share: str = "1/10") -> str:
    return f"privacy.estimate_total={{max_per_user: {most}, share: {share}}}"


def test_a_user_counts_for_at_most_so_many() -> None:
    clip = Clip(most=10)
    # Two users in one chunk, the first of them in another one too.
    sizes, packed = clip.prune(np.array([7, 3]), np.ones(10, np.uint64))
    more_sizes, more_packed = clip.prune(np.array([6]), np.ones(6, np.uint64))
    assert sizes.tolist() == [1, 1]
    assert more_sizes.tolist() == [1]
    cells, amounts = clip.count_cells(2, np.array([0, 1, 0]), np.concatenate([packed, more_packed]))
    assert cells.tolist() == [0]
    assert amounts is not None
    assert amounts.tolist() == [10 + 3]


def test_a_release_with_an_estimated_total(spark: SparkSession, small_config: Small) -> None:
    config = small_config(*ESTIMATED, estimate(most=50), "privacy.k=null", "privacy.lambda=0.05")
    heavy = [("heavy", cell) for cell in range(400)]  # counts for 50
    light = [(f"user{number}", 7 * number) for number in range(250)]
    write_pings(config.input.path, grid_of(config), [*heavy, *light])
    with pytest.raises(StageMissing, match="not estimated yet"):
        release_plan_of(spark, config)
    run_release(spark, config)
    known = release_plan_of(spark, config)
    assert (known.total_pings, known.k) == (300, 15)
    assert known.draw.draw_id == draw_id_of(config)
    row = spark.read.format("delta").load(f"{config.output}/tables/releases").collect()[0]
    assert (row.total_pings, row.k) == (300, 15)
    statement = json.loads(row.statement)
    assert statement["exact"]["total_pings"] == {"value": 300, "source": "estimated", "max_per_user": 50}
    assert statement["exact"]["epsilon_by_stage"]["total"] == "100000"
    assert "it was estimated" in statement["deployment"]["dp_variant"]["unprotected_quantities"]
    booked = {e.purpose: e.epsilon for e in ledger_of(spark, config).entries() if e.state is State.SPENT}
    assert booked == {"total": 100_000, "cells": 900_000}

    # Another k over the same pings is another draw of cells, and no other estimate.
    other = small_config(*ESTIMATED, estimate(most=50), "privacy.k=3", "name=other")
    collect(spark, other)
    purposes = [e.purpose for e in ledger_of(spark, other).entries() if e.state is State.SPENT]
    assert sorted(purposes) == ["cells", "cells", "total"]


def test_its_noise_is_that_of_the_limit_and_its_share(
    spark: SparkSession, small_config: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config("privacy.total_pings=null", "privacy.epsilon=2", estimate(most=30, share="1/4"))
    write_pings(config.input.path, grid_of(config), [("one", 0)])
    variances: list[float] = []

    def look(_packed: object, _slices: int, _cells: int, mechanism: Mechanism, *_: object) -> None:
        variances.append(mechanism.variance)
        raise KeyboardInterrupt

    monkeypatch.setattr("vdr_spark.collect.stage.add_noise", look)
    with pytest.raises(KeyboardInterrupt):
        collect(spark, config)
    assert variances == [pytest.approx(2 * 60**2, rel=1e-3)]  # scale 30 / (2 / 4)
    assert ledger_of(spark, config).account(config.dataset).reserved == 2  # both lines, before any ping was read
    assert scale_of(config) == 20 / Fraction(3, 2)


def test_it_is_drawn_once_whatever_is_killed(
    spark: SparkSession, small_config: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config("privacy.total_pings=null", estimate(most=30))
    write_pings(config.input.path, grid_of(config), [("one", 0)] * 40)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("vdr_spark.collect.stage._draw_cells", killed)
        with pytest.raises(KeyboardInterrupt):
            collect(spark, config)
    first = release_plan_of(spark, config).total_pings
    collect(spark, config)
    assert release_plan_of(spark, config).total_pings == first
    assert [e.state for e in ledger_of(spark, config).entries() if e.purpose == "total"] == ["reserved", "spent"]


def test_another_estimate_leaves_the_cells_as_they_are(spark: SparkSession, small_config: Small) -> None:
    """With k given the cells do not depend on N: whoever asks for N otherwise pays for that, and for nothing else."""
    settings = ("privacy.total_pings=null", "privacy.budget=100")
    config = small_config(*settings, estimate(most=30))
    write_pings(config.input.path, grid_of(config), [("one", 0)] * 40)
    assert collect(spark, config) is True
    cells = stored_noise(spark, config)
    other = small_config(*settings, estimate(most=60))
    assert draw_id_of(other) == draw_id_of(config)
    assert collect(spark, other) is True
    assert (stored_noise(spark, other) == cells).all()
    spent = [e.purpose for e in ledger_of(spark, config).entries() if e.state is State.SPENT]
    assert spent == ["total", "cells", "total"]
    assert collect(spark, other) is False


def test_an_estimate_that_was_paid_for_and_is_gone_is_not_drawn_again(spark: SparkSession, small_config: Small) -> None:
    config = small_config("privacy.total_pings=null", estimate(most=30))
    write_pings(config.input.path, grid_of(config), [("one", 0)])
    ledger = ledger_of(spark, config)
    ledger.reserve(request_of(config))
    ledger.mark_spent(request_of(config), make_plan(config).draws[0], "")
    with pytest.raises(LedgerConflict, match="was estimated and paid for"):
        collect(spark, config)
