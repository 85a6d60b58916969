"""The budget book tells what the ledger has, and a ledger that was changed is not passed over."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.privacy.written_ledger import chain, write_ledger
from tests.report_page.conftest import make_city
from vdr_spark.errors import LedgerConflict
from vdr_spark.price import Price
from vdr_spark.privacy.entries import State
from vdr_spark.report_page import Contents, report_page
from vdr_spark.report_page.budget_book import budget_section, read_book
from vdr_spark.storage.places import LedgerPlaces


def no_spark() -> object:
    raise AssertionError("a ledger on a disk is read without Spark")


def places_at(folder: Path) -> LedgerPlaces:
    return LedgerPlaces(f"{folder}/ledger", f"{folder}/ledger.head.json")


def test_it_has_every_entry_of_the_dataset_and_what_is_left(tmp_path: Path) -> None:
    bookings = [
        (State.GRANTED, 8, ""),
        (State.RESERVED, 6, "draw-1"),
        (State.SPENT, 6, "draw-1"),
        (State.RESERVED, 1, "x"),
    ]
    write_ledger(f"{tmp_path}/ledger", chain("nobody", *bookings))  # type: ignore[arg-type]
    book = read_book(places_at(tmp_path), "nobody", no_spark)  # type: ignore[arg-type]
    page = budget_section(make_city(), book)
    assert page.count("<tr>") == 1 + 4
    assert 'aria-label="Of epsilon 8: spent epsilon 6, reserved epsilon 1, left epsilon 1"' in page
    assert "width:75.00%" in page
    assert str(page) in report_page(Contents(make_city(), book))


def test_rho_is_told_as_an_epsilon_too(tmp_path: Path) -> None:
    rho = Price.rho(1)
    write_ledger(f"{tmp_path}/ledger", chain("nobody", (State.GRANTED, rho, ""), (State.RESERVED, rho, "draw")))
    page = budget_section(make_city(), read_book(places_at(tmp_path), "nobody", no_spark))  # type: ignore[arg-type]
    assert "rho 1" in page
    assert "epsilon 9." in page


def test_without_a_ledger_it_is_what_the_statement_knows() -> None:
    page = budget_section(make_city(), None)
    assert "<b>6</b> of <b>8</b>" in page
    assert "The ledger was not at hand" in page
    assert "Neither the ledger nor" in budget_section(replace(make_city(), statement={}), None)


def test_a_ledger_that_was_changed_is_refused(tmp_path: Path) -> None:
    first, second = chain("nobody", (State.GRANTED, 8, ""), (State.RESERVED, 6, "draw"))
    write_ledger(f"{tmp_path}/ledger", [first, replace(second, draw_id="another")])
    with pytest.raises(LedgerConflict, match="changed by hand"):
        read_book(places_at(tmp_path), "nobody", no_spark)  # type: ignore[arg-type]
