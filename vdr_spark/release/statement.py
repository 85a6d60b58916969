"""The privacy statement: what a release promises, to whom, at what price, and what it does not promise.

`deployment` uses the field names of OpenDP's registry of deployments; `questions` answers what NIST SP 800-226 asks of
a claim of differential privacy (`statement_questions`); `exact` holds the same figures for programs
(`statement_exact`). Nothing in it depends on the data beyond what was paid for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vdr_spark.config import ReleaseConfig
from vdr_spark.epsilon import NO_PROTECTION, find_weakness, in_brackets
from vdr_spark.plan import ReleasePlan
from vdr_spark.plan.series_promise import exact_series
from vdr_spark.price import Currency
from vdr_spark.privacy.accounting import Account, balance
from vdr_spark.privacy.entries import Entry
from vdr_spark.release.statement_exact import state_exactly
from vdr_spark.release.statement_parts import (
    UNPROTECTED,
    Published,
    describe_bounding,
    find_booked,
    name_user_column,
    price_by_stage,
)
from vdr_spark.release.statement_questions import answer_questions


def write_statement(release: ReleasePlan, published: Published, entries: Sequence[Entry]) -> dict[str, Any]:
    """Write the statement of one release; `entries` are the ledger's so far."""
    own = [entry for entry in entries if entry.dataset == release.config.dataset]
    account = balance(entries, release.config.dataset)
    return {
        "release_id": release.release_id,
        "protected": release.protected,
        "warning": _warning(release.config),
        "deployment": _deployment(release, published, own, account),
        "questions": answer_questions(release, published),
        "exact": state_exactly(release, published, own, account)
        | {"ledger": _ledger_length(entries)}
        | _series(release),
    }


def _series(release: ReleasePlan) -> dict[str, Any]:
    """Return what the promise means over the whole series; nothing of a release that is of none."""
    found = exact_series(release.config)
    return {} if found is None else {"series": found}


def _warning(config: ReleaseConfig) -> str | None:
    """Return what stands above everything else: that nobody is protected, or nobody to speak of."""
    if not config.privacy.protected:
        return UNPROTECTED
    promise = config.privacy.promise
    return find_weakness(promise.epsilon, promise.delta) if promise.epsilon > NO_PROTECTION else None


def _deployment(
    release: ReleasePlan, published: Published, entries: Sequence[Entry], account: Account
) -> dict[str, dict[str, Any]]:
    config, grid = release.config, release.grid
    privacy, about, unit = config.privacy, config.about, config.privacy.promise.unit
    unprotected = f"{UNPROTECTED} " if not privacy.protected else ""
    accuracy = "not estimated: smaller than can be told"
    if published.estimated_rmse is not None:
        accuracy = f"root mean squared error of a cell's kept pings: {published.estimated_rmse:.3g}"
    signal = published.signal(release)
    accuracy = ". ".join([accuracy, *(signal.warnings() or [signal.sentence()])])
    return {
        "basic": {
            "name": release.release_id,
            "data_curators": [{"data_curator_name": about.curator, "data_curator_type": about.curator_type}],
            "description": f"Estimated number of location pings in each of {grid.size:,} cells: "
            f"{grid.cells_per_side} x {grid.cells_per_side} in the box, {grid.slices} slices of "
            f"{grid.slice_seconds} s. Dataset {config.dataset}."
            + (f" One of {len(release.plan.regions)} regions under the same price." if config.regions else ""),
            "intended_use": about.intended_use,
            "data_product_type": "Summary statistics",
            "data_product_region": about.region,
            "data_product_sector": about.sector,
            "publication_date": f"{published.created:%Y-%m-%d}",
        },
        "dp_variant": {
            "variant_name": _variant(config) if privacy.protected else "none",
            "data_domain": "Any number of rows of user id, latitude, longitude and time. Rows outside the public box "
            "and period, and rows that are no pings, are left out one by one.",
            "unprotected_quantities": unprotected + "; ".join(_unprotected(release)),
        },
        "privacy_loss": {
            "privacy_unit": unit.level.capitalize(),
            "privacy_unit_details": f"{unit.adjacency[0].upper()}{unit.adjacency[1:]}. A user is a value of the "
            f"input's column `{name_user_column(config)}`; a person with two of them is two users. {unit.over_time}",
            "privacy_parameters": _parameters(config) if privacy.protected else {"epsilon": "none: a test seed"},
            "privacy_parameters_details": _describe_stages(config),
        },
        "deployment_model": {
            "model_name": "Central",
            "trust_assumptions": "The curator, who holds the pings and runs the job, is trusted, with the machines "
            "it runs on. Whoever sees the release is not.",
            "actors": "Users, whose pings these are; the curator; readers of the release.",
            "release_type": "Many releases" if len(find_booked(entries)) > len(release.plan.draws) else "One release",
            "release_type_details": "Draws over the dataset are counted, each booked in a ledger; see composition. "
            "Further releases of one draw (other regions, other denoisers) cost nothing.",
            "data_source_type": "Static",
            "access_type": "Non-interactive",
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": f"{describe_bounding(release)} No setting was tuned on the "
            "pings by this software. Models are chosen and trained on the noisy counts alone.",
            "mechanisms": _mechanism(release),
            "composition": _composition(release, entries, account),
            "post_processing": f"{published.model}, then refinement ({config.refine.method}) from kept to all pings. "
            f"Both read {_describe_evidence(config)} only.",
            "justification": f"{_justify(config)} Discrete noise, because floating-point noise can be taken apart.",
            "utility": f"As estimated from the noisy counts alone: {accuracy}.",
            "additional_information": f"vdr-spark {published.code_version}; the proof stands in its docs/privacy.md; "
            "`vdr audit` checks this release.",
        },
    }


