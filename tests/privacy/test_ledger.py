"""The ledger: written first, never overspent."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.plans import draw_id_of, request_of
from tests.privacy.ledgers import ledger_at, spend
from tests.privacy.written_ledger import chain, write_ledger
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import BudgetExceeded, LedgerConflict, OtherCurrency
from vdr_spark.plan import make_plan
from vdr_spark.price import Price
from vdr_spark.privacy.entries import Cap, Draw, Entry, Grant, State
from vdr_spark.privacy.ledger import Ledger
from vdr_spark.spark_errors import COMMIT_CONFLICTS
from vdr_spark.storage.tables import append_once

Small = Callable[..., ReleaseConfig]


def test_reserve_then_spend_counts_once(ledger: Ledger, small_config: Small) -> None:
    config = small_config("privacy.epsilon=1/3", "privacy.budget=1")
    assert ledger.reserve(request_of(config)) is State.RESERVED
    assert ledger.account(config.dataset).committed == Fraction(1, 3)
    spend(ledger, config)
    spend(ledger, config)
    assert ledger.reserve(request_of(config)) is State.SPENT
    account = ledger.account(config.dataset)
    assert (account.granted, account.committed, account.remaining) == (1, Fraction(1, 3), Fraction(2, 3))
    assert [entry.state.value for entry in ledger.entries()] == ["granted", "reserved", "spent"]
    assert len(list(Path(ledger.path).glob("*.parquet"))) == 3  # and no file without an entry


def test_overspending_is_refused_with_all_figures_and_goes_on_record(ledger: Ledger, small_config: Small) -> None:
    ledger.reserve(request_of(small_config("privacy.epsilon=4", "privacy.budget=6")))  # never spent: still counts
    greedy = small_config("name=greedy", "privacy.epsilon=2.5", "privacy.budget=100")
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.reserve(request_of(greedy))
    for words in ("requested epsilon 5/2", "granted 6", "spent 4", "remaining 2", "short by 1/2"):
        assert words in str(refusal.value)
    assert ledger.entries()[-1].state is State.REFUSED
    assert ledger.state_of(draw_id_of(greedy)) is None
    ledger.grant(request_of(greedy), Grant(Price.epsilon(Fraction(1, 2))))
    assert ledger.reserve(request_of(greedy)) is State.RESERVED


def test_datasets_have_budgets_of_their_own(reserved: tuple[Ledger, ReleaseConfig], small_config: Small) -> None:
    ledger, _ = reserved
    other = small_config("dataset=other-city")
    assert ledger.reserve(request_of(other)) is State.RESERVED
    assert ledger.account("demo-city").remaining == 0


def test_two_at_once_cannot_both_take_the_last_epsilon(ledger: Ledger, small_config: Small) -> None:
    ledger.reserve(request_of(small_config("name=first", "privacy.epsilon=1", "privacy.budget=3")))
    rivals = [small_config(f"name=rival{number}", "privacy.epsilon=1") for number in range(4)]

    def attempt(config: ReleaseConfig) -> bool:
        try:
            return ledger.reserve(request_of(config)) is State.RESERVED
        except BudgetExceeded:
            return False

    with ThreadPoolExecutor(4) as pool:
        won = list(pool.map(attempt, rivals))
    assert sum(won) == 2
    assert ledger.account("demo-city").remaining == 0


@pytest.mark.parametrize("name", ["ledger", "ledger_of_spark"])
def test_an_entry_that_comes_in_between_is_not_written_over(
    name: str, small_config: Small, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Without any lock, as on an object store: another writer gets in between reading the ledger and writing it."""
    ledger: Ledger = request.getfixturevalue(name)
    monkeypatch.setattr("vdr_spark.privacy.ledger.exclusive", lambda _: nullcontext())
    first, second = small_config("name=first", "privacy.budget=100"), small_config("dataset=other", "name=second")
    ledger.reserve(request_of(first))
    read, came = ledger.entries, []

    def read_and_be_overtaken() -> list[Entry]:
        entries = read()
        if not came:
            came.append(True)
            spend(ledger, first)
        return entries

    monkeypatch.setattr(ledger, "entries", read_and_be_overtaken)
    ledger.reserve(request_of(second))
    states = [(entry.dataset, entry.state.value) for entry in read()]
    opened, spent = ("demo-city", "granted"), ("demo-city", "spent")
    assert states == [opened, ("demo-city", "reserved"), spent, ("other", "granted"), ("other", "reserved")]


