"""What a configuration will do, spend and need, worked out before any data are read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from vdr_spark.config import ReleaseConfig
from vdr_spark.cost import cost_of_release
from vdr_spark.privacy.mechanism import noise_variance
from vdr_spark.storage.workspace import Workspace

# Bytes, from runs of the demo and of 576 x 576 x 96 cells; what they are used for is rounded anyway.
_CELL_ROW = 10  # a row of `cells` in Parquet: its count and deviation hardly compress, the rest nearly vanishes
_CLUSTER = 64  # cores, to give an idea
_TENSOR_COPIES = 16  # of float32 that denoising holds at once


@dataclass(frozen=True)
class Step:
    """One numbered stage: what it does, and the epsilon it spends."""

    title: str
    what: str
    spends: str


def explain(config: ReleaseConfig) -> str:
    """A page of plain text: the promise, the numbered stages, the noise, the sizes, and what to be careful with."""
    lines = [
        *(f"Release {view.release_id}{_of_region(view)} of dataset {config.dataset}" for view in config.views()),
        "",
        "Who is protected",
        *_promise(config),
        "",
        "What is published",
        *(_grid(view) for view in config.views()),
        f"  from {config.grids[0].start:%Y-%m-%d %H:%M} to {config.grids[0].end:%Y-%m-%d %H:%M} UTC",
        "",
        "Stages",
        *(
            f"  {number}. {step.title:<8} {step.what}\n     {'':<8} spends epsilon {step.spends}"
            for number, step in enumerate(steps(config), start=1)
        ),
        "",
        "Noise",
        *_noise(config),
        "",
        "What to expect",
        *_sizes(config),
    ]
    if cautions := config.cautions():
        lines += ["", "Be careful", *(f"  ! {caution}" for caution in cautions)]
    return "\n".join(lines)


def _of_region(view: ReleaseConfig) -> str:
    return f" (region {view.focus})" if view.focus else ""


def _grid(view: ReleaseConfig) -> str:
    grid = view.domain
    (height, width), side = grid.cell_metres, grid.cells_per_side
    return (
        f"  {side} x {side} cells of {width:.0f} m x {height:.0f} m, {grid.slices} slices of "
        f"{grid.slice_seconds / 3600:g} h: {grid.size:,} cells{_of_region(view)}"
    )


def steps(config: ReleaseConfig) -> list[Step]:
    """The stages in order."""
    privacy, workspace = config.privacy, Workspace.of(config)
    made = f"generated: {config.synth.kind}, seed {config.synth.seed}" if config.synth else config.input.layout
    fusion = ", fused with the noisy counts" if config.denoise.fused else ""
    everything = f"all {privacy.total:,}" if privacy.total_is_known else "all, as estimated"
    return [
        Step(
            "reserve",
            f"book epsilon {privacy.epsilon} in the ledger {workspace.ledger}",
            "0 (an unused reservation still counts)",
        ),
        *_estimate(config),
        Step(
            "collect",
            f"read {config.input.location} ({made}), {_bounded(config)}, count, "
            f"add {privacy.mechanism} noise to every cell, store once",
            str(privacy.cells_epsilon),
        ),
        Step("denoise", f"{_model(config)}{fusion}, from the noisy tensor alone", "0 (post-processing)"),
        Step(
            "refine",
            f"from pings kept to {everything} ({config.refine.method})",
            "0 (post-processing)",
        ),
        Step("publish", f"Delta tables cells and releases in {workspace.root}", "0"),
    ]


def _estimate(config: ReleaseConfig) -> list[Step]:
    estimate = config.privacy.estimate_total
    if estimate is None:
        return []
    what = f"estimate the number of pings, at most {estimate.most_per_user:,} of each user, with noise; store once"
    return [Step("total", what, str(config.privacy.total_epsilon))]


def _model(config: ReleaseConfig) -> str:
    tried = config.denoise.tried
    return tried[0] if config.denoise.model != "auto" else f"the best of {', '.join(tried)} by its estimated error"


def _bounded(config: ReleaseConfig) -> str:
    over = " over all regions together" if config.regions else ""
    if config.privacy.bounding == "weight":
        return f"weigh the pings of each user to at most {_k(config)} in sum{over}"
    return f"keep at most {_k(config)} pings of each user{over}"


def _k(config: ReleaseConfig) -> str:
    known = config.privacy.k is not None or config.privacy.total_is_known
    return str(config.privacy.bound) if known else f"k = {config.privacy.lambda_:g} x (number of pings, as estimated)"


def _promise(config: ReleaseConfig) -> list[str]:
    epsilon = float(config.privacy.epsilon)
    if not config.privacy.protected:
        return ["  NOBODY: privacy.test_seed is set, so anyone can compute the noise and take it away again."]
    odds = f"{math.exp(epsilon):,.4g}" if epsilon < 700 else "astronomically many"
    return [
        "  Every user, with all pings in the period, whatever an attacker knows or can compute:",
        f"  adding or removing one user's whole history changes the probability of any release by at most a factor "
        f"of {odds} (epsilon {config.privacy.epsilon}).",
        "  Against whoever sees the release. Not against the operator who holds the pings.",
    ]


def _noise(config: ReleaseConfig) -> list[str]:
    privacy = config.privacy
    estimate, lines = privacy.estimate_total, []
    if privacy.k is not None or privacy.total_is_known:
        lines.append(
            f"  scale k / epsilon = {privacy.bound} / {_bracketed(privacy.cells_epsilon)} "
            f"= {float(privacy.scale):.4g}, standard deviation {noise_variance(privacy) ** 0.5:.4g} in every cell"
        )
    else:
        lines.append(f"  scale k / epsilon, with {_k(config)}, epsilon {privacy.cells_epsilon}")
    if privacy.total_is_known:
        expected = privacy.total / sum(grid.size for grid in config.grids)
        lines.append(f"  pings in the mean cell before bounding: {expected:.3g}")
    if estimate is not None:
        scale = float(estimate.most_per_user / privacy.total_epsilon)
        lines.append(f"  number of pings: scale {scale:.4g}; users with more than {estimate.most_per_user:,} lower it")
    return lines


def _bracketed(epsilon: Fraction) -> str:
    return str(epsilon) if epsilon.denominator == 1 else f"({epsilon})"


def _sizes(config: ReleaseConfig) -> list[str]:
    size = sum(grid.size for grid in config.grids)
    lines = [
        f"  driver memory for denoising   about {_bytes(4 * size * _TENSOR_COPIES)} "
        f"(the tensor itself: {_bytes(4 * size)})",
        f"  disk for the released cells   about {_bytes(size * _CELL_ROW)}",
    ]
    if not config.privacy.total_is_known:
        return [*lines, "  time, shuffle and memory of collecting depend on the number of pings, which is not known"]
    cost = cost_of_release(config)
    noisy = size * (math.log2(2 * math.e * max(1.0, float(config.privacy.scale * config.privacy.unit))) + 3) / 8
    return [
        *lines,
        f"  disk for the noisy slices     about {_bytes(noisy)}",
        f"  shuffled between executors    about {_bytes(cost.shuffled)}",
        f"  memory of a counting task     about {_bytes(cost.task_memory)} ({cost.tasks} tasks)",
        f"  collecting                    about {_duration(cost.core_s)} of one core, most of it {cost.dominant}; "
        f"{_duration(cost.core_s / _CLUSTER)} on {_CLUSTER} cores",
    ]


def _duration(seconds: float) -> str:
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds >= length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.2g} seconds"


def _bytes(number: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"
