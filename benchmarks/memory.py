"""Memory of denoising, in tensors: what is held at the worst moment beside the noisy tensor itself.

    python benchmarks/memory.py                               # auto on 576 x 576 x 96, Houston's noise
    python benchmarks/memory.py --slices 576 --model ridge    # 72 days of three-hour slices
    python benchmarks/memory.py --slices 1                    # a single slice

The city is made up: places of very different busyness, busier by day, counted with noise. PyTorch and the rest of the
process are there before the first measurement and do not count. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from datetime import UTC, datetime, timedelta

import numpy as np
import torch
from numpy.typing import NDArray

from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.stage import denoise_tensor
from vdr_spark.plan import ReleasePlan, make_plan
from vdr_spark.privacy.randomness import seeded_words
from vdr_spark.progress import Update
from vdr_spark.refine import choose_refinement, estimate_kept

_START = datetime(2020, 1, 1, tzinfo=UTC)
_SLICES_PER_DAY = 8
K, EPSILON = 55, "6"  # Houston's


def main() -> None:
    arguments = _arguments()
    plan = _plan(arguments.model, arguments.cells, arguments.slices)
    noisy = _noisy_city(plan)
    _warm_up()
    before = _peak_bytes()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="vdr-memory-") as folder:
        day = plan.grid.slices_per_day
        tensor, notes = denoise_tensor(noisy, plan.noise, day, plan.config.denoise, folder, _Lines())
    kept, total = estimate_kept(float(noisy.sum(dtype=np.float64)), plan.total_pings), float(plan.total_pings)
    refined = choose_refinement(plan, kept, total, tensor).apply(tensor)
    seconds = time.perf_counter() - began
    assert np.isfinite(refined.counts).all()
    result = {
        "model": arguments.model,
        "chosen": notes["model"],
        "shape": list(noisy.shape),
        "tensor_mb": noisy.nbytes / 2**20,
        "peak_tensors": (_peak_bytes() - before) / noisy.nbytes,
        "peak_mb": _peak_bytes() / 2**20,
        "seconds": seconds,
    }
    print(f"{result['peak_tensors']:.1f} tensors of {result['tensor_mb']:.0f} MB beside the noisy one, {seconds:.0f} s")
    print(json.dumps(result))


class _Lines:
    """A `Progress` of one line a task: a long run shows where it is."""

    def task(self, title: str, total: float | None) -> _Lines:  # noqa: ARG002  part of the protocol
        print(f"{_peak_bytes() / 2**20:8.0f} MB  {title}", flush=True)
        return self

    def __enter__(self) -> Update:
        return lambda *_: None

    def __exit__(self, *_: object) -> None:
        pass


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _warm_up() -> None:
    """Have PyTorch load what it loads at its first step."""
    layer = torch.nn.Conv2d(1, 1, 3)
    layer(torch.zeros(1, 1, 8, 8)).sum().backward()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="auto", help="of denoise.model (default: %(default)s)")
    parser.add_argument("--cells", type=int, default=576, help="cells along each side (default: %(default)s)")
    parser.add_argument("--slices", type=int, default=96, help="time slices (default: %(default)s)")
    return parser.parse_args()


def _plan(model: str, cells: int, slices: int) -> ReleasePlan:
    length = timedelta(days=1) / _SLICES_PER_DAY
    config = ReleaseConfig.model_validate(
        {
            "name": "memory",
            "dataset": "memory",
            "output": "nothing-is-written-here",
            "input": {"path": "nothing-is-read-here"},
            "region": {"center": [29.7604, -95.3698], "side_m": 20_000},
            "grid": {"cells_per_side": cells},
            "period": {"start": _START, "end": _START + slices * length, "slice": f"{24 // _SLICES_PER_DAY}h"},
            "privacy": {"epsilon": EPSILON, "k": K, "total_pings": cells**2 * slices},
            "denoise": {"model": model},
        }
    )
    return make_plan(config).releases(cells**2 * slices)[0]


def _noisy_city(plan: ReleasePlan) -> NDArray[np.float32]:
    """Made slice by slice, so that the making leaves no peak of its own. (T, M, M)"""
    random, cells = np.random.default_rng(0), plan.grid.cells_per_side
    places = random.gamma(0.1, 8, size=(cells, cells))
    mechanism = plan.noise.mechanism
    noisy = np.empty(plan.grid.shape, np.float32)
    for t, layer in enumerate(noisy):
        busy = 1 + 0.8 * np.sin(2 * np.pi * t / _SLICES_PER_DAY)
        noise = mechanism.sample(cells**2, seeded_words(0, t)).reshape(cells, cells)
        layer[:] = random.poisson(busy * places) + noise
    return noisy


if __name__ == "__main__":
    main()