@pytest.mark.parametrize("conflict", COMMIT_CONFLICTS, ids=lambda kind: kind.__name__)
def test_the_loser_of_a_commit_decides_anew(
    ledger_of_spark: Ledger, small_config: Small, monkeypatch: pytest.MonkeyPatch, conflict: type[Exception]
) -> None:
    """Delta tells the second of two writers in several ways, which have no common base class."""
    config, lost = small_config(), []

    def lose_once(*arguments: Any, **more: Any) -> None:
        if not lost:
            lost.append(True)
            raise conflict.__new__(conflict)  # versions of Delta want other words
        append_once(*arguments, **more)

    monkeypatch.setattr("vdr_spark.privacy.ledger.append_once", lose_once)
    assert ledger_of_spark.reserve(request_of(config)) is State.RESERVED
    assert lost
    assert [entry.state.value for entry in ledger_of_spark.entries()] == ["granted", "reserved"]


def test_spending_what_was_never_reserved_is_refused(ledger: Ledger, small_config: Small) -> None:
    with pytest.raises(LedgerConflict, match="does not know it"):
        spend(ledger, small_config())


def test_a_cap_limits_how_fast_a_budget_is_spent(ledger: Ledger, small_config: Small) -> None:
    def wanting(name: str) -> ReleaseConfig:
        cap = "privacy.cap={epsilon: 2, per: 1h}"
        return small_config(f"name={name}", "privacy.epsilon=1", "privacy.budget=9", cap)

    assert ledger.reserve(request_of(wanting("first"))) is State.RESERVED
    assert ledger.reserve(request_of(wanting("second"))) is State.RESERVED
    account = ledger.account("demo-city")
    assert (account.granted, account.committed, account.recent, account.remaining) == (9, 2, 2, 0)
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.reserve(request_of(wanting("third")))
    for words in ("requested epsilon 1", "at most 2 within 3600 s, of which 2 is taken", "short by 1"):
        assert words in str(refusal.value)
    # A shorter stretch, by a decision of people: what was taken before it counts no longer.
    time.sleep(1.1)
    ledger.cap(request_of(wanting("any")), Cap(Price.epsilon(2), 1))
    assert ledger.account("demo-city").remaining == 2
    assert ledger.reserve(request_of(wanting("third"))) is State.RESERVED
    assert [e.state.value for e in ledger.entries()].count("capped") == 2


def test_what_was_spent_can_be_recomputed_from_the_history(ledger: Ledger, small_config: Small) -> None:
    estimated = ("privacy.total_pings=null", "privacy.estimate_total={share: 1/4, max_per_user: 9}")
    config = small_config("privacy.epsilon=1/3", "privacy.budget=1", *estimated)
    ledger.reserve(request_of(config))
    spend(ledger, config)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(request_of(small_config("name=greedy", "privacy.epsilon=9", "privacy.budget=9")))
    draws: dict[str, Fraction] = {}
    for entry in ledger.entries():
        if entry.state in ("reserved", "spent"):
            draws[entry.draw_id] = entry.price.amount
    assert sorted(draws.values()) == [Fraction(1, 12), Fraction(1, 4)]
    account = ledger.account(config.dataset)
    assert sum(draws.values()) == account.committed == Fraction(1, 3)
    assert (account.spent, account.reserved) == (Fraction(1, 4), Fraction(1, 12))


def test_the_draws_of_a_release_are_booked_all_or_none(ledger: Ledger, small_config: Small) -> None:
    estimated = ("privacy.total_pings=null", "privacy.estimate_total={share: 1/2, max_per_user: 9}")
    ledger.reserve(request_of(small_config("privacy.epsilon=1", "privacy.budget=2")))
    greedy = small_config("name=greedy", "privacy.epsilon=1.5", *estimated)
    with pytest.raises(BudgetExceeded, match="requested epsilon 3/2"):
        ledger.reserve(request_of(greedy))  # either half of it alone would fit
    assert ledger.account("demo-city").committed == 1
    modest = small_config("name=modest", "privacy.epsilon=1", *estimated)
    assert ledger.reserve(request_of(modest)) is State.RESERVED
    booked = [(e.purpose, e.epsilon) for e in ledger.entries() if e.state is State.RESERVED]
    assert booked == [("cells", 1), ("total", Fraction(1, 2)), ("cells", Fraction(1, 2))]


