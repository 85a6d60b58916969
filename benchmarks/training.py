"""Training of the paper's model on noisy slices: how many a second, and how much of the time is waiting for data.

    python benchmarks/training.py                          # 576 x 576 cells, 12 slices, one epoch timed
    python benchmarks/training.py --crop 64 --slices 96    # on random crops
    python benchmarks/training.py --model vae --device cuda --precision mixed --compile

Slices are written as the collect stage stores them and read back by Petastorm, and that counts as waiting. A slice
here is an image that the model is trained on once: a time slice at one of its resolutions, whole or a crop. The last
line is JSON.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from vdr_spark.config.denoise import VaeSettings, VqvaeSettings
from vdr_spark.denoise.networks.device import choose_device, is_mixed
from vdr_spark.denoise.networks.training import Run, read_training_log
from vdr_spark.denoise.petastorm_reader import read_slices
from vdr_spark.denoise.priors.reconstruction import autoencoder_prior, validation_slices
from vdr_spark.grid import Box, Grid
from vdr_spark.price import Price
from vdr_spark.privacy.mechanism import Noise, build_mechanism
from vdr_spark.storage.slice_bytes import encode_slice

NOISE = Noise(build_mechanism("discrete_laplace", sensitivity=55, price=Price.epsilon(6)))  # Houston's


def main() -> None:
    arguments = _arguments()
    device = choose_device(arguments.device)
    kind = VqvaeSettings if arguments.model == "vqvae" else VaeSettings
    # One epoch to warm up; the measure is taken between epochs and is not part of them.
    settings = kind(epochs=1 + arguments.epochs, crop_size=arguments.crop, batch_size=arguments.batch, patience=None)
    with tempfile.TemporaryDirectory(prefix="vdr-training-") as folder:
        grid = Grid(Box(0, 0, 1, 1), arguments.cells, datetime(2020, 1, 1, tzinfo=UTC), 3600, arguments.slices)
        stored = _store(grid, Path(folder))
        began = time.perf_counter()
        noisy = read_slices([stored], grid).astype(np.float32)
        read_s = time.perf_counter() - began
        run = Run(
            settings,
            str(Path(folder) / "run"),
            device,
            mixed=is_mixed(arguments.precision, device),
            compiled=arguments.compile,
            progress=lambda line: print(f"epoch {line['epoch']}: {line['seconds']:.1f} s", flush=True),
        )
        autoencoder_prior(noisy, NOISE, run)
        timed = read_training_log(run.folder)[1:]
    trained_on = arguments.slices - len(validation_slices(arguments.slices, settings.validation_share))
    images = len(timed) * settings.resolutions * trained_on
    seconds, waiting = (sum(line[name] for line in timed) for name in ("seconds", "waiting_seconds"))
    result = {
        "model": arguments.model,
        "device": device.type,
        "mixed": run.mixed,
        "compiled": run.compiled,
        "cells": arguments.cells,
        "slices": arguments.slices,
        "crop_size": arguments.crop,
        "slices_per_s": images / seconds,
        "data_wait_share": (read_s + waiting) / (read_s + seconds),
        "read_s": read_s,
        "epoch_s": seconds / len(timed),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(f"{result['slices_per_s']:.2f} slices a second, {result['data_wait_share']:.2%} of the time waiting for data")
    print(json.dumps(result))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=["vqvae", "vae"], default="vqvae", help="(default: %(default)s)")
    parser.add_argument("--cells", type=int, default=576, help="cells along each side (default: %(default)s)")
    parser.add_argument("--slices", type=int, default=12, help="time slices (default: %(default)s)")
    parser.add_argument("--crop", type=int, help="side of random crops (default: whole slices)")
    parser.add_argument("--batch", type=int, default=8, help="images a step (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=1, help="timed, after one to warm up (default: %(default)s)")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (default: %(default)s)")
    parser.add_argument("--precision", choices=["auto", "float32", "mixed"], default="auto")
    parser.add_argument("--compile", action="store_true", help="with torch.compile")
    return parser.parse_args()


def _store(grid: Grid, folder: Path) -> str:
    """Noisy slices as the collect stage leaves them."""
    random = np.random.default_rng(0)
    city = random.gamma(0.1, 8, size=grid.cells_per_side**2)

    def row(number: int) -> pa.Table:
        values: NDArray[np.int64] = random.poisson(city) + np.rint(random.laplace(scale=NOISE.scale, size=city.shape))
        return pa.Table.from_batches([encode_slice(number, values.astype(np.int64))])

    path = folder / "noisy.parquet"
    with pq.ParquetWriter(path, row(0).schema) as writer:
        for number in range(grid.slices):
            writer.write_table(row(number))
    return str(path)


if __name__ == "__main__":
    main()
