"""The error bars of sums in SQL: the formula of `vdr_spark.sum_errors`, step by step."""

from __future__ import annotations

import math

from vdr_spark.sql.expressions import clip, interpolate, number
from vdr_spark.sum_errors import AS_GOOD_AS_NONE, AT_A_PING, SumErrors

Steps = list[tuple[str, str]]
"""Named queries, each of which may use those before it: what a WITH holds."""

QUANTILE = 1.6448536269514722  # of the normal distribution: 90 % lie within as many deviations
_LEAST = 1e-9  # cells and slices, so that their logarithms exist


def judge(errors: SumErrors | None) -> Steps:
    """Return the steps from `measured` (pings, own, cells, slices, and what else it has) to `judged`, with deviation.

    `own` adds up the cells' own variances, `cells` counts cells and `slices` slices, cut ones by their share.
    """
    if errors is None:
        return [("judged", "SELECT m.*, sqrt(m.own) AS deviation FROM measured m")]
    first, last = _ends(errors)
    clump = _between("clump", errors) if errors.clump_of_cell else number(0)
    weight = number(0)
    if last > first:
        low, high = math.log(first), math.log(last)
        weight = clip(f"(ln(greatest(m.slices, {number(_LEAST)})) - {number(low)}) / {number(high - low)}", 0, 1)
    size = f"greatest(m.cells, {number(_LEAST)})"
    return [
        (
            "sized",
            f"SELECT m.*, greatest(m.pings, {number(0)}) AS positive,\n"
            f"    greatest({number(errors.noise_deviation)} * sqrt({size}), 1.0E-300) AS noise,\n"
            f"    ln(sqrt({size} / greatest(m.slices, {number(_LEAST)}))) AS log_side,\n"
            f"    {weight} AS whole\n  FROM measured m",
        ),
        ("known", f"SELECT s.*, {_between('spread', errors)} AS spread,\n    {clump} AS clump\n  FROM sized s"),
        (
            "told",
            "SELECT k.*, k.spread * k.positive / k.noise AS ratio,\n"
            f"    k.clump * k.positive * (1.0E0 + k.clump / (k.positive + k.clump / {number(AT_A_PING)} + "
            f"{number(AS_GOOD_AS_NONE)})) AS missing\n  FROM known k",
        ),
        (
            "found",
            "SELECT t.*, CASE WHEN t.noise * t.noise * t.ratio / (1.0E0 + t.ratio) >= t.own - t.missing\n"
            "    THEN t.noise * t.noise * t.ratio / (1.0E0 + t.ratio) ELSE t.own - t.missing END AS here\n"
            "  FROM told t",
        ),
        (
            "judged",
            f"SELECT f.*, CASE WHEN f.own IS NOT NULL THEN sqrt({_variance(errors)}) END AS deviation\n  FROM found f",
        ),
    ]


def _variance(errors: SumErrors) -> str:
    if errors.total is None:
        return "f.here + f.missing"
    share = clip(f"f.pings / {number(max(errors.total.pings, 1.0))}", 0, 1)
    elsewhere = f"(greatest({number(errors.sum_deviation**2)} - f.here, 0.0E0) + {number(errors.total.deviation**2)})"
    return (
        f"(1.0E0 - {share}) * (1.0E0 - {share}) * f.here\n    + {share} * {share} * {elsewhere}\n"
        f"    + (1.0E0 - {share}) * f.missing"
    )


def _ends(errors: SumErrors) -> tuple[int, int]:
    slices = {of.slices for of in errors.spreads}
    return min(slices), max(slices)


def _between(name: str, errors: SumErrors) -> str:
    """Return spread or clump at a size: along the sides, and between the fewest and the most slices."""
    first, last = _ends(errors)
    low, high = (interpolate("s.log_side", errors.knots(name, slices)) for slices in (first, last))
    return f"exp({low})" if first == last else f"exp((1.0E0 - s.whole) * ({low}) + s.whole * ({high}))"
