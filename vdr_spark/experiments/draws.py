"""Draws of the noise over known pings, and what is released of them, in memory and without Spark.

What a release would publish: bounded counts, exact noise by a seed, the denoiser of the configuration, refinement.
Beside it the published methods of `vdr_spark.baselines` over the same bounded counts. All of it is compared with the
truth, which was known, so NOTHING HERE IS A PROTECTED RELEASE.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from vdr_spark.arrays import Slices
from vdr_spark.baselines import BASELINES, estimate, find_baseline
from vdr_spark.config import ReleaseConfig
from vdr_spark.config.sentences import describe_errors
from vdr_spark.conversion import rho_for
from vdr_spark.denoise.past.evidence import PastEvidence
from vdr_spark.denoise.stage import denoise_tensor
from vdr_spark.errors import InvalidConfig
from vdr_spark.experiments.location_data import Data
from vdr_spark.grid import Grid
from vdr_spark.plan import ReleasePlan, make_plan
from vdr_spark.privacy.randomness import seeded_words
from vdr_spark.progress import NullProgress
from vdr_spark.refine import choose_refinement, estimate_kept, gamma, refine_sum_errors
from vdr_spark.storage.tensor_file import Tensor
from vdr_spark.sum_errors import SumErrors

logger = logging.getLogger(__name__)

CONCENTRATION = 5e-5  # C of the paper's gamma, where nothing better is known
_RAW = "_raw"
SCALED = ("scaled_noisy", "gamma_noisy")  # the noisy tensor by floating point, as baselines have it; then scaled


@dataclass(frozen=True)
class Released(Tensor):
    """What is released; its error bars were widened by clumps of this size."""

    clump: float = 0.0  # released pings


@dataclass(frozen=True)
class Setting:
    """How one release is made: everything but the pings and the noise.

    `method` is a model of `denoise.model` with fusion; `vqvae` and `vae` are the models alone, and `vqvae+fusion` is
    with it; `ridge+prior` is what a model predicts before fusion. All are scaled by `calibrated` refinement, which is
    N / n without fusion, n being the sum of the estimate; `identity_gamma` and `vqvae_gamma` by the paper's gamma, so
    that the latter is the paper's VDR; `vqvae_raw` by N / n with n of the noisy tensor, so that it is the model as it
    is where every ping counts. Any other name is a baseline's.
    """

    method: str = "ridge"
    epsilon: str = "6"
    k: int = 1  # pings of a user, or the norm where `bounding` is l2
    are_users: bool = True  # or every ping is protected for itself: k is 1
    roam: bool = False  # vehicles, not people
    bounding: str = "sample"
    delta: str | None = None  # Gaussian noise, of the rho that is (epsilon, delta); None: pure epsilon, Laplace
    refine: str | None = None  # of the section `refine`; None: `calibrated`, or `gamma` where the method says so
    concentration: float = CONCENTRATION
    denoise: Mapping[str, object] = field(default_factory=dict)  # dotted names of that section, as vqvae.epochs

    @property
    def is_baseline(self) -> bool:
        """Whether a published method makes the estimate, and not ours."""
        return self.method in SCALED or (self.method in BASELINES and self.method != "identity")

    @property
    def model(self) -> str:
        """The model, and whether its prior is asked for or fusion."""
        return self.method.removesuffix("_gamma").removesuffix(_RAW)

    @property
    def refinement(self) -> str:
        """How the estimate is scaled from kept to all pings."""
        return self.refine or ("gamma" if self.method.endswith("_gamma") else "calibrated")


def nest(settings: Mapping[str, object]) -> dict[str, Any]:
    """Return dotted names as sections in sections: {"vqvae.epochs": 3} -> {"vqvae": {"epochs": 3}}."""
    tree: dict[str, Any] = {}
    for name, value in settings.items():
        *sections, last = name.split(".")
        node = tree
        for section in sections:
            node = node.setdefault(section, {})
        node[last] = value
    return tree


def plan_release(setting: Setting, grid: Grid, total: int) -> ReleasePlan:
    """Return the plan of a release of `total` pings, which are declared. Refuses what a configuration refuses."""
    model, _, form = setting.model.partition("+")
    alone = form == "prior" or (model in ("vqvae", "vae") and form != "fusion")
    denoise: dict[str, object] = {"model": model, "fusion": not alone}
    if model == "identity":
        del denoise["fusion"]
    config = _validated(
        {
            "name": "experiment",
            "dataset": "experiment",
            "output": "nothing-is-written-here",
            "input": {"path": "nothing-is-read-here"},
            "region": {key: getattr(grid.box, key) for key in ("south", "west", "north", "east")},
            "grid": {"cells_per_side": grid.cells_per_side},
            "period": {"start": grid.start, "end": grid.end, "slice": grid.slice_seconds},
            "privacy": {
                "accept_weak_promise": True,  # whatever epsilon is asked for: nothing is released
                "total_pings": total,
                **_price(setting),
                **_bound(setting),
            },
            "denoise": denoise | nest(setting.denoise),
            "refine": {
                "method": setting.refinement,
                "concentration": setting.concentration,
                "users": "vehicles" if setting.roam else "people",
            },
        }
    )
    return make_plan(config).releases(total)[0]


def _price(setting: Setting) -> dict[str, str]:
    if setting.delta is None:
        return {"epsilon": setting.epsilon}
    return {"rho": str(rho_for(Fraction(setting.epsilon), Fraction(setting.delta))), "delta": setting.delta}


def _bound(setting: Setting) -> dict[str, object]:
    bounding = setting.bounding if setting.are_users else "sample"
    return {"bounding": bounding, "norm" if bounding == "l2" else "k": setting.k}


def _validated(tree: dict[str, object]) -> ReleaseConfig:
    try:
        return ReleaseConfig.model_validate(tree)
    except ValidationError as problem:
        raise InvalidConfig(f"the settings of an experiment are not valid:\n{describe_errors(problem)}") from None


def sample_noise(plan: ReleasePlan, draw: int, slices: Sequence[int]) -> NDArray[np.float64]:
    """Sample noise of the plan's slices, of these numbers, by a seed, so that every method sees the same draws."""
    grid, mechanism = plan.grid, plan.noise.mechanism
    layers = [mechanism.sample(grid.cells_per_side**2, seeded_words(draw, number)) for number in slices]
    noise: NDArray[np.float64] = np.stack(layers).reshape(grid.shape) / plan.noise.units_per_ping
    return noise


