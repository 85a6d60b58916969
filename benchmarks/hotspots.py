"""How far nearest hot spots are off, asked as in the paper's section 5, over several draws of the noise.

    python benchmarks/hotspots.py   # generated Houston, 50 million pings
    python benchmarks/hotspots.py --preset cabs_sf --input cabs_sf_trip_ends.parquet --epsilon 0.2 --draws 3

From the cells of 1,000 pings the nearest cell of at least 10, 20 and 40 pings (of all pings) is searched for, within
5 km over ground and at any time; one slice counts as one cell. Searched are the noisy tensor, scaled to N; the released
tensor, by its counts; and by the probability that its cells reach the density, also with what is known where somebody
asks at a ping. Figures are means over the queries: |distance found - true distance| in cells, and the regret, by how
many pings the true count of the cell found falls short. Where nothing is found the distance is the search's reach, and
a missing answer falls short wholly.

Beside them stand errors of range counts by side in metres and of forecasts (sMAPE). Users, bounds and denoising are
those of `accuracy.py`. `--keep FOLDER` keeps the draws, outside the repository, and takes them from there the next
time. The figures are exact about the data: nothing here is private. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vdr_spark.evaluate.paper import DENSITIES, HotspotErrors, HotspotWorkload, forecast_error, range_errors
from vdr_spark.experiments.draws import Setting, denoise_and_refine, kept_of, make_noisy, plan_release
from vdr_spark.experiments.location_data import PRESETS, Data, generate_pings, read_pings

Draw = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32], NDArray[np.float64]]
WAYS = ("noisy, scaled", "released count", "by probability", "by probability, at pings")
_LAYERS = ("noisy", "counts", "deviation", "clump")


def main() -> None:
    arguments = _arguments()
    preset = PRESETS[arguments.preset]
    grid = preset.grid(arguments.cells)
    if arguments.input is not None:
        data = read_pings(arguments.input, grid, preset.users)
    else:
        assert preset.city is not None
        data = generate_pings(preset.city, grid)
    truth = data.truth
    print(f"{arguments.preset}: {truth.sum(dtype=np.float64):,.0f} pings, epsilon {arguments.epsilon}")
    workloads = {density: HotspotWorkload.of(truth, grid, density) for density in DENSITIES}
    for density, workload in workloads.items():
        reached, none = int((truth >= density).sum()), int((~workload.answers.found).sum())
        print(f"{density}: {reached:,} cells reach it; {none} of {len(workload.places)} queries have no true answer")
    found = {}
    for number in range(arguments.draws):
        draw = _draw(arguments, data, number)
        found[number] = _measure(workloads, draw) | _measure_others(truth, draw, data)
        print(f"draw {number} measured", flush=True)
    _print_tables(list(found.values()))
    print(json.dumps({arguments.preset: {"epsilon": arguments.epsilon, "draws": found}}))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", choices=PRESETS, default="houston", help="box, period, slices (default: houston)")
    parser.add_argument("--input", type=Path, help="pings, a file or a folder (default: the preset's generated city)")
    parser.add_argument("--epsilon", default="6", help="(default: %(default)s)")
    parser.add_argument("--draws", type=int, default=3, help="of the noise (default: %(default)s)")
    parser.add_argument("--method", default="ridge", help="a method of accuracy.py with error bars (default: ridge)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="for the draws")
    parser.add_argument("--cells", type=int, help="along each side (default: the preset's)")
    parser.add_argument("--k", type=int, help="pings of a user, where users are protected (default: the preset's)")
    arguments = parser.parse_args()
    if arguments.input is None and PRESETS[arguments.preset].city is None:
        parser.error(f"--input must be given for {arguments.preset}, which is not generated")
    if arguments.input is not None and not arguments.input.exists():
        parser.error(f"--input: there is no file or folder {arguments.input}")
    return arguments


def _draw(arguments: argparse.Namespace, data: Data, number: int) -> Draw:
    """Return the noisy tensor, scaled to N, counts and error bars of one draw, (T, M, M) each, and a cell's clump."""
    stem = f"{arguments.preset}-{arguments.epsilon}-{number}"
    paths = [arguments.keep / f"{stem}-{layer}.npy" for layer in _LAYERS] if arguments.keep else []
    if paths and all(path.exists() for path in paths):
        noisy, counts, deviation, clump = (np.load(path) for path in paths)
        return noisy, counts, deviation, clump
    preset = PRESETS[arguments.preset]
    are_users, k = preset.users != "none", arguments.k or preset.k
    setting = Setting(arguments.method, arguments.epsilon, k, are_users=are_users, roam=preset.roam)
    plan = plan_release(setting, data.grid, len(data.cells))
    noisy = make_noisy(data, plan, number)
    released, errors = denoise_and_refine(noisy, plan)
    assert released.deviation is not None
    assert errors is not None
    scaled = noisy * np.float32(plan.total_pings / kept_of(noisy, plan))
    draw = scaled, released.counts, released.deviation, np.array(errors.clump_of_cell)
    for path, layer in zip(paths, draw, strict=False):
        np.save(path, layer)
    return draw


def _measure(workloads: dict[int, HotspotWorkload], draw: Draw) -> dict[str, dict[str, dict[str, float]]]:
    """Return the errors of hot spots by density and way."""
    noisy, counts, deviation, clump = draw
    found = {}
    for density, workload in workloads.items():
        errors: list[HotspotErrors] = [
            workload.by_threshold(noisy),
            workload.by_threshold(counts),
            workload.by_probability(counts, deviation, float(clump), at_pings=False),
            workload.by_probability(counts, deviation, float(clump), at_pings=True),
        ]
        found[str(density)] = {way: of.as_dict() for way, of in zip(WAYS, errors, strict=True)}
    return found


def _measure_others(truth: NDArray[np.float32], draw: Draw, data: Data) -> dict[str, dict[str, dict[str, float]]]:
    """Return the errors of range counts and of forecasts, of the noisy tensor and of the released one."""
    found: dict[str, dict[str, dict[str, float]]] = {"others": {}}
    for name, tensor in zip(WAYS[:2], draw[:2], strict=True):
        smape = forecast_error(truth, tensor)
        found["others"][name] = range_errors(truth, tensor, data.grid) | ({} if smape is None else {"sMAPE": smape})
    return found


def _print_tables(draws: list[dict[str, dict[str, dict[str, float]]]]) -> None:
    """Print means and deviations over the draws."""
    for part, ways in draws[0].items():
        print(f"\n{part}")
        for way, figures in ways.items():
            values = {name: [draw[part][way][name] for draw in draws] for name in figures}
            print(
                f"  {way:26}"
                + "".join(f"{name} {np.mean(of):.3f} ± {np.std(of):.3f}   " for name, of in values.items())
            )


if __name__ == "__main__":
    main()
