"""The privacy statement: what a release promises, to whom, at what price, and what it does not promise.

`deployment` uses the field names of OpenDP's registry of deployments; `questions` answers what NIST SP 800-226 asks of
a claim of differential privacy; `exact` holds the same figures for programs. Nothing in it depends on the data beyond
what was paid for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from vdr_spark.config import ReleaseConfig
from vdr_spark.epsilon import GOOD_PRACTICE, NO_PROTECTION, find_weakness, in_brackets
from vdr_spark.pings.layouts import LAYOUTS
from vdr_spark.plan import ReleasePlan
from vdr_spark.plan.series_promise import describe_series, exact_series
from vdr_spark.price import Currency
from vdr_spark.privacy.accounting import Account, Entry, State, balance
from vdr_spark.promise import Promise
from vdr_spark.signal import Signal

UNPROTECTED = "UNPROTECTED: the noise came from a test seed, anyone can compute it. This release protects nobody."


@dataclass(frozen=True)
class Published:
    """What is known of a release only when it is published: the rest follows from its configuration and the ledger."""

    created: datetime
    model: str
    estimated_rmse: float | None
    noisy_total: float
    noisy_total_deviation: float
    slices_told: int
    noise_deviation: float
    sum_errors: list[dict[str, Any]] | None
    released_total: float | None
    sum_deviation: float | None
    total_deviation: float | None
    gamma: float
    kappa: float
    cells_sha256: str
    code_version: str
    configuration_hash: str

    def signal(self, release: ReleasePlan) -> Signal:
        """Return how far the noisy sums stand out from their noise."""
        return Signal(
            self.noisy_total, self.noisy_total_deviation, release.grid.slices, self.slices_told, release.total_pings
        )

    @property
    def has_error_bars(self) -> bool:
        return self.model == "identity" or self.model.endswith("+fusion")


def write_statement(release: ReleasePlan, published: Published, entries: Sequence[Entry]) -> dict[str, Any]:
    """Write the statement of one release; `entries` are the ledger's so far."""
    own = [entry for entry in entries if entry.dataset == release.config.dataset]
    account = balance(entries, release.config.dataset)
    return {
        "release_id": release.release_id,
        "protected": release.protected,
        "warning": _warning(release.config),
        "deployment": _deployment(release, published, own, account),
        "questions": _questions(release, published),
        "exact": _exact(release, published, own, account) | {"ledger": _ledger_length(entries)} | _series(release),
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
            f"input's column `{_user_column(config)}`; a person with two of them is two users. {unit.over_time}",
            "privacy_parameters": _parameters(config) if privacy.protected else {"epsilon": "none: a test seed"},
            "privacy_parameters_details": _describe_stages(config),
        },
        "deployment_model": {
            "model_name": "Central",
            "trust_assumptions": "The curator, who holds the pings and runs the job, is trusted, with the machines "
            "it runs on. Whoever sees the release is not.",
            "actors": "Users, whose pings these are; the curator; readers of the release.",
            "release_type": "Many releases" if len(_draws(entries)) > len(release.plan.draws) else "One release",
            "release_type_details": "Draws over the dataset are counted, each booked in a ledger; see composition. "
            "Further releases of one draw (other regions, other denoisers) cost nothing.",
            "data_source_type": "Static",
            "access_type": "Non-interactive",
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": f"{_bounding(release)} No setting was tuned on the pings by "
            "this software. Models are chosen and trained on the noisy counts alone.",
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


def _user_column(config: ReleaseConfig) -> str:
    return config.input.columns.get("user_id") or LAYOUTS[config.input.layout].columns["user_id"]


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


def _bounding(release: ReleasePlan) -> str:
    privacy, k = release.config.privacy, release.bound
    over = " in all regions together" if release.config.regions else ""
    if privacy.bounding == "l2":
        return (
            f"The pings of a user{over} are weighed alike, so that the user's counts over all cells have an L2 norm of "
            f"at most {k}, in units of 1/{privacy.units_per_ping}."
        )
    if privacy.bounding == "weight":
        return f"The pings of a user{over} weigh at most {k} in sum, in units of 1/{privacy.units_per_ping}."
    return f"Of the pings of a user{over} at most {k} are kept, chosen by a keyed hash."


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


def _draws(entries: Sequence[Entry]) -> dict[str, Entry]:
    """Return the draws of a dataset that were booked, each with its last entry."""
    return {entry.draw_id: entry for entry in entries if entry.state in (State.RESERVED, State.SPENT)}


def _composition(release: ReleasePlan, entries: Sequence[Entry], account: Account) -> str:
    others = len(_draws(entries).keys() - {draw.draw_id for draw in release.plan.draws})
    adding = "Epsilons of a dataset add up."
    if account.currency is Currency.RHO:
        adding = "The rhos of a dataset's draws add up; one of pure epsilon counts as epsilon^2 / 2."
    return (
        f"{adding} Dataset {account.dataset} has reserved or spent {account.describe_spending()} "
        f"granted, this release included; besides it there "
        + ("was 1 other draw. " if others == 1 else f"were {others} other draws. ")
        + "Other releases of the same draw cost nothing."
    )


def _by_stage(config: ReleaseConfig) -> dict[str, str]:
    """Return what each stage costs, exact, in the release's currency."""
    sizes, total = config.privacy.sizes_price, config.privacy.total_price
    estimate = {name: str(of.amount) for name, of in (("sizes", sizes), ("total", total)) if of is not None}
    nothing = dict.fromkeys(("denoise", "refine", "publish"), "0")
    return estimate | {"collect": str(config.privacy.cells_price.amount)} | nothing


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
    stages = "; ".join(f"{stage}: {amount}" for stage, amount in _by_stage(config).items())
    if config.privacy.rho is None:
        return stages
    return f"In rho, {stages}. The epsilon is what rho is at this delta, by Google's dp-accounting, rounded up."


def _ask_about_series(config: ReleaseConfig) -> dict[str, str]:
    sentences = describe_series(config)
    return {"What does the promise mean over the whole series?": " ".join(sentences)} if sentences else {}


def _questions(release: ReleasePlan, published: Published) -> list[dict[str, str]]:
    """Answer what NIST SP 800-226 would have a reader ask, from the top of its pyramid down."""
    config = release.config
    promise = config.privacy.promise
    strength = find_weakness(promise.epsilon, promise.delta) or f"below {GOOD_PRACTICE}, as is good practice."
    parameter = f"{_describe_parameter(config)}. {strength[0].upper()}{strength[1:]}"
    bars = "Each cell has an error bar." if published.has_error_bars else "Cells have no error bars."
    declared = "No, provided that the declared number of pings is public. See unprotected quantities."
    answers = {
        "What is the privacy parameter, and is it small enough?": parameter
        if config.privacy.protected
        else UNPROTECTED,
        "What is the unit of privacy?": f"The user with all pings {_part_of_time(promise)}: {promise.unit.adjacency}. "
        f"{promise.unit.over_time}",
        **_ask_about_series(config),
        "What else was released about the same people?": "The ledger knows; see composition. Releases under another "
        "dataset name, or by others, are not counted.",
        "Is the mechanism right, and free of floating-point leaks?": "Noise and counts are integers; the sampler "
        "compares random bits with exact thresholds. Tests audit the whole job, and broken variants of it.",
        "Is the contribution of a user really bounded?": _bounding(release),
        "Is anything taken from the data without being paid for?": "No. See unprotected quantities."
        if config.privacy.estimate_total
        else declared,
        "Which biases does it introduce?": "Bounding underrates people with many pings, and the places they go to. "
        f"Denoising draws rare spots towards what is expected of them. {bars}",
        "Whom must one trust?": "The curator and the machines: the central model.",
        "Which side channels remain?": "How long the job takes, Spark's own logs and user interface, and what the "
        "operator sees. Publish tables, not logs.",
        "How are pings secured and accessed?": "Not by this software, but for its temporary files, which are "
        "encrypted unless the operator has switched that off. No exact number is written to any table.",
        "How were the pings collected, and did people agree?": "Not known to this software; ask the curator.",
    }
    return [{"question": question, "answer": answer} for question, answer in answers.items()]


def _describe_parameter(config: ReleaseConfig) -> str:
    privacy, promise = config.privacy, config.privacy.promise
    if privacy.rho is None:
        return f"epsilon = {privacy.epsilon}, pure"
    return f"rho = {privacy.rho}, zero-concentrated; as {promise.parameters}, rounded up"


def _part_of_time(promise: Promise) -> str:
    return "of the period" if promise.unit.stretch is None else f"of one {promise.unit.stretch}"


def _exact(release: ReleasePlan, published: Published, entries: Sequence[Entry], account: Account) -> dict[str, Any]:
    config, grid = release.config, release.grid
    privacy, estimate = config.privacy, config.privacy.estimate_total
    return {
        "privacy_unit": privacy.unit,
        "user_column": _user_column(config),
        "adjacency": privacy.promise.unit.adjacency,
        **_exact_price(release),
        "mechanism": privacy.mechanism,
        "k": release.k,
        "bounding": privacy.bounding,
        "sensitivity_l1": release.k,
        **({} if release.norm is None else {"norm": release.norm, "sensitivity_l2": release.norm}),
        "units_per_ping": privacy.units_per_ping,
        "total_pings": {
            "value": release.total_pings,
            "source": "estimated" if estimate else "declared public",
            "max_per_user": estimate.max_per_user if estimate else None,
        },
        "box": vars(grid.box),
        "boxes_under_the_same_bound": [vars(other.box) for other in release.plan.grids],
        "period": [grid.start.isoformat(), grid.end.isoformat()],
        "timezone": config.period.timezone,  # in which answers are given; the moments above are what they are
        "slice_seconds": grid.slice_seconds,
        "cells_per_side": grid.cells_per_side,
        "concentration": config.refine.concentration if config.refine.method == "gamma" else None,
        "model": published.model,
        "refinement": config.refine.method,
        "draws": [
            {
                "draw_id": entry.draw_id,
                "purpose": entry.purpose,
                entry.price.currency.value: str(entry.price.amount),
                "state": entry.state,
                "ledger_entry": entry.sequence,
                "ledger_entry_hash": entry.entry_hash,
            }
            for entry in _draws(entries).values()
        ],
        "granted": str(account.granted),
        "committed": str(account.committed),
        **_exact_budget(account),
        "cells_sha256": published.cells_sha256,
        "configuration_hash": published.configuration_hash,
        "code_version": published.code_version,
        "created": published.created.isoformat(),
    }


def _exact_price(release: ReleasePlan) -> dict[str, Any]:
    """Return the price, by stage, and the noise that it buys. One of pure epsilon says no word of rho, as ever."""
    privacy, stages = release.config.privacy, _by_stage(release.config)
    if privacy.rho is None:
        return {"epsilon": str(privacy.epsilon), "epsilon_by_stage": stages, "scale": str(release.scale)}
    return {
        "rho": str(privacy.rho),
        "delta": str(privacy.delta),
        "epsilon": privacy.promise.figure,
        "rho_by_stage": stages,
        "sigma_squared": str(release.sigma_squared),
    }


def _exact_budget(account: Account) -> dict[str, str]:
    """Return the currency of the budget, and the epsilons that it is at its delta; nothing where it is pure epsilon."""
    if account.currency is Currency.EPSILON:
        return {}
    return {
        "budget_currency": account.currency.value,
        "budget_delta": str(account.delta),
        "granted_epsilon": account.tell_epsilon(account.granted),
        "committed_epsilon": account.tell_epsilon(account.committed),
    }
