"""The audit of a published release: does everything that was promised agree with everything that is there?

It reads the tables, the ledger and the statement, and no ping. Anyone who may read the noisy slices can repeat it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property, reduce
from importlib.metadata import version
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from vdr_spark.collect.noisy_slices import checksum, is_stored, strays
from vdr_spark.collect.stage import layers_of
from vdr_spark.collect.total import settled, workspace_of_draw
from vdr_spark.config import Draw, ReleaseConfig
from vdr_spark.errors import StageMissing, VdrError
from vdr_spark.privacy.accounting import Entry, State, account, check_same_draw, spending_of
from vdr_spark.privacy.ledger import Ledger
from vdr_spark.privacy.noise_check import NoiseCheck, Tally
from vdr_spark.privacy.statement import Published
from vdr_spark.release.publish import release_values
from vdr_spark.release.read import read_cells
from vdr_spark.release.statement_page import statement_page
from vdr_spark.storage.files import as_json, exists, read_text
from vdr_spark.storage.tables import CELLS, NOISY_SLICES, RELEASES, read_part, rows_of
from vdr_spark.storage.tensor_file import checksum as cells_checksum
from vdr_spark.storage.workspace import Workspace
from vdr_spark.workers import in_worker

Row = dict[str, Any]
"""Of `releases`; one that an earlier version wrote lacks columns."""


@dataclass(frozen=True)
class Finding:
    """One thing that was checked: whether it holds (None: that cannot be told), and in words what was found."""

    check: str
    holds: bool | None
    found: str


class _Fails(Exception):
    """A check that does not hold, with the words for it."""


class _CannotTell(Exception):
    """A check that says nothing here, with the reason."""


@dataclass
class _Subject:
    """A published release, its configuration with N in it, and its row. Books are read once."""

    spark: SparkSession
    config: ReleaseConfig
    row: Row

    @cached_property
    def book(self) -> list[Entry]:
        return Ledger.of(self.spark, self.config).entries()

    @cached_property
    def book_then(self) -> Sequence[Entry]:
        """The book as it was when the release was published, which remembers how far that was."""
        told = json.loads(self.row["statement"])["exact"]["ledger"]
        known = self.book[: told["entries"]]
        if len(known) < told["entries"] or known[-1].entry_hash != told["last_entry_hash"]:
            raise _Fails(
                f"when the release was published, the ledger had {told['entries']} entries, the last of them another "
                f"than here, where it has {len(self.book)}: it was cut off or replaced"
            )
        return known

    @cached_property
    def expected(self) -> Row:
        """The row anew, from configuration, ledger, and what only the publishing run could know."""
        paid = spending_of(self.book, self.config.draw_id)
        if paid is None:
            raise _Fails("the ledger has no entry that paid for it")
        found = Published(**{field.name: self.row[field.name] for field in fields(Published)})
        return release_values(self.config, found, self.book_then, paid)

    def noisy(self, draw: Draw) -> DataFrame | None:
        workspace = workspace_of_draw(self.config, draw)
        return read_part(self.spark, workspace.table(NOISY_SLICES.name), NOISY_SLICES, draw.draw_id)


def audit(spark: SparkSession, config: ReleaseConfig) -> list[Finding]:
    """Check the published release of a configuration. What cannot even be looked at does not hold."""
    rows = _published(spark, config)
    if len(rows) > 1:
        return [Finding("release", False, f"{len(rows)} rows of `releases` say something about it; one may")]
    if rows[0].get("cells_sha256") is None:
        old = "the release was published by an earlier version, which kept no sums to compare it with"
        return [Finding("release", False, old)]
    try:
        subject = _Subject(spark, settled(spark, config), rows[0])
    except VdrError as problem:
        return [Finding("number of pings", False, str(problem))]
    return [_finding(name, check, subject) for name, check in CHECKS.items()]


def _finding(name: str, check: Check, subject: _Subject) -> Finding:
    try:
        return Finding(name, True, check(subject))
    except _CannotTell as reason:
        return Finding(name, None, str(reason))
    except (_Fails, VdrError) as problem:
        return Finding(name, False, str(problem))
    except (PySparkException, Py4JJavaError, KeyError, TypeError, ValueError) as problem:
        return Finding(name, False, f"it could not even be looked at ({type(problem).__name__}): files are damaged")


def _published(spark: SparkSession, config: ReleaseConfig) -> list[Row]:
    workspace = Workspace.of(config)
    rows = read_part(spark, workspace.table(RELEASES.name), RELEASES, workspace.release_id)
    found = rows_of(rows) if rows is not None else []
    if not found:
        raise StageMissing(f"release {workspace.release_id} is not published in {config.output}: nothing to audit")
    return found


def _protected(it: _Subject) -> str:
    rows, unit = it.noisy(it.config.draws[-1]), it.config.privacy.unit
    marks = [] if rows is None else [tuple(mark) for mark in rows.select("protected", "unit").distinct().collect()]
    if not it.row["protected"] or any(not protected for protected, _ in marks):
        raise _Fails("the noise came from a test seed: this release protects nobody")
    if marks != [(True, unit)]:
        raise _Fails(f"the slices must be counted in units of 1/{unit}, all of them, and are not")
    return "no seed took part"


def _ledger(it: _Subject) -> str:
    book, then, draws, dataset = it.book, it.book_then, it.config.draws, it.config.dataset
    for draw in draws:
        check_same_draw(book, draw)
        _check_booking(draw, [e for e in book if e.draw_id == draw.draw_id])
    paid = spending_of(book, it.config.draw_id)
    if paid is None or (paid.sequence, paid.entry_hash) != (it.row["ledger_entry"], it.row["ledger_entry_hash"]):
        raise _Fails(f"it was paid for by entry {it.row['ledger_entry']}, which this ledger does not have as it was")
    spent = account(book, dataset)
    if spent.committed > spent.granted:
        raise _Fails(f"dataset {dataset} has spent {spent.committed}, more than the {spent.granted} granted")
    price = sum((draw.epsilon for draw in draws), Fraction(0))
    return (
        f"whole, {len(book)} entries, {len(then)} of them as at publication; epsilon {price} reserved and spent once; "
        f"dataset {dataset} at {spent.committed} of {spent.granted}"
    )


def _check_booking(draw: Draw, entries: Sequence[Entry]) -> None:
    booked = [entry for entry in entries if entry.state in (State.RESERVED, State.SPENT)]
    if [e.state for e in booked] != [State.RESERVED, State.SPENT]:
        states = ", ".join(e.state for e in booked) or "nothing"
        raise _Fails(f"draw {draw.draw_id} must be reserved once, then spent once; the ledger has {states}")


def _tensor(it: _Subject) -> str:
    for draw in it.config.draws:
        workspace = workspace_of_draw(it.config, draw)
        if not is_stored(it.spark, workspace, 1 if draw.purpose == "total" else layers_of(it.config)):
            raise _Fails(f"draw {draw.draw_id} is not in {workspace.table(NOISY_SLICES.name)}")
        if found := strays(it.spark, workspace):
            raise _Fails(f"{len(found)} files of another drawing lie beside {draw.draw_id}; run `vdr collect` again")
        spent = spending_of(it.book, draw.draw_id)
        if spent is not None and not spent.evidence:
            raise _CannotTell(f"draw {draw.draw_id} was booked by an earlier version, which kept no sum of its numbers")
        if spent is None or spent.evidence != checksum(it.spark, workspace):
            raise _Fails(f"the stored numbers of draw {draw.draw_id} are not those that the ledger has the sum of")
    return "whole, one drawing, the numbers that were paid for"


def _noise(it: _Subject) -> str:
    privacy, rows = it.config.privacy, it.noisy(it.config.draws[-1])
    check = NoiseCheck(privacy.scale * privacy.unit)
    if rows is None or rows.isEmpty():
        raise _Fails("there is no noisy tensor")
    tallied = rows.select("values").mapInArrow(in_worker(_tallies(check)), "tally binary")
    tally = reduce(add, (_unpacked(bytes(row.tally)) for row in tallied.collect()))
    if problems := list(check.contradictions(tally)):
        raise _Fails("; ".join(problems))
    found = check.found_scale(tally)
    if found is None:
        raise _CannotTell(f"{tally.negative} of {tally.cells} cells are negative: too few to measure the scale")
    claimed = float(privacy.scale)
    return f"scale {found / privacy.unit:.6g} by {tally.negative:,} negative cells, claimed {claimed:.6g}"


def _tallies(check: NoiseCheck) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def tally(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            slices = (batch.column("values")[row].values.to_numpy() for row in range(batch.num_rows))
            packed = [_packed(check.tally(noisy)) for noisy in slices]
            yield pa.RecordBatch.from_pydict({"tally": pa.array(packed, pa.binary())})

    return tally


def _packed(tally: Tally) -> bytes:
    return json.dumps({**vars(tally), "bins": tally.bins.tolist()}).encode()


def _unpacked(packed: bytes) -> Tally:
    values = json.loads(packed)
    return Tally(**(values | {"bins": np.array(values["bins"], dtype=np.int64)}))


def _cells(it: _Subject) -> str:
    grid, release_id = it.config.domain, it.config.release_id
    rows = read_part(it.spark, Workspace.of(it.config).table(CELLS.name), CELLS, release_id)
    if rows is None or rows.count() != grid.size:
        raise _Fails(f"the table must hold {grid.size} cells of the release, each once, and does not")
    if cells_checksum(*read_cells(it.config.output, release_id, grid)) != it.row["cells_sha256"]:
        raise _Fails("the cells in the table are not those that were published: their sum differs")
    starts = [grid.slice_start(number).timestamp() * 1e6 for number in range(grid.slices)]
    places = rows.withColumn("slice_start", F.unix_micros("slice_start"))
    _check_axis(places, "slice", "slice_start", starts)
    _check_axis(places, "y", "lat", grid.latitudes().tolist())
    _check_axis(places, "x", "lon", grid.longitudes().tolist())
    if [mark for (mark,) in rows.select("protected").distinct().collect()] != [it.config.privacy.protected]:
        raise _Fails("its cells are not all marked as the release is: `protected`")
    return f"{grid.size:,} cells, each once, where and as they were published"


def _check_axis(cells: DataFrame, number: str, value: str, expected: Sequence[float]) -> None:
    """Every row, column or slice has one place or time, and it is the grid's."""
    found = cells.groupBy(number).agg(F.min(value), F.max(value)).collect()
    wrong = [row[0] for row in found if not row[1] == row[2] == expected[row[0]]]
    if wrong:
        raise _Fails(f"`{value}` of the cells with {number} = {min(wrong)} is not where the grid has it")


