"""How far denoised tensors are from the truth, on real pings, over several draws of the noise.

    python benchmarks/accuracy.py --input cabs_sf_trip_ends.parquet --preset cabs_sf --epsilon 0.2 \\
        --methods identity temporal vqvae vqvae+fusion --draws 3

Every ping counts (k = 1), so the noise has scale 1 / epsilon and the truth is what was counted. A method is a model of
`denoise.model`, alone or with `+fusion`; `--set vqvae.codes=512` changes its settings. Queries are the paper's: 5,000
squares of one to four cells at pings, and the nearest hot spot. The figures are exact about the data: nothing here is
private. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from numpy.typing import NDArray

from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.stage import denoise_tensor
from vdr_spark.evaluate.metrics import Errors, compare
from vdr_spark.evaluate.workloads import hotspot_queries, range_queries
from vdr_spark.grid import Box, Grid
from vdr_spark.privacy.discrete_laplace import DiscreteLaplace
from vdr_spark.privacy.randomness import seeded_words
from vdr_spark.progress import Silent

FIGURES = ("relative_error", "mae", "rmse", "hotspot_distance", "hotspot_regret")
_WORKLOAD_SEED = 1


@dataclass(frozen=True)
class Preset:
    """Box, period and slices of a data set, as the paper and our design use them."""

    box: Box
    start: datetime
    hours: int  # of a slice
    slices: int


PRESETS = {
    "cabs_sf": Preset(Box(37.60793, -122.45129, 37.80792, -122.21134), datetime(2008, 5, 17, tzinfo=UTC), 24, 24),
    "tdrive": Preset(Box.around(39.9075, 116.3972, 20_000), datetime(2008, 2, 2, tzinfo=UTC), 3, 56),
}


def main() -> None:
    arguments = _arguments()
    preset = PRESETS[arguments.preset]
    grid = Grid(preset.box, arguments.cells, preset.start, 3600 * preset.hours, preset.slices)
    truth = _counted(arguments.input, grid)
    print(f"{arguments.preset}: {truth.sum():,.0f} pings on {grid.slices} slices of {grid.cells} x {grid.cells} cells")
    side = grid.cell_metres[0]  # of the paper's 30 m: sides of 30 to 120 m
    ranges = range_queries(truth, grid, _WORKLOAD_SEED, side_m=(side, 4 * side))
    hotspots = hotspot_queries(truth, _WORKLOAD_SEED)
    result: dict[str, dict[str, object]] = {}
    for epsilon in arguments.epsilon:
        print(f"\nepsilon {epsilon}, {arguments.draws} draws: mean, and deviation over the draws")
        print(f"{'':24}" + "".join(f"{name.replace('_', ' '):>20}" for name in FIGURES) + f"{'seconds':>10}")
        of_epsilon: dict[str, object] = {}
        for method in arguments.methods:
            config = _configuration(arguments, preset, epsilon, method, truth)
            errors, seconds = [], []
            for draw in range(arguments.draws):
                noisy = truth + _noise(config, grid, draw)
                began = time.perf_counter()
                estimate = _estimate(noisy, config)
                seconds.append(time.perf_counter() - began)
                errors.append(compare(truth, estimate, ranges, hotspots))
            of_epsilon[method] = _figures(errors, seconds)
            _print_line(method, errors, seconds)
        result[epsilon] = of_epsilon
    print(json.dumps({arguments.preset: result}))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True, help="Parquet file of pings: user_id, lat, lon, ts")
    parser.add_argument("--preset", choices=PRESETS, required=True, help="box, period and slices")
    parser.add_argument("--epsilon", nargs="+", default=["0.2"], help="one or more (default: 0.2)")
    parser.add_argument("--methods", nargs="+", default=["identity", "temporal+fusion"], help="(default: %(default)s)")
    parser.add_argument("--draws", type=int, default=3, help="of the noise (default: %(default)s)")
    parser.add_argument("--cells", type=int, default=576, help="along each side (default: %(default)s)")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="settings of `denoise`")
    arguments = parser.parse_args()
    if not arguments.input.is_file():
        parser.error(f"--input: there is no file {arguments.input}")
    if arguments.draws < 1:
        parser.error("--draws must be at least 1")
    return arguments


def _counted(path: Path, grid: Grid) -> NDArray[np.float32]:
    table = pq.read_table(path, columns=["lat", "lon", "ts"])
    lat, lon = (table.column(name).to_numpy() for name in ("lat", "lon"))
    us = table.column("ts").cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy()
    cells = grid.cell_of(lat, lon, us)
    counts = np.bincount(cells[cells >= 0], minlength=grid.size)
    if not counts.any():
        sys.exit("no ping of the file lies inside the preset's box and period")
    return counts.reshape(grid.shape).astype(np.float32)


def _configuration(
    arguments: argparse.Namespace, preset: Preset, epsilon: str, method: str, truth: NDArray[np.float32]
) -> ReleaseConfig:
    model, _, fusion = method.partition("+")
    denoise: dict[str, object] = {"model": model, "fusion": fusion == "fusion"}
    for assignment in arguments.set:
        key, _, value = assignment.partition("=")
        section, _, name = key.rpartition(".")
        place: dict[str, object] = denoise if not section else denoise.setdefault(section, {})  # type: ignore[assignment]
        place[name] = yaml.safe_load(value)
    box = preset.box
    return ReleaseConfig.model_validate(
        {
            "name": "accuracy",
            "dataset": "accuracy",
            "output": "nothing-is-written-here",
            "input": {"path": str(arguments.input)},
            "region": {"south": box.south, "west": box.west, "north": box.north, "east": box.east},
            "grid": {"cells": arguments.cells},
            "period": {
                "start": preset.start,
                "end": preset.start.fromtimestamp(
                    preset.start.timestamp() + 3600 * preset.hours * preset.slices, tz=UTC
                ),
                "slice": f"{preset.hours}h",
            },
            "privacy": {"epsilon": epsilon, "k": 1, "total_pings": int(truth.sum()), "budget": epsilon},
            "denoise": denoise,
        }
    )


def _noise(config: ReleaseConfig, grid: Grid, draw: int) -> NDArray[np.float32]:
    """Seeded, so that every method sees the same draws."""
    mechanism = DiscreteLaplace(Fraction(config.privacy.scale))
    layers = [mechanism.sample(grid.cells**2, seeded_words(draw, number)) for number in range(grid.slices)]
    return np.stack(layers).reshape(grid.shape).astype(np.float32)


def _estimate(noisy: NDArray[np.float32], config: ReleaseConfig) -> NDArray[np.float32]:
    with tempfile.TemporaryDirectory(prefix="vdr-accuracy-") as folder:
        tensor, notes = denoise_tensor(noisy, config, folder, Silent())
    print(f"  {notes}", file=sys.stderr, flush=True)
    return tensor.counts


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


if __name__ == "__main__":
    main()
