"""The paper's model alone, by epoch, beside what its authors logged: SF cabs, 24 days, epsilon 0.2.

    python benchmarks/vqvae.py --input cabs_sf_trip_ends.parquet --folder out/vqvae --minutes 30  # and again, to go on
    python benchmarks/vqvae.py --input cabs_sf_trip_ends.parquet --folder out/vqvae_log --spread 1.5

The figure is theirs: the mean absolute error of single cells at records, over all records and not 2,000 of them. Noise
of scale 1 / epsilon has 5.0 by it. The training sees noisy counts and stops by them; the truth is only asked for
figures, of checkpoints, after they were written. Every line of `<folder>/epochs.csv` has the error of the last weights
and of those that the training would choose by now, cut off at zero as in a release; that of the last weights uncut
(whether the authors cut is not known); and what the chosen ones make of the total, relative to the true one. A run
that was stopped, or killed, goes on from its checkpoint.

**Their log is not of this file as it is.** In their log, the fullest cell holds 61 records, the mean count at queries
is 7.4 (quartiles 2, 5, 10), and a model that says nothing is off by 7.1. On this grid the file has 843,485 of its
846,654 records inside, 244 in the fullest cell, and 14.4 at records (3, 7, 17). Records moved from their cell's centre
by up to 1.5 cells along both axes give 60, 7.45 and the same quartiles: `--spread 1.5`. That they did so is a guess;
compare their 4.12 (100 epochs) and 3.82 (280) with that.

A training that has come to its end is also asked the 5,000 range counts of `benchmarks/accuracy.py`: the noisy counts,
the model alone, and fused with the noisy counts, none of them scaled to N; and, of the latter two, what a release makes
of them, which is scaled to N, at several sizes.

`--bound 128 512` trains nothing: it says how far off the *true* counts are when every block of 4 x 4 cells is told by
one of so many codes (`benchmarks/block_codes.py`).
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from block_codes import bound
from numpy.typing import NDArray

from vdr_spark.config.denoise import VqvaeSettings
from vdr_spark.denoise.networks.checkpoint import Checkpoint, load_checkpoint
from vdr_spark.denoise.networks.device import choose_device, is_mixed
from vdr_spark.denoise.networks.training import LogLine, Run, best_epoch, is_finished, new_model
from vdr_spark.denoise.priors.reconstruction import Reconstructor, Scaling, train_reconstructor
from vdr_spark.denoise.stage import denoise_tensor
from vdr_spark.evaluate.metrics import relative_error, smoothing
from vdr_spark.evaluate.scales import compare_scales
from vdr_spark.evaluate.workloads import range_queries
from vdr_spark.experiments.draws import Setting, kept_of, plan_release
from vdr_spark.experiments.location_data import PRESETS, Data, read_pings
from vdr_spark.grid import Grid
from vdr_spark.price import Price
from vdr_spark.privacy.mechanism import Noise, build_mechanism
from vdr_spark.privacy.randomness import seeded_words
from vdr_spark.progress import NullProgress
from vdr_spark.refine import choose_refinement

PUBLISHED = {0: 7.11, 10: 4.59, 20: 4.47, 50: 4.21, 100: 4.12, 150: 3.98, 200: 3.99, 280: 3.82}
"""The authors' mean absolute error by epoch of 72 images of 576 x 576."""
_THEIR_EPOCH = 72 * 576**2 / 1e6  # million pixels


class _Pause(Exception):
    """The time for this piece is over."""


def main() -> None:
    arguments = _arguments()
    noise = Noise(build_mechanism("discrete_laplace", 1, Price.epsilon(Fraction(arguments.epsilon))))
    data = read_pings(arguments.input, PRESETS["cabs_sf"].grid(None), "none")
    truth = data.truth if not arguments.spread else data.counted(_spread(data, arguments.spread))
    if arguments.bound:
        for size, errors in bound(truth, arguments.bound):
            print(json.dumps({"spread": arguments.spread, "codes": size, **errors}), flush=True)
        return
    noisy = truth + _sample(noise, truth.shape, arguments.draw)
    device = choose_device(arguments.device)
    run = Run(arguments.settings, str(arguments.folder / "vqvae"), device, mixed=is_mixed("auto", device))
    figures = _Figures(truth, noisy, noise, run, arguments.minutes)
    print(
        f"{truth.sum():,.0f} records, {truth.max():.0f} in the fullest cell; mean absolute error of the noisy counts "
        f"{figures.error(noisy):.2f}, of nothing at all {figures.error(np.zeros_like(truth)):.2f}"
    )
    try:
        train_reconstructor(noisy, noise, replace(run, progress=figures.take))
    except _Pause:
        print("the time of this piece is over; the same command goes on from its last checkpoint")
    result = {
        "epsilon": float(Fraction(arguments.epsilon)),
        "draw": arguments.draw,
        "spread": arguments.spread,
        "settings": run.settings.model_dump(mode="json"),
        "finished": is_finished(run),
        "mae_noisy": figures.error(noisy),
        "mae_nothing": figures.error(np.zeros_like(truth)),
        "published": PUBLISHED,
        **(figures.lines[-1] if figures.lines else {}),
    }
    if result["finished"]:
        result |= _sum_errors(truth, noisy, data.grid, arguments, run)
    print(json.dumps(result))


