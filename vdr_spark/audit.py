"""The audit of a published release: does everything that was promised agree with everything that is there?

It reads the tables, the ledger and the statement, and no ping. Anyone who may read the noisy slices can repeat it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from vdr_spark.collect.noisy_slices import checksum, is_stored, strays
from vdr_spark.collect.stage import layers_of
from vdr_spark.collect.total import settled, workspace_of_draw
from vdr_spark.config import Draw, ReleaseConfig
from vdr_spark.errors import StageMissing, VdrError
from vdr_spark.privacy.book import Entry, State
from vdr_spark.privacy.ledger import Ledger
from vdr_spark.privacy.noise_check import NoiseCheck, Tally
from vdr_spark.release.read import read_release
from vdr_spark.release.statement_page import statement_page
from vdr_spark.tables import CELLS, NOISY_SLICES, RELEASES, read_part
from vdr_spark.tensor_file import checksum as cells_checksum
from vdr_spark.workers import in_worker
from vdr_spark.workspace import Workspace, as_json, exists, read_text

Published = dict[str, Any]
"""The row of `releases`; one that an earlier version wrote lacks columns."""


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


def audit(spark: SparkSession, config: ReleaseConfig) -> list[Finding]:
    """Check the published release of a configuration. What cannot even be looked at does not hold."""
    row = _published(spark, config)
    if row.get("cells_sha256") is None:
        old = "the release was published by an earlier version, which kept no sums to compare it with"
        return [Finding("release", False, old)]
    try:
        config = settled(spark, config)
    except VdrError as problem:
        return [Finding("number of pings", False, str(problem))]
    checks: dict[str, Callable[[], str]] = {
        "protected": lambda: _protected(spark, config, row),
        "ledger": lambda: _ledger(spark, config, row),
        "noisy tensor": lambda: _tensor(spark, config),
        "noise": lambda: _noise(spark, config),
        "released cells": lambda: _cells(spark, config, row),
        "statement": lambda: _statement(config, row),
    }
    return [_finding(name, check) for name, check in checks.items()]


def _finding(name: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(name, True, check())
    except _CannotTell as reason:
        return Finding(name, None, str(reason))
    except (_Fails, VdrError) as problem:
        return Finding(name, False, str(problem))
    except (PySparkException, Py4JJavaError, KeyError, TypeError, ValueError) as problem:
        return Finding(name, False, f"it could not even be looked at ({type(problem).__name__}): files are damaged")


def _published(spark: SparkSession, config: ReleaseConfig) -> Published:
    workspace = Workspace.of(config)
    rows = read_part(spark, workspace.table(RELEASES.name), RELEASES, workspace.release_id)
    found = rows.collect() if rows is not None else []
    if not found:
        raise StageMissing(f"release {workspace.release_id} is not published in {config.output}: nothing to audit")
    return found[0].asDict()


def _protected(spark: SparkSession, config: ReleaseConfig, row: Published) -> str:
    rows = read_part(spark, Workspace.of(config).table(NOISY_SLICES.name), NOISY_SLICES, config.draw_id)
    marks = [] if rows is None else [tuple(mark) for mark in rows.select("protected", "unit").distinct().collect()]
    if not row["protected"] or any(not protected for protected, _ in marks):
        raise _Fails("the noise came from a test seed: this release protects nobody")
    if marks != [(True, config.privacy.unit)]:
        raise _Fails(f"the slices must be counted in units of 1/{config.privacy.unit}, all of them, and are not")
    return "no seed took part"


def _ledger(spark: SparkSession, config: ReleaseConfig, row: Published) -> str:
    book = Ledger.of(spark, config).entries()
    for draw in config.draws:
        booked = [e for e in book if e.draw_id == draw.draw_id and e.state in (State.RESERVED, State.SPENT)]
        _check_booking(draw, booked)
    paid = next(e for e in book if e.draw_id == config.draw_id and e.state is State.SPENT)
    if (paid.sequence, paid.entry_hash) != (row["ledger_entry"], row["ledger_entry_hash"]):
        raise _Fails(f"it was paid for by entry {row['ledger_entry']}, which this ledger does not have as it was")
    total = sum((draw.epsilon for draw in config.draws), Fraction(0))
    if total != Fraction(row["epsilon"]):
        raise _Fails(f"the ledger has epsilon {total} for it, the release says {row['epsilon']}")
    account = Ledger.of(spark, config).account(config.dataset)
    if account.committed > account.granted:
        raise _Fails(f"dataset {config.dataset} has spent {account.committed}, more than the {account.granted} granted")
    return (
        f"whole, {len(book)} entries; epsilon {total} reserved and spent once; dataset {config.dataset} at "
        f"{account.committed} of {account.granted}"
    )


def _check_booking(draw: Draw, booked: list[Entry]) -> None:
    if [e.state for e in booked] != [State.RESERVED, State.SPENT]:
        states = ", ".join(e.state for e in booked) or "nothing"
        raise _Fails(f"draw {draw.draw_id} must be reserved once, then spent once; the ledger has {states}")
    if any(e.epsilon != draw.epsilon for e in booked):
        raise _Fails(f"draw {draw.draw_id} costs epsilon {draw.epsilon}; the ledger has {booked[-1].epsilon}")


def _tensor(spark: SparkSession, config: ReleaseConfig) -> str:
    ledger = Ledger.of(spark, config)
    for draw in config.draws:
        workspace = workspace_of_draw(config, draw)
        if not is_stored(spark, workspace, 1 if draw.purpose == "total" else layers_of(config)):
            raise _Fails(f"draw {draw.draw_id} is not in {workspace.table(NOISY_SLICES.name)}")
        if found := strays(spark, workspace):
            raise _Fails(f"{len(found)} files of another drawing lie beside {draw.draw_id}; run `vdr collect` again")
        spent = ledger.spending_of(draw.draw_id)
        if spent is not None and not spent.evidence:
            raise _CannotTell(f"draw {draw.draw_id} was booked by an earlier version, which kept no sum of its numbers")
        if spent is None or spent.evidence != checksum(spark, workspace):
            raise _Fails(f"the stored numbers of draw {draw.draw_id} are not those that the ledger has the sum of")
    return "whole, one drawing, the numbers that were paid for"


def _noise(spark: SparkSession, config: ReleaseConfig) -> str:
    check = NoiseCheck(config.privacy.scale * config.privacy.unit)
    rows = read_part(spark, Workspace.of(config).table(NOISY_SLICES.name), NOISY_SLICES, config.draw_id)
    if rows is None or rows.isEmpty():
        raise _Fails("there is no noisy tensor")
    tallied = rows.select("values").mapInArrow(in_worker(_tallies(check)), "tally binary")
    tally = reduce(add, (_unpacked(bytes(row.tally)) for row in tallied.collect()))
    if problems := list(check.contradictions(tally)):
        raise _Fails("; ".join(problems))
    found, claimed = check.found_scale(tally), float(config.privacy.scale)
    if found is None:
        raise _CannotTell(f"{tally.negative} of {tally.cells} cells are negative: too few to measure the scale")
    return f"scale {found / config.privacy.unit:.6g} by {tally.negative:,} negative cells, claimed {claimed:.6g}"


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


def _cells(spark: SparkSession, config: ReleaseConfig, row: Published) -> str:
    release = read_release(spark, config.output, row["release_id"])
    rows = read_part(spark, Workspace.of(config).table(CELLS.name), CELLS, row["release_id"])
    if rows is None or rows.count() != release.grid.size:
        raise _Fails(f"the table must hold {release.grid.size} cells of the release, each once, and does not")
    if cells_checksum(release.counts, release.deviation) != row["cells_sha256"]:
        raise _Fails("the cells in the table are not those that were published: their sum differs")
    return f"{release.grid.size:,} cells, each once, as they were published"


def _statement(config: ReleaseConfig, row: Published) -> str:
    statement, privacy = json.loads(row["statement"]), config.privacy
    expected = {
        "epsilon": str(privacy.epsilon),
        "k": privacy.bound,
        "scale": str(privacy.scale),
        "bounding": privacy.bounding,
        "mechanism": privacy.mechanism,
        "cells_sha256": row["cells_sha256"],
    }
    wrong = [name for name, value in expected.items() if statement["exact"][name] != value]
    if statement["protected"] != privacy.protected:
        wrong.append("protected")
    if wrong:
        raise _Fails(f"the statement differs from the configuration in {', '.join(wrong)}")
    for kind, text in (("json", as_json(statement)), ("html", statement_page(statement))):
        path = Workspace.of(config).statement(kind)
        if not exists(path) or read_text(path) != text:
            raise _Fails(f"{path} is missing or says something else than the table; delete it and run `vdr publish`")
    return "table, JSON and page agree with each other and with the configuration"
