"""Numbers of an experiment's settings, as YAML or a command line have them."""

from __future__ import annotations

import math
from fractions import Fraction

from vdr_spark.config.values import parse_count
from vdr_spark.errors import InvalidConfig


def whole(name: str, value: object, least: int = 1) -> int:
    """Return a whole number, also one written as 1e6, which YAML takes for a word. Refuses what is below `least`."""
    try:
        number = parse_count(value)
    except ValueError:
        number = None
    if not isinstance(number, int) or number < least:
        raise InvalidConfig(f"{name}: must be a whole number, at least {least}, not {value!r}")
    return number


def positive(name: str, value: object) -> float:
    """Return a positive number, also one written as 1e-4 or 1/3."""
    try:
        number = float("nan") if isinstance(value, bool) else float(Fraction(str(value)))
    except (ValueError, ZeroDivisionError, OverflowError):
        number = float("nan")
    if not (math.isfinite(number) and number > 0):
        raise InvalidConfig(f"{name}: must be a positive number, not {value!r}")
    return number
