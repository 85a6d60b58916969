"""Mechanisms: what adds noise to integer counts, chosen by name in the configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vdr_spark.config.privacy import PrivacySettings
from vdr_spark.privacy.discrete_laplace import DiscreteLaplace
from vdr_spark.privacy.randomness import Words


class Mechanism(Protocol):
    """Independent integer noise, the same for every cell. Must be picklable: tasks draw it."""

    @property
    def variance(self) -> float:
        """Of the noise of one cell, in units; public."""
        ...

    def sample(self, size: int, words: Words) -> NDArray[np.int64]:
        """`size` exact samples from random words."""
        ...


MECHANISMS: dict[str, Callable[[PrivacySettings], Mechanism]] = {
    "discrete_laplace": lambda privacy: DiscreteLaplace(privacy.scale * privacy.unit),
}


def mechanism_of(privacy: PrivacySettings) -> Mechanism:
    """The mechanism a configuration names, calibrated to its k and epsilon, in units of 1 / `privacy.unit`."""
    return MECHANISMS[privacy.mechanism](privacy)


def noise_variance(privacy: PrivacySettings) -> float:
    """Of the noise of one cell, in pings squared."""
    return mechanism_of(privacy).variance / privacy.unit**2
