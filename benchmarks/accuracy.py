"""How far denoised tensors are from the truth, on real pings, over several draws of the noise.

    python benchmarks/accuracy.py --input cabs_sf_trip_ends.parquet --preset cabs_sf --epsilon 0.05 0.2 \\
        --methods identity vqvae vqvae+fusion temporal ridge blindspot auto --draws 3

In most presets (`vdr_spark/experiments/location_data.py`) every ping counts (k = 1): the noise has scale 1 / epsilon
and the truth is what was counted. N is declared, so every method is scaled to it. In `tdrive_users`, `demo` and
`houston` people are protected: each is bounded to `--k` pings, and the released tensor is compared with *all* pings.
There `identity` is scaled by N / n and `identity_gamma` by the paper's gamma. `tdrive_apart` is `tdrive_users` with
heavy users in the north and light ones in the south. With `--delta 1e-9` the noise is Gaussian, of the rho that is
(epsilon, delta), and `--bounding l2` bounds norms: `--k 16` then is the largest norm.

A method is a model of `denoise.model` with fusion, but `vqvae` and `vae` are the models alone, and `vqvae+fusion` is
with it; `ridge+prior` is what a model predicts before fusion. `--set vqvae.codebook_size=512` changes settings of
`denoise`. Queries are the paper's: 5,000 squares of one to four cells at pings, and the nearest hot spot. Below each
line stand the errors of squares of 1-4, 8-32 and 64-256 cells, in one slice and over all, at pings and anywhere, and
the shares of counts over squares of 1 to 256 cells, in one slice, in 8 and in all, within one error bar, within a
nominal 90 % interval and within two bars. The figures are exact about the data: nothing here is
private. The last line is JSON.

`--alone 5 11 17` shows what a slice knows of itself: each of these slices is released as a tensor of its own, and the
figures are over them together, `all` included. What was tuned on some slices can be reported on others.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from vdr_spark.evaluate.metrics import Errors, compare
from vdr_spark.evaluate.scales import Coverage, bars_of, compare_scales, measure_coverage
from vdr_spark.evaluate.workloads import hotspot_queries, range_queries
from vdr_spark.experiments.draws import Setting, denoise_and_refine, plan_release, sample_noise
from vdr_spark.experiments.location_data import PRESETS, Data, Preset, read_pings
from vdr_spark.plan import ReleasePlan
from vdr_spark.storage.tensor_file import Tensor
from vdr_spark.sum_errors import SumErrors

FIGURES = ("relative_error", "mae", "rmse", "hotspot_distance", "hotspot_regret")
_WORKLOAD_SEED = 1


def main() -> None:
    arguments = _arguments()
    preset = PRESETS[arguments.preset]
    data = read_pings(arguments.input, preset.grid(arguments.cells), preset.users)
    chosen = arguments.alone or list(range(preset.slices))
    grid, truth = data.grid, data.truth[chosen]
    print(
        f"{arguments.preset}: {truth.sum():,.0f} pings on {len(chosen)} slices of "
        f"{grid.cells_per_side} x {grid.cells_per_side} cells{', each alone' if arguments.alone else ''}"
    )
    side = grid.cell_metres[0]  # of the paper's 30 m: sides of 30 to 120 m
    ranges = range_queries(truth, grid, _WORKLOAD_SEED, side_m=(side, 4 * side))
    hotspots = hotspot_queries(truth, _WORKLOAD_SEED)
    result: dict[str, dict[str, object]] = {}
    for epsilon in arguments.epsilon:
        print(f"\nepsilon {epsilon}, {arguments.draws} draws: mean, and deviation over the draws")
        print(f"{'':24}" + "".join(f"{name.replace('_', ' '):>20}" for name in FIGURES) + f"{'seconds':>10}")
        of_epsilon: dict[str, object] = {}
        for method in arguments.methods:
            errors, seconds = [], []
            scales: list[dict[str, float]] = []
            coverages: list[dict[str, Coverage]] = []
            for draw in range(arguments.first_draw, arguments.first_draw + arguments.draws):
                release = _release_alone if arguments.alone else _release
                began = time.perf_counter()
                estimate, sum_errors = release(arguments, preset, data, epsilon, method, draw)
                seconds.append(time.perf_counter() - began)
                errors.append(compare(truth, estimate.counts, ranges, hotspots))
                scales.append(compare_scales(truth, estimate.counts, grid))
                if estimate.deviation is not None:
                    bars = bars_of(estimate.counts, estimate.deviation, sum_errors)
                    coverages.append(measure_coverage(truth, estimate.counts, bars, grid))
            of_epsilon[method] = _figures(errors, seconds) | {
                "scales": _mean_of(scales),
                "scales_sd": {name: float(np.std([of[name] for of in scales])) for name in scales[0]},
                "coverage": _mean_of(coverages),
            }
            _print_line(method, errors, seconds)
            _print_scales(_mean_of(scales), _mean_of(coverages))
        result[epsilon] = of_epsilon
    print(json.dumps({arguments.preset: result}))


def _plan(arguments: argparse.Namespace, preset: Preset, epsilon: str, method: str, total: int) -> ReleasePlan:
    pairs = (assignment.partition("=") for assignment in arguments.set)
    setting = Setting(
        method,
        epsilon,
        k=arguments.k or preset.k,
        are_users=preset.users != "none",
        roam=preset.roam,
        bounding=arguments.bounding,
        delta=arguments.delta,
        denoise={name: yaml.safe_load(value) for name, _, value in pairs},
    )
    return plan_release(setting, preset.grid(arguments.cells), total)


def _release(
    arguments: argparse.Namespace, preset: Preset, data: Data, epsilon: str, method: str, draw: int
) -> tuple[Tensor, SumErrors | None]:
    """Release all slices together."""
    plan = _plan(arguments, preset, epsilon, method, len(data.cells))
    noisy = data.kept(plan.bound, arguments.bounding, draw) + sample_noise(plan, draw, range(preset.slices))
    return denoise_and_refine(noisy.astype(np.float32), plan)


def _release_alone(
    arguments: argparse.Namespace, preset: Preset, data: Data, epsilon: str, method: str, draw: int
) -> tuple[Tensor, SumErrors | None]:
    """Release the chosen slices, each as a tensor of its own. Without error bars: those of sums differ by slice."""
    truth, parts = data.truth, []
    for t in arguments.alone:
        if not truth[t].any():
            sys.exit(f"--alone: slice {t} of the preset holds no ping to be compared with")
        plan = _plan(arguments, preset.only(t), epsilon, method, int(truth[t].sum(dtype=np.float64)))
        noisy = data.kept(plan.bound, arguments.bounding, draw)[t : t + 1] + sample_noise(plan, draw, [t])
        parts.append(denoise_and_refine(noisy.astype(np.float32), plan)[0])
    return Tensor(np.concatenate([part.counts for part in parts])), None


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True, help="Parquet of pings, a file or a folder of them")
    parser.add_argument("--preset", choices=PRESETS, required=True, help="box, period and slices")
    parser.add_argument("--epsilon", nargs="+", default=["0.2"], help="one or more (default: 0.2)")
    parser.add_argument("--methods", nargs="+", default=["identity", "temporal", "auto"], help="(default: %(default)s)")
    parser.add_argument("--draws", type=int, default=3, help="of the noise (default: %(default)s)")
    parser.add_argument("--first-draw", type=int, default=0, help="of them (default: %(default)s)")
    parser.add_argument("--alone", type=int, nargs="+", metavar="SLICE", help="release these slices, each by itself")
    parser.add_argument("--cells", type=int, help="along each side (default: 576; 192 for users)")
    parser.add_argument(
        "--k", type=int, help="pings of a user, or the norm, where users are protected (default: the preset's)"
    )
    parser.add_argument(
        "--bounding", choices=("sample", "weight", "l2"), default="sample", help="likewise (default: sample)"
    )
    parser.add_argument("--delta", help="Gaussian noise that is (epsilon, delta) (default: pure epsilon, Laplace)")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="settings of `denoise`")
    arguments = parser.parse_args()
    if not arguments.input.exists():
        parser.error(f"--input: there is no file or folder {arguments.input}")
    if arguments.bounding == "l2" and arguments.delta is None:
        parser.error("--bounding l2 goes with Gaussian noise: give --delta too")
    if arguments.draws < 1:
        parser.error("--draws must be at least 1")
    if not set(arguments.alone or []) <= set(range(PRESETS[arguments.preset].slices)):
        parser.error(f"--alone must name slices from 0 to {PRESETS[arguments.preset].slices - 1}")
    return arguments


def _figures(errors: list[Errors], seconds: list[float]) -> dict[str, float]:
    figures: dict[str, float] = {"seconds": float(np.mean(seconds))}
    for name in FIGURES:
        values = [getattr(error, name) for error in errors]
        figures |= {name: float(np.mean(values)), f"{name}_sd": float(np.std(values))}
    return figures


def _print_line(method: str, errors: list[Errors], seconds: list[float]) -> None:
    values = {name: [getattr(error, name) for error in errors] for name in FIGURES}
    columns = "".join(f"{np.mean(of):>13.4f} {np.std(of):.4f}" for of in values.values())
    print(f"{method:24}{columns}{np.mean(seconds):>10.1f}", flush=True)


def _mean_of(draws: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean over the draws, figure by figure."""
    return {name: np.mean([of[name] for of in draws], axis=0).tolist() for name in draws[0]} if draws else {}


def _print_scales(scales: dict[str, float], coverage: dict[str, list[float]]) -> None:
    """Print errors of range counts by size, and which shares lie within one, 1.645 and two deviations."""
    print("    " + "  ".join(f"{name}: {value:.4f}" for name, value in scales.items()))
    if coverage:
        shares = (f"{name}: {' '.join(f'{share:.2f}' for share in of)}" for name, of in coverage.items())
        print("    within 1, 1.645, 2: " + "  ".join(shares))


if __name__ == "__main__":
    main()
