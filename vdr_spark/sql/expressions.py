"""Pieces of SQL that every engine reads alike."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

# Coefficients of Hart's rational approximation, as G. West ("Better approximations to cumulative normal functions",
# 2005) gives them: 15 digits of the normal distribution, of which engines have no function in common.
_NUMERATOR = (
    0.0352624965998911,
    0.700383064443688,
    6.37396220353165,
    33.912866078383,
    112.079291497871,
    221.213596169931,
    220.206867912376,
)
_DENOMINATOR = (
    0.0883883476483184,
    1.75566716318264,
    16.064177579207,
    86.7807322029461,
    296.564248779674,
    637.333633378831,
    793.826512519948,
    440.413735824752,
)


def number(value: float) -> str:
    """Return a literal of type DOUBLE, exact. With an exponent: without one it would be a DECIMAL."""
    text = repr(float(value))
    literal = text.upper() if "e" in text else f"{text}E0"
    return f"({literal})" if literal.startswith("-") else literal


def interpolate(x: str, knots: Sequence[tuple[float, float]]) -> str:
    """Return the straight lines between knots (x, y) in ascending order, level beyond both ends: `np.interp`."""
    (first_x, first_y), last_y = knots[0], knots[-1][1]
    if len(knots) == 1:
        return number(first_y)
    cases = [f"WHEN {x} <= {number(first_x)} THEN {number(first_y)}"]
    for (low_x, low_y), (high_x, high_y) in itertools.pairwise(knots):
        slope = (high_y - low_y) / (high_x - low_x)
        cases.append(f"WHEN {x} <= {number(high_x)} THEN {number(low_y)} + ({x} - {number(low_x)}) * {number(slope)}")
    return f"CASE {' '.join(cases)} ELSE {number(last_y)} END"


def snap(position: str, nearness: float) -> str:
    """Return a position in cells, on the edge of a cell where it is that near to one: what lies between is rounding."""
    return (
        f"CASE WHEN abs({position} - round({position})) < {number(nearness)} THEN round({position}) ELSE {position} END"
    )


def clip(value: str, least: float, most: float) -> str:
    return f"least(greatest({value}, {number(least)}), {number(most)})"


def upper_tail(z: str) -> str:
    """Return the chance that a standard normal number is above z, given as a column, z >= 0."""
    fraction = f"({_polynomial(z, _NUMERATOR)}) / ({_polynomial(z, _DENOMINATOR)})"
    far = f"{z} + {number(0.65)}"
    for step in (4, 3, 2, 1):
        far = f"{z} + {number(step)} / ({far})"
    return (
        f"CASE WHEN {z} > {number(37)} THEN {number(0)} "
        f"WHEN {z} < {number(7.07106781186547)} THEN exp(-{z} * {z} / {number(2)}) * {fraction} "
        f"ELSE exp(-{z} * {z} / {number(2)}) / ({far}) / {number(2.506628274631)} END"
    )


def _polynomial(z: str, coefficients: Sequence[float]) -> str:
    text = number(coefficients[0])
    for coefficient in coefficients[1:]:
        text = f"({text}) * {z} + {number(coefficient)}"
    return text
