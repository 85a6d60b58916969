"""What an epsilon means, in words: how sure of one person it may make somebody, and from where on that is too sure.

Under epsilon, one person's whole history changes the probability of any output by at most a factor of e^epsilon. By
Bayes' rule that is also the factor by which a reader's odds on "this person is in the data" may change.
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


def describe_odds(epsilon: Fraction) -> str:
    """Say what an epsilon, of one release or of several together, lets a reader learn of one person at most."""
    return (
        "whoever held it for even odds that one person is in the data may afterwards be sure of it at up to "
        f"{describe_factor(epsilon)} to 1"
    )


def find_weakness(epsilon: Fraction) -> str | None:
    """Return what a careful reader must be told of an epsilon, as a sentence; None where it is good practice."""
    if epsilon > NO_PROTECTION:
        return f"epsilon {epsilon} is no protection worth the name: {describe_odds(epsilon)}."
    if epsilon < GOOD_PRACTICE:
        return None
    strength = "a weak promise" if epsilon > WEAK else "large"
    return f"epsilon {epsilon} is {strength}: {describe_odds(epsilon)}. Good practice is below {GOOD_PRACTICE}."


def in_brackets(epsilon: Fraction) -> str:
    """Return an epsilon as a divisor is written: 6, but (1/3)."""
    return str(epsilon) if epsilon.denominator == 1 else f"({epsilon})"
