"""Broken Gaussian noise and broken bounds of norms, each a mistake that is easily made. The audit must find them.

As `variants`, whose places in collect they take, they are sent along to Spark's workers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from pyspark import cloudpickle

from vdr_spark.arrays import Integers
from vdr_spark.collect.bounding import Bounding, Counts, Norm, SampleKey, build_bounding
from vdr_spark.collect.norms import find_weights, merge_pairs
from vdr_spark.collect.sorting import Codes, PackedPings
from vdr_spark.plan import Plan
from vdr_spark.privacy.discrete_gaussian import DiscreteGaussian
from vdr_spark.privacy.mechanism import Noise
from vdr_spark.privacy.randomness import RandomWords

cloudpickle.register_pickle_by_value(sys.modules[__name__])


def noise_of_sigma_08(plan: Plan, bound: int) -> Noise:
    return Noise(DiscreteGaussian(_sigma_squared(plan, bound) * Fraction(16, 25)), plan.config.privacy.units_per_ping)


def floating_point_noise(plan: Plan, bound: int) -> Noise:
    mechanism = _FloatGaussian(float(_sigma_squared(plan, bound)) ** 0.5)
    return Noise(mechanism, plan.config.privacy.units_per_ping)  # type: ignore[arg-type]


def _sigma_squared(plan: Plan, bound: int) -> Fraction:
    privacy = plan.config.privacy
    return (bound * privacy.units_per_ping) ** 2 / (2 * privacy.cells_price.amount)


def norm_a_fifth_too_large(name: str, norm: int, cells: int, key: SampleKey) -> Bounding:
    assert norm % 5 == 0
    return build_bounding(name, norm * 6 // 5, cells, key)


def norm_of_each_slice(slices: int) -> Callable[[str, int, int, SampleKey], Bounding]:
    """Bound what a user adds to each slice, as a task does that sees one slice only."""

    def bounding(name: str, norm: int, cells: int, key: SampleKey) -> Bounding:
        right = build_bounding(name, norm, cells, key)
        assert isinstance(right, Norm)
        return _OfEachSlice(right.norm, right.cell_bits, slices, cells // slices)

    return bounding


@dataclass(frozen=True)
class _OfEachSlice(Norm):
    slices: int
    cells_per_slice: int

    def count_cells(self, users: int, code: Codes, packed: PackedPings) -> Counts:
        code, cells, pings = merge_pairs(code, *self._unpack(packed))
        of_slice = code * np.int32(self.slices) + (cells // self.cells_per_slice).astype(np.int32)
        return cells, pings * find_weights(users * self.slices, of_slice, pings, self.norm)[of_slice]


@dataclass(frozen=True)
class _FloatGaussian:
    """Normal numbers of 32 bits, as tensors hold them, rounded to units."""

    scale: float

    @property
    def variance(self) -> float:
        return self.scale**2

    def sample(self, size: int, random_words: RandomWords) -> NDArray[np.int64]:  # noqa: ARG002
        normal = np.random.default_rng().standard_normal(size, np.float32)
        noise: Integers = np.rint(normal * np.float32(self.scale)).astype(np.int64)
        return noise
