"""What `vdr budget convert` answers: rho as an epsilon at a delta, and back; pure epsilon as rho; of many releases."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from vdr_spark.conversion import analytic_epsilon, epsilon_at, rho_for
from vdr_spark.epsilon import format_delta, format_epsilon
from vdr_spark.errors import InvalidConfig
from vdr_spark.price import Currency, Price


@dataclass(frozen=True)
class Translation:
    """An answer in sentences for people, and in figures for programs: fractions and decimals as text."""

    sentences: list[str]
    figures: dict[str, object]


def translate(rho: Fraction | None, epsilon: Fraction | None, delta: Fraction | None, times: int = 1) -> Translation:
    """Translate rho at a delta into an epsilon, an epsilon at a delta into rho, or pure epsilon into rho."""
    if (rho is None) == (epsilon is None):
        raise InvalidConfig(
            f"give either --rho or --epsilon, not {'neither' if rho is None else 'both'}: one is translated into the "
            "other"
        )
    if rho is None and epsilon is not None:
        return _translate_pure(epsilon, times) if delta is None else _translate_epsilon(epsilon, delta, times)
    assert rho is not None
    if delta is None:
        raise InvalidConfig("--rho must come with a --delta, such as 1e-9: rho is another epsilon at each of them")
    sentence = f"rho {rho} is {format_epsilon(epsilon_at(rho, delta), delta)}, rounded up"
    return _with_sum([sentence], rho, delta, times)


def _translate_epsilon(epsilon: Fraction, delta: Fraction, times: int) -> Translation:
    rho = rho_for(epsilon, delta)
    sentence = f"rho {float(rho):g} is the largest that is still {format_epsilon(epsilon, delta)}, rounded down"
    return _with_sum([sentence], rho, delta, times)


def _translate_pure(epsilon: Fraction, times: int) -> Translation:
    rho = Price.epsilon(epsilon).amount_in(Currency.RHO)
    sentences = [f"A draw of pure epsilon {epsilon} takes rho {rho} of a budget in rho: epsilon^2 / 2, exactly."]
    if times > 1:
        sentences.append(
            f"{times} such draws are pure epsilon {times * epsilon}, and take rho {times * rho} of a budget in rho."
        )
    return Translation(sentences, {"epsilon": str(epsilon), "rho": str(rho), "times": times})


def _with_sum(sentences: list[str], rho: Fraction, delta: Fraction, times: int) -> Translation:
    """Return the answer with what so many releases of this rho are together, and the analytic bound beside it."""
    bound = float(analytic_epsilon(rho, delta))
    told = [f"{sentences[0]} (rho + 2 sqrt(rho log(1 / delta)) is {bound:g})."]
    figures: dict[str, object] = {
        "rho": str(rho),
        "delta": format_delta(delta),
        "epsilon": f"{float(epsilon_at(rho, delta)):g}",
        "analytic_epsilon": f"{bound:g}",
        "times": times,
    }
    if times > 1:
        together = epsilon_at(times * rho, delta)
        told.append(
            f"{times} such releases together are rho {float(times * rho):g}, {format_epsilon(together, delta)}."
        )
        figures |= {"rho_together": str(times * rho), "epsilon_together": f"{float(together):g}"}
    return Translation(told, figures)