def _describe_evidence(config: ReleaseConfig) -> str:
    past = 0 if config.series is None else config.series.past
    return (
        f"stored noisy counts, its own and those of up to {past} earlier windows,"
        if past
        else "the stored noisy counts"
    )


def _ledger_length(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return how far the ledger was written, all datasets together: one that was cut off since can be told."""
    return {"entries": len(entries), "last_entry_hash": entries[-1].entry_hash if entries else ""}


def _unprotected(release: ReleasePlan) -> list[str]:
    privacy, grid = release.config.privacy, release.grid
    boxes = ", ".join(str(tuple(vars(grid.box).values())) for grid in release.plan.grids)
    total = (
        f"the number of all pings, {release.total_pings:,}, as declared"
        if privacy.estimate_total is None
        else f"the number of all pings is protected: it was estimated, for its share of {privacy.price.currency}"
    )
    return [
        total,
        f"box {boxes} (south, west, north, east), period {grid.start.isoformat()} to "
        f"{grid.end.isoformat()}, slice length and number of cells, by configuration",
        f"{privacy.bound_name} = {release.bound}, "
        + ("by configuration" if privacy.lambda_ is None else "a share of the number of pings"),
        "names and types of the input's columns, and where the input lies",
        "that the release was made, and when; that it could be made: a file that cannot be read stops the job",
    ]


def _mechanism(release: ReleasePlan) -> str:
    privacy, estimate = release.config.privacy, release.config.privacy.estimate_total
    source = "the operating system" if privacy.protected else "A TEST SEED"
    price, of_total, pure = privacy.cells_price.amount, privacy.total_price, release.scale is not None
    noise = (
        f"Discrete Laplace noise of scale k / epsilon = {release.bound} / {in_brackets(price)} = {release.scale}"
        if pure
        else f"Discrete Gaussian noise with sigma^2 = {privacy.bound_name}^2 / (2 rho) = "
        f"{release.bound}^2 / (2 x {price}) = {release.sigma_squared}"
    )
    text = (
        f"{noise} on every cell, the empty ones too: exact, in integers, from random bits of {source}; "
        f"standard deviation {release.noise.deviation:.4g}. Drawn once, and stored before anything reads it."
    )
    if privacy.sizes_price is not None:
        cost = privacy.sizes_price.amount
        size = f"of scale {1 / cost}" if pure else f"with sigma^2 = {1 / (2 * cost)}"
        text += f" A histogram of pings per user, by which k may be chosen: the same noise {size}, one user in one bin."
    if estimate is None or of_total is None:
        return text
    most = estimate.max_per_user
    size = f"of scale {most / of_total.amount}" if pure else f"with sigma^2 = {most**2 / (2 * of_total.amount)}"
    return f"{text} The number of pings: the same noise {size}, at most {most} pings of a user."


def _composition(release: ReleasePlan, entries: Sequence[Entry], account: Account) -> str:
    others = len(find_booked(entries).keys() - {draw.draw_id for draw in release.plan.draws})
    adding = "Epsilons of a dataset add up."
    if account.currency is Currency.RHO:
        adding = "The rhos of a dataset's draws add up; one of pure epsilon counts as epsilon^2 / 2."
    return (
        f"{adding} Dataset {account.dataset} has reserved or spent {account.describe_spending()} "
        f"granted, this release included; besides it there "
        + ("was 1 other draw. " if others == 1 else f"were {others} other draws. ")
        + "Other releases of the same draw cost nothing."
    )


def _variant(config: ReleaseConfig) -> str:
    return "Pure DP" if config.privacy.rho is None else "Zero-Concentrated DP"


def _parameters(config: ReleaseConfig) -> dict[str, float]:
    """Return the parameters of the whole release; of rho also what it is as an epsilon at a delta, rounded up."""
    privacy, promise = config.privacy, config.privacy.promise
    if privacy.rho is None or promise.delta is None:
        return {"epsilon": float(promise.epsilon)}
    return {"rho": float(privacy.rho), "epsilon": float(promise.epsilon), "delta": float(promise.delta)}


def _justify(config: ReleaseConfig) -> str:
    unit = config.privacy.promise.unit
    whole = "whole histories" if unit.stretch is None else f"all that a user did in one {unit.stretch}"
    if config.privacy.rho is None:
        return f"Pure epsilon at {unit.level} level, so that the promise holds for {whole} and adds up over releases."
    return (
        f"Zero-concentrated privacy at {unit.level} level, so that the promise holds for {whole}, and many releases "
        "add up to less than their epsilons would."
    )


def _describe_stages(config: ReleaseConfig) -> str:
    stages = "; ".join(f"{stage}: {amount}" for stage, amount in price_by_stage(config).items())
    if config.privacy.rho is None:
        return stages
    return f"In rho, {stages}. The epsilon is what rho is at this delta, by Google's dp-accounting, rounded up."
