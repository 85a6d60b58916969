"""The checks, by name: each returns what was found, in words, and raises where it does not hold or cannot be told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from importlib.metadata import version

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from vdr_spark.audit.subject import CannotTell, CheckFailed, Subject
from vdr_spark.price import Price
from vdr_spark.privacy.accounting import balance, check_same_draw, find_spending
from vdr_spark.privacy.entries import Draw, Entry, State
from vdr_spark.privacy.noise_tally import tally_noise
from vdr_spark.release.statement_page import statement_page
from vdr_spark.release.views import read_back
from vdr_spark.storage.files import as_json, exists, read_text
from vdr_spark.storage.schemas import CELLS
from vdr_spark.storage.tables import read_partition
from vdr_spark.storage.tensor_file import checksum

Check = Callable[[Subject], str]


def _check_protected(it: Subject) -> str:
    rows, units = it.draws.cells.rows(), it.release.config.privacy.units_per_ping
    distinct = [] if rows is None else rows.select("protected", "units_per_ping").distinct().collect()
    marks = [tuple(mark) for mark in distinct]
    if not it.row["protected"] or any(not protected for protected, _ in marks):
        raise CheckFailed("the noise came from a test seed: this release protects nobody")
    if marks != [(True, units)]:
        raise CheckFailed(f"the slices must be counted in units of 1/{units}, all of them, and are not")
    return "no seed took part"


def _check_ledger(it: Subject) -> str:
    entries, then, draws = it.entries, it.entries_at_publication, it.release.plan.draws
    for draw in draws:
        check_same_draw(entries, draw)
        _check_booking(draw, [entry for entry in entries if entry.draw_id == draw.draw_id])
    spent = find_spending(entries, it.release.draw.draw_id)
    number, its_hash = it.row["ledger_entry"], it.row["ledger_entry_hash"]
    if spent is None or (spent.sequence, spent.entry_hash) != (number, its_hash):
        raise CheckFailed(f"it was paid for by entry {number}, which this ledger does not have as it was")
    account = balance(entries, it.release.config.dataset)
    if account.committed > account.granted:
        raise CheckFailed(
            f"dataset {account.dataset} has spent {account.currency} {account.committed}, more than the "
            f"{account.granted} granted"
        )
    return (
        f"whole, {len(entries)} entries, {len(then)} of them as at publication; {_describe_prices(draws)} reserved and "
        f"spent once; dataset {account.dataset} at {account.describe_spending()}"
    )


def _describe_prices(draws: Sequence[Draw]) -> str:
    """Return the sum of the draws of one release, which all have the same currency."""
    return str(Price(sum((draw.price.amount for draw in draws), Fraction(0)), draws[-1].price.currency))


def _check_booking(draw: Draw, entries: Sequence[Entry]) -> None:
    booked = [entry.state for entry in entries if entry.state in (State.RESERVED, State.SPENT)]
    if booked != [State.RESERVED, State.SPENT]:
        states = ", ".join(booked) or "nothing"
        raise CheckFailed(f"draw {draw.draw_id} must be reserved once, then spent once; the ledger has {states}")


def _check_tensor(it: Subject) -> str:
    for tensor in it.draws.tensors:
        draw_id, contents = tensor.draw.draw_id, tensor.contents()
        if contents is None:
            raise CheckFailed(f"draw {draw_id} is not in {tensor.path}")
        if orphans := tensor.find_orphans():
            raise CheckFailed(f"{len(orphans)} files of another drawing lie beside {draw_id}; run `vdr collect` again")
        spent = find_spending(it.entries, draw_id)
        if spent is None or spent.tensor_sha256 != contents.sha256:
            raise CheckFailed(f"the stored numbers of draw {draw_id} are not those that the ledger has the SHA-256 of")
    if not all(tensor.is_within_reach for tensor in it.draws.tensors):
        return (
            "whole, the numbers that were paid for; its catalog keeps the files, none could be looked for beside them"
        )
    return "whole, one drawing, the numbers that were paid for"


def _check_noise(it: Subject) -> str:
    rows, noise = it.draws.cells.rows(), it.release.noise
    if rows is None or rows.isEmpty():
        raise CheckFailed("there is no noisy tensor")
    check = noise.mechanism.noise_check()
    tally = tally_noise(rows, check)
    if problems := list(check.contradictions(tally)):
        raise CheckFailed("; ".join(problems))
    found = check.estimate_scale(tally)
    if found is None:
        raise CannotTell(
            f"{tally.negative} of {tally.cells} cells are negative: too few of them far down to tell the scale"
        )
    found_in_pings = found / noise.units_per_ping
    measured = f"scale {found_in_pings:.6g} by {tally.negative:,} negative cells{check.caveat}"
    return f"{measured}, claimed {noise.scale:.6g}"


def _check_cells(it: Subject) -> str:
    grid, release_id, output = it.release.grid, it.release.release_id, it.release.plan.output
    rows = read_partition(it.spark, output.table(CELLS.name), CELLS, release_id)
    if rows is None or rows.count() != grid.size:
        raise CheckFailed(f"the table must hold {grid.size} cells of the release, each once, and does not")
    if checksum(*read_back(it.spark, output, release_id, grid)) != it.row["cells_sha256"]:
        raise CheckFailed("the cells in the table are not those that were published: their SHA-256 differs")
    starts = [grid.slice_start(number).timestamp() * 1e6 for number in range(grid.slices)]
    places = rows.withColumn("slice_start", F.unix_micros("slice_start"))
    _check_axis(places, "slice", "slice_start", starts)
    _check_axis(places, "y", "lat", grid.latitudes().tolist())
    _check_axis(places, "x", "lon", grid.longitudes().tolist())
    if [mark for (mark,) in rows.select("protected").distinct().collect()] != [it.release.protected]:
        raise CheckFailed("its cells are not all marked as the release is: `protected`")
    return f"{grid.size:,} cells, each once, where and as they were published"


def _check_axis(cells: DataFrame, number: str, value: str, expected: Sequence[float]) -> None:
    """Check that every row, column or slice has one place or time, and that it is the grid's."""
    found = cells.groupBy(number).agg(F.min(value), F.max(value)).collect()
    wrong = [row[0] for row in found if not row[1] == row[2] == expected[row[0]]]
    if wrong:
        raise CheckFailed(f"`{value}` of the cells with {number} = {min(wrong)} is not where the grid has it")


