"""A network that is trained on some days and denoises others, beside one that is trained on what it denoises.

The paper's figure: may a network that was trained once serve the days after? So may those that a series keeps
(`vdr_spark.denoise.priors.kept`); here without the check for drift, which would hide what is asked about.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import numpy as np

from vdr_spark.arrays import Slices
from vdr_spark.config.denoise import DenoiseSettings
from vdr_spark.denoise.estimation.fusion import fuse
from vdr_spark.denoise.priors.registry import network_run
from vdr_spark.errors import InvalidConfig
from vdr_spark.experiments.draws import Released, Setting, kept_of, make_noisy, plan_release
from vdr_spark.experiments.location_data import Data
from vdr_spark.plan import ReleasePlan
from vdr_spark.refine import choose_refinement
from vdr_spark.storage.tensor_file import Tensor

_NETWORKS = ("vqvae", "vae")


def release_last_slices(
    data: Data, setting: Setting, draw: int, judged: int, learn: int
) -> Iterator[tuple[str, Released]]:
    """Yield two releases of the last `judged` slices, by a network that learnt from as many slices each time.

    `out of sample` it learnt from those before, `in sample` from the last ones, the judged among them.
    """
    later = data.last(judged)
    plan = plan_release(setting, data.grid, len(data.cells))
    _require(plan.config.denoise, data.grid.slices, judged, learn)
    noisy = make_noisy(data, plan, draw)
    plan = plan_release(setting, later.grid, len(later.cells))
    before = len(noisy) - judged
    for sample, learnt in (("out of sample", noisy[before - learn : before]), ("in sample", noisy[-learn:])):
        denoised, kept = _denoise_by(learnt, noisy[before:], plan), kept_of(noisy[before:], plan)
        refined = choose_refinement(plan, kept, plan.total_pings, denoised).apply(denoised)
        yield sample, Released(refined.counts, refined.deviation)


def _denoise_by(learnt: Slices, judged: Slices, plan: ReleasePlan) -> Tensor:
    """Train on some noisy slices, (T, M, M), and denoise others."""
    # PyTorch takes seconds to import: only where it is used.
    from vdr_spark.denoise.priors.reconstruction import load_reconstructor, train_reconstructor

    settings = plan.config.denoise
    with tempfile.TemporaryDirectory(prefix="vdr-experiment-") as folder:
        run = network_run(settings, settings.models[0], folder)
        train_reconstructor(learnt, plan.noise, run)
        mean = np.maximum(load_reconstructor(judged, plan.noise, run).reconstruct(judged), 0)
    return fuse(mean, judged, plan.noise) if settings.uses_fusion else Tensor(mean)


def _require(settings: DenoiseSettings, slices: int, judged: int, learn: int) -> None:
    if settings.models[0] not in _NETWORKS or len(settings.models) > 1:
        raise InvalidConfig(
            f"method: what is trained on other slices must be one of {', '.join(_NETWORKS)}, not "
            f"{', '.join(settings.models)}; leave out the others, which learn from what they denoise"
        )
    if not judged <= learn <= slices - judged:
        raise InvalidConfig(
            f"learn_days must be at least judged_days, {judged} slices, and leave as many of all {slices}, not {learn} "
            "slices; ask for others, or for more days"
        )
