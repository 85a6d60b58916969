"""How far published methods (`vdr_spark.baselines`) are from the truth, beside the noisy tensor of our release.

    python benchmarks/baselines.py                                               # a generated city, users protected
    python benchmarks/baselines.py --input cabs_sf_trip_ends.parquet --preset cabs_sf --epsilon 0.2 --draws 3
    python benchmarks/baselines.py --methods ag dawa_striped privtree --cells 96 --k 40

Presets are those of `accuracy.py` (`location_data.py`). In most every ping is protected (sensitivity 1), and the truth
is what was counted. Where users are protected, each is bounded to `--k` pings (sensitivity k) and the estimate, scaled
by N / n, is compared with all pings; N is declared, and n is the estimate's own sum, N at most. `scaled_noisy` is the
noisy tensor, scaled by N / n in any case, and `gamma_noisy` that by the paper's gamma. Other lines are the methods as
published.

Queries are the paper's: 5,000 squares of one to four cells at pings; a count below psi, 0.1 % of the pings of the mean
slice, is divided by psi. Figures are means over draws of the noise, and deviations over the draws. All of it is seeded
and exact about the data: nothing here is private. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from location_data import PRESETS, Data, Preset, read_pings
from numpy.typing import NDArray

from vdr_spark.baselines import BASELINES, estimate, find_baseline
from vdr_spark.errors import VdrError
from vdr_spark.evaluate.metrics import cell_errors, relative_error, smoothing
from vdr_spark.evaluate.workloads import range_queries
from vdr_spark.grid import Grid
from vdr_spark.refine import estimate_kept, gamma
from vdr_spark.synth.people import Town
from vdr_spark.synth.power_law import PowerLaw

FIGURES = ("relative_error", "mae", "rmse", "total_ratio")
SCALED = ("scaled_noisy", "gamma_noisy")
_WORKLOAD_SEED = 1
_CONCENTRATION = 5e-5  # C of the paper's gamma, where nothing better is known
_CITY_LAW = PowerLaw(exponent=2.7, shift=30, cutoff=90_000)  # as conf/demo.yaml
_CITY_SEED, _CITY_PRESET = 7, "demo"
_EPSILON_OF_PINGS, _EPSILON_OF_USERS = 0.2, 6.0

Figures = dict[str, float]


def main() -> None:
    arguments = _arguments()
    preset = PRESETS[arguments.preset]
    grid = preset.grid(arguments.cells)
    data = read_pings(arguments.input, grid, preset.users) if arguments.input else _generate(grid, arguments.pings)
    truth, k = data.truth, arguments.k or preset.k
    unit = "a ping is protected" if preset.users == "none" else f"users of {k} pings are protected"
    print(f"{arguments.preset}: {truth.sum():,.0f} pings on {' x '.join(map(str, truth.shape))} cells, {unit}")
    result: dict[str, dict[str, Figures]] = {}
    for epsilon in arguments.epsilon or [_EPSILON_OF_PINGS if preset.users == "none" else _EPSILON_OF_USERS]:
        print(f"\nepsilon {epsilon}, {arguments.draws} draws: mean, and deviation over the draws")
        print(f"{'':16}" + "".join(f"{name.replace('_', ' '):>18}" for name in FIGURES) + f"{'seconds':>10}")
        result[str(epsilon)] = dict(_compare(arguments, preset, data, epsilon, k))
    print(json.dumps({arguments.preset: result}))


def _compare(
    arguments: argparse.Namespace, preset: Preset, data: Data, epsilon: float, k: int
) -> Iterator[tuple[str, Figures]]:
    """Yield the figures of every method, and print them as they come."""
    truth, side = data.truth, data.grid.cell_metres[0]
    ranges = range_queries(truth, data.grid, _WORKLOAD_SEED, side_m=(side, 4 * side))
    asked, psi, sensitivity = ranges.answers(truth), smoothing(truth), 1.0 if preset.users == "none" else float(k)
    for method in arguments.methods:
        draws: list[Figures] = []
        for draw in range(arguments.draws):
            counts, began = data.kept(k, arguments.bounding, draw), time.perf_counter()
            found = _run(method, counts, epsilon, sensitivity, draw)
            seconds = time.perf_counter() - began
            released = found * np.float32(_factor(method, found, truth, sensitivity / epsilon, preset.users != "none"))
            mae, rmse = cell_errors(truth, released)
            error = relative_error(asked, ranges.answers(released), psi)
            ratio = float(released.sum(dtype=np.float64) / truth.sum(dtype=np.float64))
            draws.append(dict(zip((*FIGURES, "seconds"), (error, mae, rmse, ratio, seconds), strict=True)))
        yield method, _print_line(method, draws)


def _run(
    method: str, counts: NDArray[np.float32], epsilon: float, sensitivity: float, draw: int
) -> NDArray[np.float32]:
    baseline = find_baseline("identity" if method in SCALED else method)
    return estimate(baseline, counts, epsilon, sensitivity, np.random.default_rng([2, draw]))


def _factor(
    method: str, found: NDArray[np.float32], truth: NDArray[np.float32], scale: float, are_users: bool
) -> float:
    """Return what the estimate is multiplied by, from kept to all pings; `scale` is that of the noise of a cell."""
    if method not in SCALED and not are_users:
        return 1.0
    total = float(truth.sum(dtype=np.float64))
    kept = estimate_kept(float(found.sum(dtype=np.float64)), int(total))
    return gamma(kept, total, 2 * found.size * scale**2, _CONCENTRATION) if method == "gamma_noisy" else total / kept


def _generate(grid: Grid, pings: int) -> Data:
    """Return a city that nobody lives in, the demo's in small; always the same."""
    people = Town.of(_CITY_SEED, grid)
    sampled = people.sample_block(np.random.default_rng(_CITY_SEED), _CITY_LAW.users_for(pings), _CITY_LAW)
    cells = grid.cell_of(sampled.lat, sampled.lon, sampled.ts_us)
    return Data(grid, cells[cells >= 0], sampled.user[cells >= 0])