def _release(it: _Subject) -> str:
    wrong = [name for name, value in it.expected.items() if name != "statement" and it.row[name] != value]
    if wrong:
        raise _Fails(f"its row differs from configuration and ledger in {', '.join(wrong)}")
    return "its row says what follows from configuration and ledger"


def _statement(it: _Subject) -> str:
    statement, expected = (json.loads(row["statement"]) for row in (it.row, it.expected))
    # Another version may say the same in other words.
    parts = statement if it.row["code_version"] == version("vdr-spark") else {"exact": statement["exact"]}
    wrong = [place for part in parts for place in _differences(statement[part], expected.get(part), part)]
    if wrong:
        raise _Fails(f"the statement differs from configuration and ledger in {', '.join(wrong)}")
    for kind, text in (("json", as_json(statement)), ("html", statement_page(statement))):
        path = Workspace.of(it.config).statement(kind)
        if not exists(path) or read_text(path) != text:
            raise _Fails(f"{path} is missing or says something else than the table; delete it and run `vdr publish`")
    return "table, JSON and page agree with each other, with the configuration and with the ledger"


def _differences(found: object, expected: object, where: str) -> Iterator[str]:
    """Names of the places in which two trees of JSON differ."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for name in sorted(found.keys() | expected.keys()):
            yield from _differences(found.get(name), expected.get(name), f"{where}.{name}")
    elif found != expected:
        yield where


Check = Callable[[_Subject], str]
"""Returns what was found, in words; raises where it does not hold, or cannot be told."""

CHECKS: dict[str, Check] = {
    "protected": _protected,
    "ledger": _ledger,
    "noisy tensor": _tensor,
    "noise": _noise,
    "released cells": _cells,
    "release": _release,
    "statement": _statement,
}
