"""Settings that are each allowed, and together hardly meant so: told as cautions, since only a person knows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vdr_spark.plan.plan import Plan

_FEW_PERCENT = 0.05
_SURE = 3.0  # deviations of the noise above which something is there
_DAY = 86_400  # seconds
_ANTARCTIC = -60.0  # degrees; nobody lives south of it


def find_contradictions(plan: Plan) -> Iterator[str]:
    """Yield in sentences what contradicts itself, by settings alone."""
    looks = (
        _look_at_bounds,
        _look_at_signal,
        _look_at_generated_pings,
        _look_at_slices,
        _look_at_reconstruction,
        _look_at_refinement,
        _look_at_places,
    )
    for look in looks:
        yield from look(plan)


def _look_at_bounds(plan: Plan) -> Iterator[str]:
    bound, total, estimate = plan.known_bound, plan.declared_total, plan.config.privacy.estimate_total
    name = plan.config.privacy.bound_name
    if bound is not None and total is not None and bound > total:
        yield (
            f"privacy.{name} ({bound:,}) is larger than privacy.total_pings ({total:,}), and no user has more pings "
            f"than all users together: one of them is wrong. The noise is made for {name}."
        )
    if bound is not None and estimate is not None and estimate.max_per_user < bound:
        yield (
            f"privacy.estimate_total.max_per_user ({estimate.max_per_user:,}) is smaller than {name} ({bound:,}): N "
            "would count fewer pings of a user than the cells do. Raise it."
        )


def _look_at_signal(plan: Plan) -> Iterator[str]:
    noise, total = plan.known_noise, plan.declared_total
    if noise is None or total is None:
        return
    deviation, name = noise.deviation * math.sqrt(plan.cells), plan.config.privacy.bound_name
    if total < _SURE * deviation and (plan.known_bound or 0) <= total:
        yield (
            f"the signal will drown: the noise of all {plan.cells:,} cells together has a deviation of "
            f"{deviation:,.0f} pings, and there are {total:,} in all, of which {name} keeps some. Even the total "
            f"could not be told from zero: use a larger {plan.config.privacy.price.currency}, a smaller {name}, a "
            "coarser grid or fewer slices."
        )


def _look_at_generated_pings(plan: Plan) -> Iterator[str]:
    synth, total = plan.config.synth, plan.declared_total
    if synth is not None and total is not None and abs(total / synth.pings - 1) > _FEW_PERCENT:
        yield (
            f"synth.pings ({synth.pings:,}) and privacy.total_pings ({total:,}) disagree: released counts are "
            "scaled to the latter."
        )


def _look_at_slices(plan: Plan) -> Iterator[str]:
    seconds = plan.config.period.slice
    if seconds < _DAY and _DAY % seconds:
        yield (
            f"period.slice ({seconds} s) does not divide a day: a slice lies at another hour every day, and forecasts "
            "see no daily rhythm. 1h, 2h, 3h, 4h, 6h, 8h and 12h do."
        )


def _look_at_reconstruction(plan: Plan) -> Iterator[str]:
    denoise = plan.config.denoise
    if not denoise.uses_fusion and (models := [name for name in denoise.models if name in ("vqvae", "vae")]):
        yield (
            f"denoise.fusion is false, and `{models[0]}` lets some of the noise through: in empty country that adds up "
            "to many times the people there, and counts scaled to N are as much too small where people are. Leave "
            "denoise.fusion on, unless single busy cells before scaling are all you ask for (docs/training.md)."
        )


def _look_at_refinement(plan: Plan) -> Iterator[str]:
    refine = plan.config.refine
    if refine.method == "gamma" and plan.config.denoise.uses_fusion:
        yield (
            "refine.method: `gamma` shrinks counts because noise is in them, and denoise.fusion has shrunk them "
            "already. Take `calibrated`, or set denoise.fusion: false, as the paper does."
        )
    if refine.method != "gamma" and "concentration" in refine.model_fields_set:
        yield f"refine.concentration is used by `gamma` only, and refine.method is `{refine.method}`."


def _look_at_places(plan: Plan) -> Iterator[str]:
    for region in plan.regions:
        if region.grid.box.south < _ANTARCTIC:
            where = f"regions.{region.name}" if region.name else "region"
            yield f"{where}: the box lies in the Antarctic; `center` is latitude first, then longitude."
