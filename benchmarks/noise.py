"""Samples a second of exact discrete Laplace noise, beside OpenDP's exact and NumPy's floating-point sampler.

Run: make bench-noise. One core, one run, each sampler warmed up; the ratios are what counts. Last line: JSON.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import opendp.prelude as dp

from vdr_spark.privacy.discrete_laplace import DiscreteLaplace
from vdr_spark.privacy.randomness import secure_words

SCALES = [Fraction(1), Fraction("9.2"), Fraction(500), Fraction(10_000)]


def rate(draw: Callable[[int], object], size: int) -> float:
    """Samples a second, the median of three runs after a warm-up."""
    draw(size // 10)
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        draw(size)
        seconds.append(time.perf_counter() - began)
    return size / sorted(seconds)[1]


def main() -> None:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    generator = np.random.default_rng()
    ratios = {}
    print(f"{'scale':>8} {'vdr M/s':>9} {'OpenDP M/s':>11} {'NumPy float M/s':>16} {'to OpenDP':>10}")
    for scale in SCALES:
        mechanism = DiscreteLaplace(scale)
        theirs = dp.m.make_laplace(*space, scale=float(scale))
        ours = rate(lambda n, m=mechanism: m.sample(n, secure_words), 4_000_000)  # type: ignore[misc]
        opendp = rate(lambda n, m=theirs: m([0] * n), 60_000)  # type: ignore[misc]
        numpy = rate(lambda n, s=float(scale): generator.laplace(scale=s, size=n), 4_000_000)  # type: ignore[misc]
        ratios[float(scale)] = ours / opendp
        print(
            f"{float(scale):>8g} {ours / 1e6:>9.1f} {opendp / 1e6:>11.3f} {numpy / 1e6:>16.1f} {ours / opendp:>10.0f}"
        )
    print(json.dumps({"ratio_to_opendp": min(ratios.values()), "ratios": ratios}))


if __name__ == "__main__":
    main()
