"""Draws of the noise over known pings, and what is released of them, in memory: what the benchmarks measure."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC

import numpy as np
import yaml
from location_data import Preset
from numpy.typing import NDArray

from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.stage import denoise_tensor
from vdr_spark.plan import ReleasePlan, make_plan
from vdr_spark.privacy.randomness import seeded_words
from vdr_spark.progress import NullProgress
from vdr_spark.refine import choose_refinement, estimate_kept, refine_sum_errors
from vdr_spark.storage.tensor_file import Tensor
from vdr_spark.sum_errors import SumErrors


def plan_release(
    arguments: argparse.Namespace, preset: Preset, epsilon: str, method: str, truth: NDArray[np.float32]
) -> ReleasePlan:
    model, _, form = method.partition("+")
    alone = form == "prior" or (model in ("vqvae", "vae") and form != "fusion")
    denoise: dict[str, object] = {"model": model.removesuffix("_gamma"), "fusion": not alone}
    if model.startswith("identity"):
        del denoise["fusion"]
    for assignment in arguments.set:
        key, _, value = assignment.partition("=")
        section, _, name = key.rpartition(".")
        place: dict[str, object] = denoise if not section else denoise.setdefault(section, {})  # type: ignore[assignment]
        place[name] = yaml.safe_load(value)
    box = preset.box
    total = int(truth.sum(dtype=np.float64))
    config = ReleaseConfig.model_validate(
        {
            "name": "accuracy",
            "dataset": "accuracy",
            "output": "nothing-is-written-here",
            "input": {"path": str(arguments.input)},
            "region": {"south": box.south, "west": box.west, "north": box.north, "east": box.east},
            "grid": {"cells_per_side": arguments.cells or preset.cells},
            "period": {
                "start": preset.start,
                "end": preset.start.fromtimestamp(
                    preset.start.timestamp() + 3600 * preset.hours * preset.slices, tz=UTC
                ),
                "slice": f"{preset.hours}h",
            },
            "privacy": {
                "epsilon": epsilon,
                "accept_weak_promise": True,  # whatever epsilon is asked for: nothing is released
                "k": preset.k if preset.users == "none" else arguments.k or preset.k,
                "bounding": "sample" if preset.users == "none" else arguments.bounding,
                "total_pings": total,
                "budget": epsilon,
            },
            "denoise": denoise,
            "refine": {
                "method": "gamma" if method == "identity_gamma" else "calibrated",
                "users": "vehicles" if preset.roam else "people",
            },
        }
    )
    return make_plan(config).releases(total)[0]


def sample_noise(plan: ReleasePlan, draw: int, slices: Sequence[int]) -> NDArray[np.float64]:
    """Sample noise of the plan's slices, of these numbers, by a seed, so that every method sees the same draws."""
    grid, mechanism = plan.grid, plan.noise.mechanism
    layers = [mechanism.sample(grid.cells_per_side**2, seeded_words(draw, number)) for number in slices]
    noise: NDArray[np.float64] = np.stack(layers).reshape(grid.shape) / plan.noise.units_per_ping
    return noise


def denoise_and_refine(noisy: NDArray[np.float32], plan: ReleasePlan) -> tuple[Tensor, SumErrors | None]:
    with tempfile.TemporaryDirectory(prefix="vdr-accuracy-") as folder:
        settings, day = plan.config.denoise, plan.grid.slices_per_day
        tensor, notes = denoise_tensor(noisy, plan.noise, day, settings, folder, NullProgress())
    denoising = {"sum_errors": notes.pop("sum_errors", None)}
    print(f"  {notes}", file=sys.stderr, flush=True)
    kept = estimate_kept(float(noisy.sum(dtype=np.float64)), plan.total_pings)
    refinement = choose_refinement(plan, kept, plan.total_pings, tensor)
    errors = refine_sum_errors(plan, denoising, refinement.factor, kept, kept)
    return refinement.apply(tensor, errors), errors