def make_noisy(data: Data, plan: ReleasePlan, draw: int) -> Slices:
    """Return the noisy tensor of a draw: bounded counts and exact noise. (T, M, M)"""
    kept = data.kept(plan.bound, plan.config.privacy.bounding, draw)
    noisy: Slices = (kept + sample_noise(plan, draw, range(data.grid.slices))).astype(np.float32)
    return noisy


def denoise(noisy: Slices, plan: ReleasePlan, past: PastEvidence | None = None) -> tuple[Tensor, dict[str, Any]]:
    """Return the estimate of the kept pings, and notes about it; `past` is what earlier windows say."""
    with tempfile.TemporaryDirectory(prefix="vdr-experiment-") as folder:
        settings, day = plan.config.denoise, plan.grid.slices_per_day
        return denoise_tensor(noisy, plan.noise, day, settings, folder, NullProgress(), past=past)


def denoise_and_refine(
    noisy: Slices, plan: ReleasePlan, past: PastEvidence | None = None
) -> tuple[Tensor, SumErrors | None]:
    """Return the release that a noisy tensor comes to, and the errors of its sums."""
    tensor, notes = denoise(noisy, plan, past)
    denoising = {"sum_errors": notes.pop("sum_errors", None)}
    logger.debug("denoised: %s", notes)
    kept = kept_of(noisy, plan)
    refinement = choose_refinement(plan, kept, plan.total_pings, tensor)
    errors = refine_sum_errors(plan, denoising, refinement.factor, kept, kept)
    return refinement.apply(tensor, errors), errors


def kept_of(noisy: Slices, plan: ReleasePlan) -> float:
    """Return n, estimated by the noisy tensor."""
    return estimate_kept(float(noisy.sum(dtype=np.float64)), plan.total_pings)


def run_baseline(setting: Setting, counts: Slices, total: float, draw: int) -> Slices:
    """Return what a published method makes of bounded counts, scaled to all pings where users are bounded."""
    baseline = find_baseline("identity" if setting.method in SCALED else setting.method)
    epsilon, sensitivity = float(Fraction(setting.epsilon)), float(setting.k if setting.are_users else 1)
    found = estimate(baseline, counts, epsilon, sensitivity, np.random.default_rng([2, draw]))
    released: Slices = found * np.float32(_factor(setting, found, total, sensitivity / epsilon))
    return released


def _factor(setting: Setting, found: Slices, total: float, scale: float) -> float:
    """Return what the estimate is multiplied by, from kept to all pings; `scale` is that of the noise of a cell."""
    if setting.method not in SCALED and not setting.are_users:
        return 1.0
    kept = estimate_kept(float(found.sum(dtype=np.float64)), int(total))
    noise = 2 * found.size * scale**2
    return gamma(kept, total, noise, setting.concentration) if setting.method == "gamma_noisy" else total / kept


def release_arrays(data: Data, setting: Setting, draw: int, learn: int | None = None) -> Released:
    """Return what is released of known pings by one draw of the noise, by our release or by a published method.

    With `learn` the denoiser is shown the first so many slices alone, of the same noisy tensor.
    """
    total = len(data.cells)
    if setting.is_baseline:
        if learn is not None:
            raise InvalidConfig(
                f"learn_days is for denoisers, and {setting.method} is a baseline; leave one of them out"
            )
        return Released(run_baseline(setting, data.kept(setting.k, setting.bounding, draw), total, draw))
    plan = plan_release(setting, data.grid, total)
    noisy = make_noisy(data, plan, draw)
    if learn is not None and learn < len(noisy):
        noisy, shown = noisy[:learn], int(data.truth[:learn].sum(dtype=np.float64))
        plan = plan_release(setting, replace(data.grid, slices=learn), shown)
    if setting.method.endswith(_RAW):
        tensor, _ = denoise(noisy, plan)
        return Released(tensor.counts * np.float32(plan.total_pings / kept_of(noisy, plan)))
    released, errors = denoise_and_refine(noisy, plan)
    return Released(released.counts, released.deviation, clump=0.0 if errors is None else errors.clump_of_cell)
