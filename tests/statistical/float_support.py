"""Whether floating-point Laplace noise could have made a number: the attack of Mironov (2012).

NumPy's `laplace` makes a number from one uniform u, a multiple of 2**-53. Far from zero neighbouring u give noise
several integers apart, and the integers in between cannot be made. At the largest scale that the configuration
allows, 2**50, an eighth of all samples lie where such holes are. A user's pings move the noise onto them.
"""

from __future__ import annotations

import math

import numpy as np

from tests.statistical.audit import Outputs, Statistic, Values

_STEPS = 2.0**53
_NEAR = np.arange(-4, 5)
_log = np.frompyfunc(math.log, 1, 1)  # the C library's, which NumPy's sampler calls; `np.log` has a version of its own


def outside_support(scale: float) -> Statistic:
    """Of the first cell: 1 where rounded NumPy noise on a count of zero cannot have this value."""

    def outside(outputs: Outputs) -> Values:
        values = outputs[:, 0]
        impossible = np.zeros(len(values), dtype=np.int64)
        far = np.flatnonzero(np.abs(values) > math.log(4) * scale)
        impossible[far] = ~_can_be_made(values[far].astype(float), scale)
        return impossible

    return outside


def _can_be_made(values: Values, scale: float) -> Values:
    tail = np.exp(-np.abs(values) / scale) / 2
    nearest = np.rint(np.where(values < 0, tail, 1 - tail) * _STEPS)
    uniform = np.clip(nearest[:, None] + _NEAR, 1, _STEPS - 1) / _STEPS
    # As NumPy's source has it, term by term: 2 - u - u is rounded twice.
    noise = np.where(uniform >= 0.5, -scale * _log(2 - uniform - uniform), scale * _log(uniform + uniform))
    made: Values = (np.rint(noise.astype(float)) == values[:, None]).any(axis=1)
    return made