def _sum_errors(
    truth: NDArray[np.float32], noisy: NDArray[np.float32], grid: Grid, arguments: argparse.Namespace, run: Run
) -> dict[str, dict[str, Any]]:
    """Return what is wrong with range counts, by the weights of the finished training: it is not trained again."""
    side, total = grid.cell_metres[0], float(truth.sum(dtype=np.float64))
    ranges = range_queries(truth, grid, seed=1, side_m=(side, 4 * side))
    answers, psi = ranges.answers(truth), smoothing(truth)
    estimates, released = {"noisy": noisy}, {}
    for name, method in (("alone", "vqvae"), ("with fusion", "vqvae+fusion")):
        setting = Setting(method, arguments.epsilon, are_users=False, denoise={"device": run.device.type})
        plan = plan_release(setting, grid, round(total))
        settings = plan.config.denoise.model_copy(update={"vqvae": run.settings})
        folder = str(Path(run.folder).parent)
        tensor = denoise_tensor(noisy, plan.noise, grid.slices_per_day, settings, folder, NullProgress())[0]
        refinement = choose_refinement(plan, kept_of(noisy, plan), total, tensor)
        estimates[name], released[name] = tensor.counts, refinement.apply(tensor).counts
    every = estimates | {f"{name}, released": of for name, of in released.items()}
    return {
        "range_error": {name: relative_error(answers, ranges.answers(of), psi) for name, of in every.items()},
        "mae_at_records": {name: error_at_records(truth, of) for name, of in every.items()},
        "total": {name: float(of.sum(dtype=np.float64)) / total for name, of in every.items()},
        "scales": {name: compare_scales(truth, of, grid) for name, of in released.items()},
    }


def error_at_records(truth: NDArray[np.float32], counts: NDArray[np.float32]) -> float:
    """Return the mean absolute error at records: a cell of n records is asked for n times."""
    off = np.abs(counts - truth, dtype=np.float64) * truth
    return float(off.sum() / truth.sum(dtype=np.float64))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True, help="cabs_sf_trip_ends.parquet")
    parser.add_argument("--folder", type=Path, help="keeps the training and its figures")
    parser.add_argument(
        "--bound", type=int, nargs="+", metavar="CODES", help="train nothing; what so many codes can say"
    )
    parser.add_argument("--minutes", type=float, default=float("inf"), help="of this piece (default: to the end)")
    parser.add_argument("--spread", type=float, default=0.0, help="move records by up to so many cells (default: 0)")
    parser.add_argument("--epsilon", default="0.2", help="(default: %(default)s)")
    parser.add_argument("--draw", type=int, default=0, help="of the noise (default: %(default)s)")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (default: %(default)s)")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="settings of `denoise.vqvae`")
    arguments = parser.parse_args()
    if not arguments.input.exists():
        parser.error(f"--input: there is no file {arguments.input}")
    if not (arguments.folder or arguments.bound):
        parser.error("give --folder, for a training, or --bound")
    if arguments.bound and min(arguments.bound) < 2:
        parser.error("--bound takes numbers of codes from 2 on: one of them is for empty blocks")
    changed = {key: yaml.safe_load(value) for key, _, value in (setting.partition("=") for setting in arguments.set)}
    arguments.settings = VqvaeSettings.model_validate(changed)
    return arguments


def _spread(data: Data, reach: float) -> NDArray[np.int64]:
    """Move every record from its cell's centre by up to so many cells along both axes; what leaves the box is gone."""
    random, side = np.random.default_rng(0), data.grid.cells_per_side
    t, y, x = np.unravel_index(data.cells, data.grid.shape)
    y, x = (np.floor(of + 0.5 + random.uniform(-reach, reach, len(of))) for of in (y, x))
    inside = (y >= 0) & (x >= 0) & (y < side) & (x < side)
    moved = (index[inside].astype(np.int64) for index in (t, y, x))
    return np.ravel_multi_index(tuple(moved), data.grid.shape)


