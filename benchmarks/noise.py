"""Samples a second of exact discrete noise, beside OpenDP's exact and NumPy's floating-point samplers.

Run: make bench-noise. One run, each sampler warmed up, ours and theirs by turns; the ratios are what counts. Seconds
are those of the processor, on all cores together, so that it does not matter who else uses the machine.
Last line: JSON, with the least ratio over all scales of the Laplace and of the Gaussian sampler.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from fractions import Fraction
from statistics import median

import numpy as np
import opendp.prelude as dp

from vdr_spark.privacy.discrete_gaussian import DiscreteGaussian
from vdr_spark.privacy.discrete_laplace import DiscreteLaplace
from vdr_spark.privacy.mechanism import Mechanism
from vdr_spark.privacy.randomness import secure_words

LAPLACE_SCALES = [Fraction(1), Fraction("9.2"), Fraction(500), Fraction(10_000)]
GAUSSIAN_SIGMAS = [Fraction(1), Fraction(10), Fraction(500), Fraction(10_000)]
OURS, THEIRS = 4_000_000, 60_000  # samples of a turn: about as long
TURNS = 3

Draw = Callable[[int], object]


def rate(draw: Draw, size: int) -> float:
    """Samples a second, once."""
    began = time.process_time()
    draw(size)
    return size / (time.process_time() - began)


def compare(mechanism: Mechanism, theirs: Draw, floating: Draw) -> float:
    """Print a line, and return how many times as fast as OpenDP's sampler ours is: medians of turns."""

    def ours(size: int) -> object:
        return mechanism.sample(size, secure_words)

    sizes = {ours: OURS, theirs: THEIRS, floating: OURS}
    for draw, size in sizes.items():
        draw(size // 10)
    turns = [[rate(draw, size) for draw, size in sizes.items()] for _ in range(TURNS)]
    fast, slow, inexact = (median(rates) / 1e6 for rates in zip(*turns, strict=True))
    scale, ratio = float(mechanism.scale), float(fast / slow)
    print(f"{mechanism.name:>17} {scale:>8g} {fast:>9.1f} {slow:>11.3f} {inexact:>16.1f} {ratio:>10.0f}")
    return ratio


def main() -> None:
    dp.enable_features("contrib")
    domain, generator = dp.vector_domain(dp.atom_domain(T="i64")), np.random.default_rng()
    print(f"{'':>17} {'scale':>8} {'vdr M/s':>9} {'OpenDP M/s':>11} {'NumPy float M/s':>16} {'to OpenDP':>10}")
    laplace, gaussian = {}, {}
    for scale in LAPLACE_SCALES:
        theirs = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=float(scale))
        laplace[float(scale)] = compare(
            DiscreteLaplace(scale),
            lambda n, m=theirs: m([0] * n),  # type: ignore[misc]
            lambda n, s=float(scale): generator.laplace(scale=s, size=n),  # type: ignore[misc]
        )
    for sigma in GAUSSIAN_SIGMAS:
        theirs = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=float(sigma))
        gaussian[float(sigma)] = compare(
            DiscreteGaussian(sigma**2),
            lambda n, m=theirs: m([0] * n),  # type: ignore[misc]
            lambda n, s=float(sigma): generator.normal(scale=s, size=n),  # type: ignore[misc]
        )
    least = {"ratio_to_opendp": min(laplace.values()), "ratio_to_opendp_gaussian": min(gaussian.values())}
    print(json.dumps({**least, "ratios": laplace, "ratios_gaussian": gaussian}))


if __name__ == "__main__":
    main()
