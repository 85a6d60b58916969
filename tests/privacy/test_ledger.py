"""The budget book: written first, never overspent, never edited."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import BudgetExceeded, LedgerConflict
from vdr_spark.privacy.ledger import Entry, Ledger, State

Small = Callable[..., ReleaseConfig]


@pytest.fixture
def ledger(spark: SparkSession, tmp_path: Path) -> Ledger:
    return Ledger(spark, str(tmp_path / "ledger"))


def spend(ledger: Ledger, config: ReleaseConfig) -> None:
    ledger.mark_spent(config, config.draws[-1], lambda _: "of the tensor")


def test_reserve_then_spend_counts_once(ledger: Ledger, small_config: Small) -> None:
    config = small_config("privacy.epsilon=1/3", "privacy.budget=1")
    assert ledger.reserve(config) is State.RESERVED
    assert ledger.account(config.dataset).committed == Fraction(1, 3)
    spend(ledger, config)
    spend(ledger, config)
    assert ledger.reserve(config) is State.SPENT
    account = ledger.account(config.dataset)
    assert (account.granted, account.committed, account.remaining) == (1, Fraction(1, 3), Fraction(2, 3))
    assert [entry.state.value for entry in ledger.entries()] == ["granted", "reserved", "spent"]


def test_overspending_is_refused_with_all_figures_and_goes_on_record(ledger: Ledger, small_config: Small) -> None:
    ledger.reserve(small_config("privacy.epsilon=4", "privacy.budget=6"))  # never spent: still counts
    greedy = small_config("name=greedy", "privacy.epsilon=2.5", "privacy.budget=100")
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.reserve(greedy)
    for words in ("requested epsilon 5/2", "granted 6", "spent 4", "remaining 2", "short by 1/2"):
        assert words in str(refusal.value)
    assert ledger.entries()[-1].state is State.REFUSED
    assert ledger.state_of(greedy.draw_id) is None
    ledger.grant(greedy, Fraction(1, 2))
    assert ledger.reserve(greedy) is State.RESERVED


def test_datasets_have_budgets_of_their_own(ledger: Ledger, small_config: Small) -> None:
    ledger.reserve(small_config())
    other = small_config("dataset=other-city")
    assert ledger.reserve(other) is State.RESERVED
    assert ledger.account("demo-city").remaining == 0


def test_two_at_once_cannot_both_take_the_last_epsilon(ledger: Ledger, small_config: Small) -> None:
    ledger.reserve(small_config("name=first", "privacy.epsilon=1", "privacy.budget=3"))
    rivals = [small_config(f"name=rival{number}", "privacy.epsilon=1") for number in range(4)]

    def attempt(config: ReleaseConfig) -> bool:
        try:
            return ledger.reserve(config) is State.RESERVED
        except BudgetExceeded:
            return False

    with ThreadPoolExecutor(4) as pool:
        won = list(pool.map(attempt, rivals))
    assert sum(won) == 2
    assert ledger.account("demo-city").remaining == 0


def test_an_entry_that_comes_in_between_is_not_written_over(
    ledger: Ledger, small_config: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any lock, as on an object store: another writer gets in between reading the book and writing it."""
    monkeypatch.setattr("vdr_spark.privacy.ledger.exclusive", lambda _: nullcontext())
    first, second = small_config("name=first", "privacy.budget=100"), small_config("dataset=other", "name=second")
    ledger.reserve(first)
    read, came = ledger.entries, []

    def read_and_be_overtaken() -> list[Entry]:
        entries = read()
        if not came:
            came.append(True)
            spend(ledger, first)
        return entries

    monkeypatch.setattr(ledger, "entries", read_and_be_overtaken)
    ledger.reserve(second)
    states = [(entry.dataset, entry.state.value) for entry in read()]
    opened, spent = ("demo-city", "granted"), ("demo-city", "spent")
    assert states == [opened, ("demo-city", "reserved"), spent, ("other", "granted"), ("other", "reserved")]


@pytest.mark.parametrize("edit", ["UPDATE delta.`{}` SET epsilon = '1' WHERE sequence = 2", "DELETE FROM delta.`{}`"])
def test_the_table_is_append_only(spark: SparkSession, ledger: Ledger, small_config: Small, edit: str) -> None:
    ledger.reserve(small_config())
    with pytest.raises(Exception, match="append"):
        spark.sql(edit.format(ledger._path))


def test_an_edited_book_is_noticed(spark: SparkSession, ledger: Ledger, small_config: Small) -> None:
    config = small_config()
    ledger.reserve(config)
    spark.sql(f"ALTER TABLE delta.`{ledger._path}` SET TBLPROPERTIES ('delta.appendOnly' = 'false')")
    DeltaTable.forPath(spark, ledger._path).update("sequence = 2", {"epsilon": "'0.1'"})
    with pytest.raises(LedgerConflict, match="changed by hand at entry 2"):
        ledger.account(config.dataset)


def test_spending_what_was_never_reserved_is_refused(ledger: Ledger, small_config: Small) -> None:
    with pytest.raises(LedgerConflict, match="does not know it"):
        spend(ledger, small_config())
