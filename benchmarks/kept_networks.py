"""What a kept network saves: CPU seconds and error of two windows of one made-up city, denoised by `blindspot`.

    python benchmarks/kept_networks.py [CELLS_PER_SIDE]

The first window trains, the second is denoised by what is kept, then trained on its own for comparison. One thread,
CPU seconds of this process: other work on the machine does not count. The last line is JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time

import numpy as np
import torch

from vdr_spark.arrays import Slices
from vdr_spark.config.denoise import DenoiseSettings
from vdr_spark.denoise.priors.kept import KeptModels
from vdr_spark.denoise.stage import denoise_tensor
from vdr_spark.price import Price
from vdr_spark.privacy.mechanism import Noise, build_mechanism
from vdr_spark.progress import NullProgress

SLICES, K = 56, 10  # a week of three hours; noise of scale 10
NOISE = Noise(build_mechanism("discrete_laplace", K, Price.epsilon(1)))


def make_window(side: int, seed: int) -> tuple[Slices, Slices]:
    """Return true and noisy counts (T, M, M): a centre, two roads, a rhythm of the day."""
    y, x = np.mgrid[:side, :side] / side
    place = 60 * np.exp(-((x - 0.5) ** 2 + (y - 0.5) ** 2) / 0.02)
    place += 20 * (np.abs(x - 0.3) < 0.01) + 20 * (np.abs(y - 0.7) < 0.01)
    rhythm = 1 + 0.8 * np.sin(2 * np.pi * np.arange(SLICES) / 8)
    random, forgotten = np.random.default_rng(seed), 1 - np.exp(-1 / K)
    truth = random.poisson(place[None] * rhythm[:, None, None])
    noise = random.geometric(forgotten, truth.shape) - random.geometric(forgotten, truth.shape)
    return truth.astype(np.float32), (truth + noise).astype(np.float32)


def measure(side: int, seed: int, folder: str, kept: KeptModels | None) -> dict[str, object]:
    """Denoise a window; return what it took and how far it is off."""
    truth, noisy = make_window(side, seed)
    settings, began = DenoiseSettings(model="blindspot", device="cpu"), time.process_time()
    tensor, notes = denoise_tensor(noisy, NOISE, 8, settings, folder, NullProgress(), kept=kept)
    took = round(time.process_time() - began, 1)
    error = round(float(np.sqrt(np.square(tensor.counts - truth).mean())), 3)
    return {"cpu_seconds": took, "rmse": error, "network": notes.get("network", "trained on its own")}


def main() -> None:
    side = int(sys.argv[1]) if len(sys.argv) > 1 else 96
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for number, name in enumerate(("first", "second")):
            kept = KeptModels(folder, name, number, ("", ""), window_seconds=1, retrain_seconds=100)
            found[name] = measure(side, number, f"{folder}/{number}", kept)
            print(name, found[name], flush=True)
        found["second_trained"] = measure(side, 1, f"{folder}/anew", None)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