def _print_line(method: str, draws: list[Figures]) -> Figures:
    """Print a method's figures over its draws, and return them."""
    values = {name: [draw[name] for draw in draws] for name in (*FIGURES, "seconds")}
    columns = "".join(f"{np.mean(values[name]):>11.4f} {np.std(values[name]):.4f}" for name in FIGURES)
    print(f"{method:16}{columns}{np.mean(values['seconds']):>10.1f}", flush=True)
    means = {name: float(np.mean(of)) for name, of in values.items()}
    return means | {f"{name}_sd": float(np.std(values[name])) for name in FIGURES}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, help="Parquet of pings, a file or a folder (default: a generated city)")
    parser.add_argument("--preset", choices=PRESETS, help=f"box, period and slices (default: {_CITY_PRESET})")
    parser.add_argument("--epsilon", type=float, nargs="+", help="one or more (default: 0.2; 6 for users)")
    parser.add_argument("--methods", nargs="+", default=[*SCALED, *BASELINES], help="(default: all)")
    parser.add_argument("--draws", type=int, default=3, help="of the noise (default: %(default)s)")
    parser.add_argument("--cells", type=int, help="along each side (default: the preset's)")
    parser.add_argument("--k", type=int, help="pings of a user, where users are protected (default: the preset's)")
    parser.add_argument("--bounding", choices=("sample", "weight"), default="sample", help="likewise (default: sample)")
    parser.add_argument("--pings", type=int, default=2_000_000, help="of the generated city (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.input and not arguments.input.exists():
        parser.error(f"--input: there is no file or folder {arguments.input}")
    if arguments.input and not arguments.preset:
        parser.error("--preset must be given with --input: it says where and when the pings are")
    if not arguments.input and arguments.preset not in (None, _CITY_PRESET):
        parser.error(f"--input must be given with --preset {arguments.preset}: only {_CITY_PRESET} is generated")
    if arguments.draws < 1:
        parser.error("--draws must be at least 1")
    for method in set(arguments.methods) - set(SCALED):
        try:
            find_baseline(method)
        except VdrError as error:
            parser.error(f"--methods: {error}; or {' or '.join(SCALED)}")
    arguments.preset = arguments.preset or _CITY_PRESET
    return arguments


if __name__ == "__main__":
    main()
