"""What an epsilon means, in words: how sure of one person it may make somebody, and from where on that is too sure.

Under epsilon, one person's whole history changes the probability of any output by at most a factor of e^epsilon. By
Bayes' rule that is also the factor by which a reader's odds on "this person is in the data" may change. Under
(epsilon, delta) a probability may change by delta beyond that: what is said here of an epsilon is said with it.
"""

from __future__ import annotations

import math
from fractions import Fraction

GOOD_PRACTICE = 5  # from here on there is a caution, as in OpenDP
WEAK = 10  # above, a configuration is refused unless it accepts a weak promise
NO_PROTECTION = 50  # above, it is called so, whatever anyone accepts

_READABLE = 1e6  # larger factors are written as powers of ten


def describe_factor(epsilon: Fraction) -> str:
    """Return e^epsilon, as a person reads it."""
    if epsilon < math.log(_READABLE):
        factor = math.exp(epsilon)
        return f"{factor:,.0f}" if factor >= 1000 else f"{factor:.4g}"
    rest, power = math.modf(float(epsilon) / math.log(10))
    return f"{10**rest:.1f} x 10^{power:.0f}"


def describe_odds(epsilon: Fraction, delta: Fraction | None = None) -> str:
    """Say what an epsilon, of one release or of several together, lets a reader learn of one person at most."""
    but_for = "" if delta is None else f", but for chances of the size of {format_delta(delta)}"
    return (
        "whoever held it for even odds that one person is in the data may afterwards be sure of it at up to "
        f"{describe_factor(epsilon)} to 1{but_for}"
    )


def format_epsilon(epsilon: Fraction, delta: Fraction | None = None) -> str:
    """Return an epsilon as it is told: exact where it is pure; with a delta it was rounded up, and is a decimal."""
    return f"epsilon {epsilon}" if delta is None else f"epsilon {float(epsilon):g} at delta {format_delta(delta)}"


def format_delta(delta: Fraction) -> str:
    """Return a delta as people write it: 1e-9."""
    mantissa, power = f"{float(delta):.3e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(power)}"


def find_weakness(epsilon: Fraction, delta: Fraction | None = None) -> str | None:
    """Return what a careful reader must be told of an epsilon, as a sentence; None where it is good practice."""
    told = format_epsilon(epsilon, delta)
    if epsilon > NO_PROTECTION:
        return f"{told} is no protection worth the name: {describe_odds(epsilon, delta)}."
    if epsilon < GOOD_PRACTICE:
        return None
    strength = "a weak promise" if epsilon > WEAK else "large"
    return f"{told} is {strength}: {describe_odds(epsilon, delta)}. Good practice is below {GOOD_PRACTICE}."


def find_large_delta(delta: Fraction | None, total_pings: int | None) -> str | None:
    """Return what must be told of a delta above 1 / N; None where it is below, or N is not known.

    Noise that publishes each ping as it is with a probability of delta, and nothing else, keeps (0, delta). With N
    pings that is delta * N of them in the mean: one, where delta is 1 / N.
    """
    if delta is None or total_pings is None or delta * total_pings <= 1:
        return None
    return (
        f"privacy.delta {format_delta(delta)} is above 1 / N = {1 / total_pings:.2g}: a promise at such a delta would "
        f"also be kept by publishing about {float(delta * total_pings):.3g} of the pings as they are. Give a smaller "
        "one, such as 1e-9; only the epsilon that people are told grows by it, not the noise."
    )


def in_brackets(epsilon: Fraction) -> str:
    """Return an epsilon as a divisor is written: 6, but (1/3)."""
    return str(epsilon) if epsilon.denominator == 1 else f"({epsilon})"