def _check_row(it: Subject) -> str:
    wrong = [name for name, value in it.expected_row.items() if name != "statement" and it.row[name] != value]
    if wrong:
        raise CheckFailed(f"its row differs from configuration and ledger in {', '.join(wrong)}")
    return "its row says what follows from configuration and ledger"


def _check_statement(it: Subject) -> str:
    statement, expected = (json.loads(row["statement"]) for row in (it.row, it.expected_row))
    # Another version may say the same in other words.
    parts = statement if it.row["code_version"] == version("vdr-spark") else {"exact": statement["exact"]}
    wrong = [place for part in parts for place in _differences(statement[part], expected.get(part), part)]
    if wrong:
        raise CheckFailed(f"the statement differs from configuration and ledger in {', '.join(wrong)}")
    for kind, text in (("json", as_json(statement)), ("html", statement_page(statement, it.withdrawal))):
        path = it.release.plan.output.statement(it.release.release_id, kind)
        if not exists(path) or read_text(path) != text:
            remedy = "delete it and run `vdr publish`" if it.withdrawal is None else "run `vdr releases withdraw` again"
            raise CheckFailed(f"{path} is missing or differs from the table; {remedy}")
    return "table, JSON and page agree with each other, with the configuration and with the ledger"


def _differences(found: object, expected: object, where: str) -> Iterator[str]:
    """Name the places in which two trees of JSON differ."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for name in sorted(found.keys() | expected.keys()):
            yield from _differences(found.get(name), expected.get(name), f"{where}.{name}")
    elif found != expected:
        yield where


def _check_total(it: Subject) -> str:
    signal = it.draws.signal(it.release)
    if signal.contradicts_total:
        raise CheckFailed("; ".join(signal.warnings()))
    if signal.drowns:
        raise CannotTell("; ".join(signal.warnings()))
    return f"N does not contradict it: {signal.sentence()}"


CHECKS: dict[str, Check] = {
    "protected": _check_protected,
    "ledger": _check_ledger,
    "noisy tensor": _check_tensor,
    "noise": _check_noise,
    "total": _check_total,
    "released cells": _check_cells,
    "release": _check_row,
    "statement": _check_statement,
}
