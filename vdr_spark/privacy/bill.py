"""The bill of a further draw: what it adds to what a dataset has spent already, told before anything is reserved.

What is promised to people is the sum of all draws over them, and whoever writes another configuration, with another k
or a finer grid, may not have that sum in mind. Pure; who is told, and who is asked, is for others to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from vdr_spark.conversion import epsilon_at
from vdr_spark.epsilon import describe_odds, find_weakness, format_epsilon
from vdr_spark.price import Currency, NoPrice
from vdr_spark.privacy.accounting import balance, price_of_unbooked
from vdr_spark.privacy.entries import BudgetRequest, Entry, State


@dataclass(frozen=True)
class Bill:
    """What a release adds to the draws that were made, or reserved, of its dataset before."""

    dataset: str
    before: Fraction  # this and the next two in the currency of the dataset's budget
    added: Fraction
    granted: Fraction
    currency: Currency = Currency.EPSILON
    delta: Fraction | None = None  # of a budget in rho: at which people are told an epsilon

    @property
    def after(self) -> Fraction:
        return self.before + self.added

    def __str__(self) -> str:
        epsilon = self.after if self.delta is None else epsilon_at(self.after, self.delta)
        told = format_epsilon(epsilon, self.delta)
        meaning = find_weakness(epsilon, self.delta) or f"{told} means: {describe_odds(epsilon, self.delta)}."
        return (
            f"this is a further draw over dataset {self.dataset}, and draws add up: {self.currency} {self.before} is "
            f"spent or reserved, this adds {self.added}, the sum is then {self.after}, and {self.granted - self.after} "
            f"of {self.granted} granted is left. As a sum, {meaning}"
        )


def prepare_bill(entries: Sequence[Entry], request: BudgetRequest) -> Bill | None:
    """Return what a release will add by the ledger as it stands.

    None where there is nothing to tell: the dataset's first draw, draws that are booked already, as those of a run that
    is taken up, and what the ledger will refuse, in words of its own.
    """
    own = {draw.draw_id for draw in request.draws}
    booked = (entry for entry in entries if entry.state in (State.RESERVED, State.SPENT))
    first = all(entry.draw_id in own for entry in booked if entry.dataset == request.dataset)
    account = balance(entries, request.dataset)
    try:
        price = price_of_unbooked(entries, request.draws, account.currency)
    except NoPrice:
        return None
    if first or not 0 < price <= account.remaining:
        return None
    return Bill(request.dataset, account.committed, price, account.granted, account.currency, account.delta)
