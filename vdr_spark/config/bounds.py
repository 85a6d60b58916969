"""What bounds a user, in the section `privacy`: given once, and of the kind that the bounding and the noise need.

Noise hides what one user may change. Laplace noise asks for the sum of a user's changes, which k bounds; Gaussian noise
for the root of the sum of their squares, which `norm` bounds, and k too: who adds k in sum adds at most k in L2, and as
much if all of it is in one cell. So `sample` and `weight` go with either noise, and `l2` with Gaussian noise alone: a
norm s over m cells allows a sum of s sqrt(m), and noise for that would drown everything.
"""

from __future__ import annotations

from vdr_spark.price import Currency


def check_bound(bounding: str, currency: Currency, k: int | None, share: float | None, norm: int | None) -> None:
    """Raise a ValueError unless just that is given which the bounding needs, and the price is one for its noise."""
    if bounding == "l2":
        _check_norm(currency, k, share, norm)
    elif norm is not None:
        raise ValueError(
            f"`norm` ({norm}) goes with `bounding: l2`, and bounding is `{bounding}`: give `k` or `lambda` instead, or "
            "set `bounding: l2`"
        )
    elif (k is None) == (share is None):
        raise ValueError("give either `k` or `lambda` (k = lambda * total_pings), not both, not neither")


def _check_norm(currency: Currency, k: int | None, share: float | None, norm: int | None) -> None:
    if currency is Currency.EPSILON:
        raise ValueError(
            "`bounding: l2` goes with `rho` and Gaussian noise only, not with `epsilon`: Laplace noise hides what a "
            "user adds in sum, and with the norm bounded that may be as much as the norm times the root of the number "
            "of cells. Give `rho` and `delta`, or take `bounding: weight` with `k`"
        )
    if norm is None:
        raise ValueError(
            "`bounding: l2` needs `norm`, the largest L2 norm of a user's counts in pings, such as norm: 8"
        )
    if k is not None or share is not None:
        given = f"k ({k})" if k is not None else f"lambda ({share:g})"
        raise ValueError(f"`bounding: l2` bounds norms by `norm`, and {given} bounds sums: remove it")