def test_a_second_drawing_under_one_reservation_is_refused(spent: tuple[Ledger, ReleaseConfig]) -> None:
    """As by two machines with a folder of the same name, or after a folder was lost before it was booked."""
    ledger, config = spent
    with pytest.raises(LedgerConflict, match="two draws for one price"):
        ledger.mark_spent(request_of(config), make_plan(config).cells_draw, "of another tensor")
    spend(ledger, config)


def test_two_draws_that_meet_under_one_id_are_told_apart(
    ledger: Ledger, small_config: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids are short: someone who tries many settings finds two, a cheap and a dear one, of the same id."""
    monkeypatch.setattr("vdr_spark.plan.plan.Draw", lambda _, *rest: Draw("meeting-0123456789", *rest))
    cheap = small_config("privacy.epsilon=1/100", "privacy.budget=100")
    ledger.reserve(request_of(cheap))
    with pytest.raises(LedgerConflict, match=r"another draw under the id meeting-0123456789, at epsilon 1/100"):
        ledger.reserve(request_of(small_config("privacy.epsilon=9", "privacy.budget=100")))
    other_box = small_config("privacy.epsilon=1/100", "grid.cells_per_side=17")
    for attempt in (
        lambda: ledger.reserve(request_of(other_box)),
        lambda: spend(ledger, other_box),
        lambda: ledger.find_spending(make_plan(other_box).cells_draw),
    ):
        with pytest.raises(LedgerConflict, match="another draw under the id"):
            attempt()
    assert ledger.reserve(request_of(cheap)) is State.RESERVED
    assert ledger.account("demo-city").committed == Fraction(1, 100)


IN_RHO = ("privacy.epsilon=null", "privacy.budget=null", "privacy.rho=1/2", "privacy.delta=1e-9")


def test_a_ledger_from_before_there_was_rho_goes_on(spark: SparkSession, tmp_path: Path, small_config: Small) -> None:
    """Its entries keep their chain; budgets of other datasets may be in rho; its own is not for Gaussian noise."""
    old = chain("demo-city", (State.GRANTED, 9, ""), (State.RESERVED, 6, "old-1"))
    write_ledger(str(tmp_path / "ledger"), old)
    ledger = ledger_at(spark, tmp_path / "ledger")
    with pytest.raises(OtherCurrency, match=r"kept in pure epsilon, in which privacy.rho has no price"):
        ledger.reserve(request_of(small_config(*IN_RHO)))
    assert ledger.entries() == old
    other = small_config(*IN_RHO, "dataset=other", "privacy.budget={rho: 3/4}")
    assert ledger.reserve(request_of(other)) is State.RESERVED
    spend(ledger, other)
    pure = small_config("dataset=other", "name=pure", "privacy.epsilon=1/2", "privacy.budget=null")
    assert ledger.reserve(request_of(pure)) is State.RESERVED
    ledger.grant(request_of(pure), Grant(Price.rho("1/16")))
    more = small_config("dataset=other", "name=more", "privacy.epsilon=1", "privacy.budget=null")
    with pytest.raises(BudgetExceeded, match=r"requested rho 1/2 \(epsilon\^2 / 2 of each draw\).*short by 5/16"):
        ledger.reserve(request_of(more))
    assert ledger.entries()[:2] == old
    account = ledger_at(spark, tmp_path / "ledger").account("other")  # read anew, without Spark
    assert (account.granted, account.spent, account.reserved) == (Fraction(13, 16), Fraction(1, 2), Fraction(1, 8))
    columns = spark.read.format("delta").load(ledger.path).where("rho IS NOT NULL")
    assert [row.rho for row in columns.orderBy("sequence").collect()] == ["3/4", "1/2", "1/2", "1/16"]
