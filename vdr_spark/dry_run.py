"""A run that is not one: what stages would do, and what they would stop at, stage by stage; nothing changes anywhere.

Everything is looked at that can be without reading a row, reserving epsilon or writing a byte: is the input there, does
the budget suffice, are packages and Java there, can the places be written, is there room. What only a session of Spark
can tell (the types of all files, a catalog's tables, what executors have) the run itself finds out, before it reserves.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vdr_spark.capacity import Machine, find_shortages, list_needs
from vdr_spark.completeness import find_complete
from vdr_spark.errors import BudgetExceeded, EnvironmentProblem, InvalidInput, LedgerConflict, StageMissing, VdrError
from vdr_spark.explain import list_steps
from vdr_spark.packages import explain_missing_packages
from vdr_spark.pings.preview import find_absence, preview_input
from vdr_spark.plan import Plan
from vdr_spark.privacy.accounting import balance, price_of_unbooked, state_of
from vdr_spark.privacy.bill import prepare_bill
from vdr_spark.privacy.decisions import describe_excess, find_excess, require_same_currency
from vdr_spark.privacy.entries import Entry, State
from vdr_spark.privacy.ledger_reader import LedgerReader
from vdr_spark.release.register import require_one_to_publish
from vdr_spark.stage_log import RELEASE_STAGES
from vdr_spark.storage.delta_files import list_files
from vdr_spark.storage.free_space import find_existing
from vdr_spark.storage.paths import file_path, is_local
from vdr_spark.storage.schemas import NOISY_SLICES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class DryRun:
    """What was found out: lines for people, what to be careful with, and what the run would stop at, in its order."""

    lines: list[str] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)
    problems: list[VdrError] = field(default_factory=list)

    @contextmanager
    def finding(self) -> Iterator[None]:
        """Note what the block would stop at, and go on."""
        try:
            with explain_missing_packages():
                yield
        except VdrError as problem:
            self.problems.append(problem)

    def __str__(self) -> str:
        cautions = ["", "Be careful", *(f"  ! {caution}" for caution in self.cautions)] if self.cautions else []
        return "\n".join([*self.lines, *cautions])


def rehearse(plan: Plan, stages: Sequence[str], open_spark: Callable[[], SparkSession]) -> DryRun:
    """Find out what a run of these stages would do. Spark is started only where tables are out of reach without it."""
    found = DryRun([f"Dry run of {', '.join(stages)}: no row is read, nothing is reserved or written."])
    local_dirs = _look_at_spark(plan, found)
    _look_at_places(plan, stages, found)
    entries, complete = list[Entry](), set[str]()
    with found.finding():
        plan.require_exclusion()
        entries = LedgerReader(plan.ledger, open_spark).entries()
        complete = find_complete(plan, entries, open_spark)
    missing = [stage for stage in stages if stage not in complete]
    with found.finding():
        _require_earlier(stages, complete)
    found.lines += ["", "Stages"]
    if "synth" in stages:
        _look_at_synth(plan, found)
    for number, stage in enumerate([stage for stage in stages if stage != "synth"], start=1):
        _tell(plan, stage, number, stage in complete, found)
    _look_at_stages(plan, missing, entries, open_spark, found)
    for shortage in find_shortages(list_needs(plan, missing, local_dirs), Machine()):
        if shortage.certain:
            found.problems.append(EnvironmentProblem(str(shortage)))
        else:
            found.cautions.append(str(shortage))
    return found


def _look_at_spark(plan: Plan, found: DryRun) -> list[str]:
    """Say which Spark it would be; return the folders of its shuffle files, where it would run here."""
    with found.finding():
        importlib.import_module("delta")
        from vdr_spark.spark.session import describe_start, starts_here
        from vdr_spark.spark.settings import choose_local_dirs

        found.lines.append(f"Spark: {describe_start(plan.config.spark)}")
        if starts_here():
            return choose_local_dirs(plan.config.spark.conf.get("spark.local.dir"))
    return []


def _look_at_places(plan: Plan, stages: Sequence[str], found: DryRun) -> None:
    places = {"output": plan.output.root, "ledger_head": plan.ledger.head}
    if isinstance(plan.ledger.table, str) and "collect" in stages:
        places["ledger"] = plan.ledger.table
    for setting, path in places.items():
        with found.finding():
            _require_writable(setting, path)


def _require_writable(setting: str, path: str) -> None:
    if not is_local(path):
        return
    folder = find_existing(file_path(path))
    if not os.access(folder, os.W_OK):
        raise EnvironmentProblem(f"{setting}: {path} cannot be written to: {folder} does not let this user write")


def _require_earlier(stages: Sequence[str], complete: set[str]) -> None:
    """Refuse stages whose input would not be there."""
    first = next((stage for stage in stages if stage in RELEASE_STAGES and stage not in complete), None)
    if first is None:
        return
    for earlier in RELEASE_STAGES[: RELEASE_STAGES.index(first)]:
        if earlier not in complete and earlier not in stages:
            raise StageMissing(f"{first} needs what `vdr {earlier}` leaves, and that is not there; run it first")


def _look_at_synth(plan: Plan, found: DryRun) -> None:
    with found.finding():
        from vdr_spark.synth.generate import is_complete

        done = is_complete(plan.config, plan.grids[0])
        found.lines.append(f"  synth     {'complete already' if done else f'would write {plan.config.input.location}'}")


def _tell(plan: Plan, stage: str, number: int, complete: bool, found: DryRun) -> None:
    step = next(step for step in list_steps(plan) if step.title == stage)
    found.lines.append(f"  {number}. {stage:<8}{'complete already' if complete else f'would run: {step.what}'}")
    if not complete:
        currency = plan.config.privacy.price.currency
        found.lines.append(f"     {'':<8}would write {_writes(plan, stage)}; spends {currency} {step.spends}")


def _writes(plan: Plan, stage: str) -> str:
    work = ", ".join(plan.output.work(plan.release_id(region)).root for region in plan.regions)
    return {
        "collect": f"{plan.output.table(NOISY_SLICES.name)} and {plan.ledger.table}",
        "denoise": work,
        "refine": work,
        "publish": f"cells, pyramid, releases, withdrawals in {plan.output.tables}, statements in {plan.output.root}",
    }[stage]


def _look_at_stages(
    plan: Plan, missing: Sequence[str], entries: Sequence[Entry], open_spark: Callable[[], SparkSession], found: DryRun
) -> None:
    """Look at what stages that are not complete ask for, as the run itself would before anything is reserved."""
    if "denoise" in missing:
        with found.finding():
            from vdr_spark.denoise.stage import require_packages

            require_packages(plan.config.denoise)
    if "publish" in missing:
        with found.finding():
            require_one_to_publish(plan, open_spark)
    if "collect" in missing:
        found.cautions += plan.cautions()
        with found.finding():
            _require_input(plan, found)
        with found.finding():
            _look_at_budget(plan, entries, found)
    elif missing and isinstance(table := plan.output.table(NOISY_SLICES.name), str) and is_local(table):
        with found.finding():
            if not list_files(table, draw_id=plan.cells_draw.draw_id) and state_of(entries, plan.cells_draw.draw_id):
                raise LedgerConflict(
                    f"draw {plan.cells_draw.draw_id} was made and paid for, but its noisy tensor is no longer in "
                    f"{plan.output.root}. Bring the folder back, or give the release another `name`"
                )


def _require_input(plan: Plan, found: DryRun) -> None:
    config = plan.config
    if (absence := find_absence(config.input, config.synth is not None)) is not None:
        raise InvalidInput(absence)
    found.cautions += preview_input(config.input, config.synth is not None)
    from vdr_spark.collect.stage import refuse_seeds_over_people

    refuse_seeds_over_people(config)


def _look_at_budget(plan: Plan, entries: Sequence[Entry], found: DryRun) -> None:
    """Say what would be reserved and what is left then; refuse what the ledger would refuse."""
    request, account = plan.budget_request, balance(entries, plan.config.dataset)
    require_same_currency(entries, request)
    opened = any(entry.dataset == request.dataset and entry.state is State.GRANTED for entry in entries)
    currency = account.currency if opened else request.opening.price.currency
    if (excess := find_excess(entries, request)) is not None:
        raise BudgetExceeded(describe_excess(excess))
    price = price_of_unbooked(entries, request.draws, currency)
    remaining = account.remaining if opened else request.opening.price.amount
    opening = "" if opened else f" (its account would be opened with {request.opening})"
    if price > remaining:
        raise BudgetExceeded(
            f"the budget of dataset `{request.dataset}` would not allow this release: {currency} {price} is asked for "
            f"and {remaining} may be reserved now{opening}, short by {price - remaining}. Lower "
            f"privacy.{plan.config.privacy.price.currency}, or have more granted (vdr budget grant)"
        )
    reserved = (
        f"would reserve {currency} {price}" if price else f"has its {currency} reserved already, and takes no more"
    )
    found.lines += ["", f"Budget: dataset {request.dataset} {reserved}; {remaining - price} is left then{opening}"]
    if (bill := prepare_bill(entries, request)) is not None:
        found.cautions.append(str(bill))
