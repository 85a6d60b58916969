"""The budget of a release's dataset, as its ledger has it now, or as it stood when the release was published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from vdr_spark.privacy.accounting import Account
from vdr_spark.privacy.entries import Entry, State
from vdr_spark.privacy.ledger_reader import LedgerReader
from vdr_spark.report_page.markup import Markup, element, join, paragraph, section, table, with_code
from vdr_spark.storage.places import LedgerPlaces

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from vdr_spark.release.release import Release

_MOST_ENTRIES = 40  # of the book: a series of years has hundreds, and `vdr budget history` has them all
_WORDS = {
    State.GRANTED: "granted",
    State.CAPPED: "limited",
    State.RESERVED: "reserved",
    State.SPENT: "spent",
    State.REFUSED: "refused",
}


@dataclass(frozen=True)
class BudgetBook:
    """What was granted to a dataset and what is taken, and all entries about it."""

    account: Account
    entries: list[Entry]


def read_book(places: LedgerPlaces, dataset: str, open_spark: Callable[[], SparkSession]) -> BudgetBook:
    """Return the book of a dataset, after checking that nobody has changed the ledger."""
    ledger = LedgerReader(places, open_spark)
    return BudgetBook(ledger.account(dataset), [entry for entry in ledger.entries() if entry.dataset == dataset])


def budget_section(release: Release, book: BudgetBook | None) -> Markup:
    """Return what the dataset may still spend, with every entry; without a ledger what the statement knows."""
    content = _as_published(release) if book is None or not book.entries else _as_booked(release, book)
    return section("budget", "The budget book", content)


def _as_booked(release: Release, book: BudgetBook) -> Markup:
    account = book.account
    shown = book.entries[-_MOST_ENTRIES:]
    rows = (
        [f"{entry.recorded_at:%Y-%m-%d %H:%M} UTC", _WORDS[entry.state], _subject(entry), str(entry.price)]
        for entry in shown
    )
    earlier = len(book.entries) - len(shown)
    return join(
        [
            paragraph(
                "Every draw of noise over the dataset ",
                element("b", account.dataset),
                " is booked before any data are read, and what would exceed the grant is refused. Releases add up, "
                "for ever; denoising a draw again costs nothing.",
            ),
            _gauge(account),
            table(
                ["when", "what", "of", "price"], rows, "Entries of the ledger about this dataset, the oldest first", 1
            ),
            _leave_out(earlier) if earlier else "",
            paragraph("As the ledger stood when this page was made. ", _own_price(release), class_="note"),
        ]
    )


def _subject(entry: Entry) -> Markup:
    if entry.draw_id:
        return join([entry.purpose or "draw", " ", element("code", entry.draw_id)])
    return join([f"within any {entry.window_seconds:,} s"] if entry.window_seconds else ["the dataset"])


def _gauge(account: Account) -> Markup:
    """Return a bar of what is spent, reserved and left, with the figures in words below."""
    granted = account.granted or Fraction(1)
    parts = {"spent": account.spent, "reserved": account.reserved, "left": max(account.remaining, Fraction(0))}
    bars = join(
        element("span", class_=name, style=f"width:{100 * float(min(Fraction(1), amount / granted)):.2f}%")
        for name, amount in parts.items()
    )
    words = join(
        element("span", element("i", class_=name), f"{name} ", element("b", account.describe(amount)))
        for name, amount in parts.items()
        if amount or name != "reserved"
    )
    alt = ", ".join(f"{name} {account.describe(amount)}" for name, amount in parts.items())
    bar = element("div", bars, class_="gauge", role="img", aria_label=f"Of {account.describe(account.granted)}: {alt}")
    granted_words = element("span", "granted ", element("b", account.describe(account.granted)))
    return join([bar, element("p", granted_words, words, class_="keys")])


def _leave_out(earlier: int) -> Markup:
    return paragraph(with_code(f"{earlier} earlier entries are left out; `vdr budget history` has them."))


def _own_price(release: Release) -> str:
    return f"This release: {release.promise.parameters}, at {release.promise.unit.level} level."


def _as_published(release: Release) -> Markup:
    exact = release.statement.get("exact", {})
    if "granted" not in exact:
        return paragraph("Neither the ledger nor a statement with its figures is at hand.")
    unit = "ρ" if exact.get("budget_currency") == "rho" else "ε"
    words = paragraph(
        f"When this release was published, {unit} ",
        element("b", exact["committed"]),
        " of ",
        element("b", exact["granted"]),
        f" granted to dataset {release.dataset} had been reserved or spent. The ledger was not at hand for this page: "
        "what was spent since is not in it.",
    )
    draws = exact.get("draws", ())
    rows = ([draw["draw_id"], draw["purpose"], draw["state"]] for draw in draws)
    return join([words, table(["draw", "of", "state"], rows, "Draws over this dataset at that time")])
