"""Deliberately broken parts of collect, each a mistake that somebody made somewhere. The audit must find them.

They run in Spark's workers in place of the right ones. Workers need not be able to import tests, so this module is
sent along.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import cloudpickle

from vdr_spark.arrays import Integers
from vdr_spark.collect.bounding import Bounding, Counts, Sample, SampleKey, build_bounding
from vdr_spark.collect.packed_counts import sum_packed
from vdr_spark.collect.sorting import Codes, count_within_runs, mark_run_starts
from vdr_spark.plan import Plan
from vdr_spark.privacy.discrete_laplace import DiscreteLaplace
from vdr_spark.privacy.mechanism import Mechanism, Noise
from vdr_spark.privacy.randomness import RandomWords, secure_words, seeded_words
from vdr_spark.storage.slice_bytes import encode_slice
from vdr_spark.workers import ArrowTask

cloudpickle.register_pickle_by_value(sys.modules[__name__])

MECHANISM = "vdr_spark.plan.plan.Plan.noise_for"
BOUNDING = "vdr_spark.collect.stage.build_bounding"
NOISE_ADDER = "vdr_spark.collect.noise._noise_adder"


def noise_of_scale_07(plan: Plan, k: int) -> Noise:
    return _noise(plan, DiscreteLaplace(_scale(plan, k) * Fraction(7, 10)))


def floating_point_noise(plan: Plan, k: int) -> Noise:
    return _noise(plan, _FloatLaplace(float(_scale(plan, k))))


def noise_with_zero_counted_twice(plan: Plan, k: int) -> Noise:
    return _noise(plan, _ZeroTwice(_scale(plan, k)))


def noise_in_whole_pings(plan: Plan, k: int) -> Noise:
    """Return noise of the right size, but weights are fractions of a ping."""
    units = plan.config.privacy.units_per_ping
    return _noise(plan, _Multiple(DiscreteLaplace(_scale(plan, k) / units), units))


def _scale(plan: Plan, k: int) -> Fraction:
    privacy = plan.config.privacy
    return k / privacy.cells_price.amount * privacy.units_per_ping


def _noise(plan: Plan, mechanism: Any) -> Noise:
    return Noise(mechanism, plan.config.privacy.units_per_ping)


def bound_of_k_plus_1(name: str, k: int, cells: int, key: SampleKey) -> Bounding:
    return build_bounding(name, k + 1, cells, key)


def norm_for_sum(_name: str, k: int, cells: int, key: SampleKey) -> Bounding:
    """Bound the L2 norm of a user by k, and leave the noise what it is for a sum of k."""
    return build_bounding("l2", k, cells, key)


def no_bound(name: str, _k: int, cells: int, key: SampleKey) -> Bounding:
    return build_bounding(name, 10**9, cells, key)


def choice_made_anew(slices: int) -> Callable[[str, int, int, SampleKey], Bounding]:
    """Choose for each slice, as `rand()` in a plan that is evaluated per slice: k pings on average, up to k in each."""

    def bounding(name: str, k: int, cells: int, key: SampleKey) -> Bounding:
        right = build_bounding(name, k, cells, key)
        assert isinstance(right, Sample)
        return _Anew(right.k, right.cell_bits, right.key, slices, cells // slices)

    return bounding


def noise_on_cells_with_pings(cells_per_slice: int, mechanism: Mechanism, seed: int | None) -> ArrowTask:  # noqa: ARG001
    def noisy(counts: Integers) -> Integers:
        return np.where(counts > 0, counts + mechanism.sample(len(counts), secure_words), 0)

    return _adder(cells_per_slice, noisy)


def same_noise_in_every_slice(cells_per_slice: int, mechanism: Mechanism, seed: int | None) -> ArrowTask:  # noqa: ARG001
    secret = secrets.randbits(64)
    return _adder(cells_per_slice, lambda counts: counts + mechanism.sample(len(counts), seeded_words(secret, 0)))


@dataclass(frozen=True)
class _FloatLaplace:
    scale: float

    @property
    def variance(self) -> float:
        return 2 * self.scale**2

    def sample(self, size: int, random_words: RandomWords) -> NDArray[np.int64]:  # noqa: ARG002
        return np.rint(np.random.default_rng().laplace(0, self.scale, size)).astype(np.int64)


@dataclass(frozen=True)
class _Multiple:
    noise: DiscreteLaplace
    unit: int

    @property
    def variance(self) -> float:
        return self.noise.variance * self.unit**2

    def sample(self, size: int, random_words: RandomWords) -> NDArray[np.int64]:
        return self.noise.sample(size, random_words) * self.unit


class _ZeroTwice(DiscreteLaplace):
    def _sample(self, size: int, random_words: RandomWords) -> NDArray[np.int64]:
        negative, magnitude = self._sample_signed(size, random_words)
        return np.where(negative, -magnitude, magnitude)


@dataclass(frozen=True)
class _Anew(Sample):
    slices: int
    cells_per_slice: int

    def count_cells(self, users: int, code: Codes, packed: NDArray[np.uint64]) -> Counts:  # noqa: ARG002
        rng, kept = np.random.default_rng(), []
        cells = (packed & np.uint64((1 << self.cell_bits) - 1)).view(np.int64)
        for number in range(self.slices):
            order = np.lexsort((rng.random(len(code)), code))
            chosen = cells[order[count_within_runs(mark_run_starts(code[order])) < self.k]]
            kept.append(chosen[chosen // self.cells_per_slice == number])
        return np.concatenate(kept), None


def _adder(cells_per_slice: int, noisy: Callable[[Integers], Integers]) -> ArrowTask:
    def add(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, counts in sorted(sum_packed(batches, cells_per_slice).items()):
            yield encode_slice(number, noisy(counts))

    return add