def _sample(noise: Noise, shape: tuple[int, ...], draw: int) -> NDArray[np.float32]:
    layers = [noise.mechanism.sample(shape[1] * shape[2], seeded_words(draw, number)) for number in range(shape[0])]
    return (np.stack(layers).reshape(shape) / noise.units_per_ping).astype(np.float32)


@dataclass
class _Figures:
    """What is known of a training, from outside: it reads checkpoints, and nothing that it knows goes back."""

    truth: NDArray[np.float32]
    noisy: NDArray[np.float32]
    noise: Noise
    run: Run
    minutes: float

    def __post_init__(self) -> None:
        self._path = Path(self.run.folder).parent / "epochs.csv"
        self.lines: list[dict[str, float]] = []
        if self._path.exists():
            rows = csv.DictReader(self._path.read_text().splitlines())
            self.lines = [{name: float(value) for name, value in row.items()} for row in rows]
        self._began, self._cpu = time.monotonic(), time.process_time()
        self._cpu_before = self.lines[-1]["cpu_minutes"] if self.lines else 0.0
        self._epochs_before = self.lines[-1]["epoch"] if self.lines else 0.0

    def error(self, counts: NDArray[np.float32]) -> float:
        return error_at_records(self.truth, counts)

    def take(self, line: LogLine) -> None:
        """Take the figures of an epoch that has left a checkpoint, and end the piece when its time is over."""
        checkpoint = load_checkpoint(self.run.folder)
        if checkpoint is None or len(checkpoint.log) != line["epoch"]:
            return
        pixels = sum(of["pixels"] for of in checkpoint.log) / 1e6
        chosen = best_epoch(checkpoint.log)
        last = self._reconstruct(checkpoint, "model.")
        best = last if chosen == line["epoch"] else self._reconstruct(checkpoint, "best.")
        figures: dict[str, float] = {
            "epoch": line["epoch"],
            "million_pixels": round(pixels, 1),
            "their_epochs": round(pixels / _THEIR_EPOCH, 2),
            "cpu_minutes": round(self._cpu_before + (time.process_time() - self._cpu) / 60, 2),
            "mae": round(self.error(np.maximum(last, 0)), 4),
            "mae_uncut": round(self.error(last), 4),
            "mae_chosen": round(self.error(np.maximum(best, 0)), 4),
            "chosen_epoch": chosen,
            "total_chosen": round(float(np.maximum(best, 0).sum(dtype=np.float64) / self.truth.sum()), 3),
            "estimated_error": round(line["error"], 4),
            "loss": round(line["loss"], 5),
            "perplexity": round(line["perplexity"], 1),
            "dead_codes": line["dead_codes"],
        }
        self._write(figures)
        self._report(figures)

    def _reconstruct(self, checkpoint: Checkpoint, weights: str) -> NDArray[np.float32]:
        """What the model makes of the noisy counts, below zero too."""
        model = new_model(self.run)
        named = checkpoint.tensors.items()
        model.load_state_dict({name.removeprefix(weights): of for name, of in named if name.startswith(weights)})
        scaling = Scaling.of(self.noisy, self.noise, self.run.settings.asinh)
        return Reconstructor(model, scaling, self.run).reconstruct(self.noisy)

    def _write(self, figures: dict[str, float]) -> None:
        # A killed run repeats what it did after its last checkpoint.
        self.lines = [line for line in self.lines if line["epoch"] < figures["epoch"]] + [figures]
        with self._path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(figures))
            writer.writeheader()
            writer.writerows(self.lines)

    def _report(self, figures: dict[str, float]) -> None:
        epoch, epochs = figures["epoch"], self.run.settings.epochs
        minutes = (time.monotonic() - self._began) / 60
        left = (epochs - epoch) * minutes / max(1, epoch - self._epochs_before)
        print(
            f"epoch {epoch:.0f} of {epochs}, {figures['their_epochs']:.1f} of theirs: mean absolute error "
            f"{figures['mae']:.3f}, of the weights chosen {figures['mae_chosen']:.3f}; at most {left:.0f} minutes left",
            flush=True,
        )
        if minutes >= self.minutes and epoch < epochs:
            raise _Pause


if __name__ == "__main__":
    main()
