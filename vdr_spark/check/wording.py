"""How exact figures are put into words."""

from __future__ import annotations


def percent(share: float) -> str:
    """Return a share such as 8.6 %, with more decimals where it is very small."""
    return f"{100 * share:.1f} %" if share >= 0.01 or not share else f"{100 * share:.2g} %"


def round_total(pings: int) -> int:
    """Return N to two digits: a figure that one person more or less hardly changes."""
    zeros = max(0, len(str(pings)) - 2)
    return round(pings, -zeros)


def describe_difference(declared: int, pings: int) -> str:
    """Return how a declared N compares, such as `12 % more than the pings`."""
    ratio = declared / pings
    if ratio >= 2:
        return f"{ratio:,.3g} times the pings"
    return f"{percent(abs(ratio - 1))} {'more' if ratio >= 1 else 'fewer'} than the pings"
