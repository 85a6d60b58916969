"""What a configuration will do, spend and need, worked out before any row is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from vdr_spark.cost import denoise_memory, estimate_cost, noisy_bytes, released_bytes, tensor_bytes
from vdr_spark.epsilon import NO_PROTECTION, describe_factor, in_brackets
from vdr_spark.pings.preview import preview_input
from vdr_spark.plan import Plan, Region
from vdr_spark.plan.series_promise import describe_series, opened_lasts
from vdr_spark.price import Currency
from vdr_spark.query.wording import format_moment
from vdr_spark.storage.free_space import format_bytes

_CLUSTER_CORES = 64  # to give an idea


@dataclass(frozen=True)
class Step:
    """One numbered stage: what it does, and what it spends of epsilon or rho."""

    title: str
    what: str
    spends: str


def explain(plan: Plan) -> str:
    """Return a page of plain text: the promise, the numbered stages, the noise, the sizes, what to be careful with.

    It reads no row: whether the input is there, and the types in one file's footer, is all that it looks at.
    """
    grid, zone = plan.grids[0], ZoneInfo(plan.config.period.timezone)
    currency = plan.config.privacy.price.currency
    lines = [
        *(
            f"Release {plan.release_id(region)}{_of_region(region)} of dataset {plan.config.dataset}"
            for region in plan.regions
        ),
        "",
        "Who is protected",
        *_describe_promise(plan),
        *_describe_series(plan),
        "",
        "What is published",
        *(_describe_grid(region) for region in plan.regions),
        f"  from {format_moment(grid.start, zone)} to {format_moment(grid.end, zone)}",
        "",
        "Stages",
        *(
            f"  {number}. {step.title:<8} {step.what}\n     {'':<8} spends {currency} {step.spends}"
            for number, step in enumerate(list_steps(plan), start=1)
        ),
        "",
        "Noise",
        *_describe_noise(plan),
        "",
        "What to expect",
        *_describe_sizes(plan),
    ]
    if cautions := [*plan.cautions(), *preview_input(plan.config.input, plan.config.synth is not None)]:
        lines += ["", "Be careful", *(f"  ! {caution}" for caution in cautions)]
    return "\n".join(lines)


def _describe_series(plan: Plan) -> list[str]:
    """Return what the promise means over the whole series of a window, and when its budget ends."""
    lasting = opened_lasts(plan.config)
    if lasting is None:
        return []
    opened = f"The budget as a first window opens it, {plan.config.privacy.opening_price}, {lasting}"
    return [
        "",
        "The series",
        *(f"  {sentence}" for sentence in describe_series(plan.config)),
        f"  {opened}, if nothing else is spent of it; what the ledger says is told by vdr series status.",
    ]


def _of_region(region: Region) -> str:
    return f" (region {region.name})" if region.name else ""


def _describe_grid(region: Region) -> str:
    grid = region.grid
    (height, width), side = grid.cell_metres, grid.cells_per_side
    return (
        f"  {side} x {side} cells of {width:.0f} m x {height:.0f} m, {grid.slices} slices of "
        f"{grid.slice_seconds / 3600:g} h: {grid.size:,} cells{_of_region(region)}"
    )


def list_steps(plan: Plan) -> list[Step]:
    """Return the stages in order."""
    config, privacy = plan.config, plan.config.privacy
    made = f"generated: {config.synth.kind}, seed {config.synth.seed}" if config.synth else config.input.layout
    fusion = ", fused with the noisy counts" if config.denoise.uses_fusion else ""
    everything = f"all {plan.declared_total:,}" if plan.declared_total is not None else "all, as estimated"
    return [
        Step(
            "reserve",
            f"book {_describe_booking(plan)} in the ledger {plan.ledger.table}",
            "0 (an unused reservation still counts)",
        ),
        *_list_estimate(plan),
        Step(
            "collect",
            f"read {config.input.location} ({made}), {_describe_bounding(plan)}, count, "
            f"add {privacy.mechanism} noise to every cell, store once",
            str(privacy.cells_price.amount),
        ),
        Step("denoise", f"{_describe_model(plan)}{fusion}, from the noisy tensor alone", "0 (post-processing)"),
        Step("refine", f"from pings kept to {everything} ({config.refine.method})", "0 (post-processing)"),
        Step("publish", f"Delta tables cells and releases in {plan.output.tables}", "0"),
    ]


def _describe_booking(plan: Plan) -> str:
    """Return the price, and what it is of a budget that is kept in the other currency."""
    privacy = plan.config.privacy
    kept = privacy.opening_price.currency
    if kept is privacy.price.currency:
        return str(privacy.price)
    return f"{privacy.price}, {kept} {privacy.cost_in(kept)} of a budget in {kept},"


def _list_estimate(plan: Plan) -> list[Step]:
    estimate, price = plan.config.privacy.estimate_total, plan.config.privacy.total_price
    sizes = _list_sizes(plan)
    if estimate is None or price is None:
        return sizes
    what = f"estimate the number of pings, at most {estimate.max_per_user:,} of each user, with noise; store once"
    return [*sizes, Step("total", what, str(price.amount))]


def _list_sizes(plan: Plan) -> list[Step]:
    price = plan.config.privacy.sizes_price
    if price is None:
        return []
    what = "draw a histogram of pings per user, one user in one bin, with noise; store once; for vdr advise"
    return [Step("sizes", what, str(price.amount))]


def _describe_model(plan: Plan) -> str:
    denoise = plan.config.denoise
    if denoise.model != "auto":
        return denoise.model
    return f"the best of {', '.join(denoise.models)} by its estimated error"


def _describe_bounding(plan: Plan) -> str:
    over = " over all regions together" if plan.config.regions else ""
    if plan.config.privacy.bounding == "l2":
        return f"weigh the pings of each user to counts of an L2 norm of at most {_describe_bound(plan)}{over}"
    if plan.config.privacy.bounding == "weight":
        return f"weigh the pings of each user to at most {_describe_bound(plan)} in sum{over}"
    return f"keep at most {_describe_bound(plan)} pings of each user{over}"


def _describe_bound(plan: Plan) -> str:
    if plan.known_bound is not None:
        return str(plan.known_bound)
    return f"k = {plan.config.privacy.lambda_:g} x (number of pings, as estimated)"


def _describe_promise(plan: Plan) -> list[str]:
    privacy = plan.config.privacy
    if not privacy.protected:
        return ["  NOBODY: privacy.test_seed is set, so anyone can compute the noise and take it away again."]
    promise = privacy.promise
    in_name = "" if promise.epsilon <= NO_PROTECTION else "No protection worth the name. To the letter: "
    stretch = promise.unit.stretch
    within, whole = ("in the period", "whole history") if stretch is None else (f"of one {stretch}", f"whole {stretch}")
    lines = [
        f"  {in_name}Every user, with all pings {within}, whatever an attacker knows or can compute:",
        f"  adding or removing one user's {whole} changes the probability of any release by at most a factor "
        f"of {describe_factor(promise.epsilon)} ({promise.parameters}){promise.beyond}.",
        "  Against whoever sees the release. Not against the operator who holds the pings.",
    ]
    if privacy.rho is not None:
        lines.append(
            f"  Its price is {privacy.described_price}, rounded up. Prices of releases add up in rho; the epsilon of "
            "their sum grows more slowly (vdr budget convert)."
        )
    return lines if stretch is None else [*lines, f"  {promise.unit.over_time}"]


def _describe_noise(plan: Plan) -> list[str]:
    privacy, noise = plan.config.privacy, plan.known_noise
    price, pure = privacy.cells_price, privacy.price.currency is Currency.EPSILON
    formula = "scale k / epsilon" if pure else f"sigma {privacy.bound_name} / sqrt(2 rho)"
    if plan.known_bound is not None and noise is not None:
        divisor = in_brackets(price.amount) if pure else f"sqrt(2 x {price.amount})"
        lines = [
            f"  {formula} = {plan.known_bound} / {divisor} = {noise.scale:.4g}, "
            f"standard deviation {noise.deviation:.4g} in every cell"
        ]
    else:
        lines = [f"  {formula}, with {_describe_bound(plan)}, {price}"]
    if plan.declared_total is not None:
        lines.append(f"  pings in the mean cell before bounding: {plan.declared_total / plan.cells:.3g}")
        if noise is not None:
            total, of_slice = (noise.deviation * math.sqrt(cells) for cells in (plan.cells, plan.cells / plan.slices))
            lines.append(
                f"  noise of the sum over a slice: deviation {of_slice:,.0f}; of the total: {total:,.0f}, "
                f"beside at most {plan.declared_total:,} pings that are kept"
            )
    lines.append(f"  whether another {privacy.bound_name} may be expected to give less error: vdr advise")
    if privacy.estimate_total is not None and plan.noise_of_total is not None:
        most, of_total = privacy.estimate_total.max_per_user, plan.noise_of_total
        lines.append(
            f"  number of pings: {'scale' if pure else 'sigma'} {of_total.scale:.4g}; users with more than {most:,} "
            "lower it"
        )
    return lines


def _describe_sizes(plan: Plan) -> list[str]:
    size = plan.cells
    lines = [
        f"  driver memory for denoising   about {format_bytes(denoise_memory(plan, size))} "
        f"(the tensor itself: {format_bytes(tensor_bytes(size))})",
        f"  disk for the released cells   about {format_bytes(released_bytes(size))}",
    ]
    noisy = noisy_bytes(plan)
    if plan.declared_total is None or noisy is None:
        return [*lines, "  time, shuffle and memory of collecting depend on the number of pings, which is not known"]
    cost = estimate_cost(plan, plan.declared_total)
    return [
        *lines,
        f"  disk for the noisy slices     about {format_bytes(noisy)}",
        f"  shuffled between executors    about {format_bytes(cost.shuffled)}",
        f"  memory of a counting task     about {format_bytes(cost.task_memory)} ({cost.tasks} tasks)",
        f"  collecting                    about {_duration(cost.core_s)} of one core, most of it {cost.dominant}; "
        f"{_duration(cost.core_s / _CLUSTER_CORES)} on {_CLUSTER_CORES} cores",
    ]


def _duration(seconds: float) -> str:
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds >= length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.2g} seconds"
