"""The bill of a further draw: what it adds to what a dataset has spent already, told before anything is reserved.

What is promised to people is the sum of all draws over them, and whoever writes another configuration, with another k
or a finer grid, may not have that sum in mind. Pure; who is told, and who is asked, is for others to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from vdr_spark.epsilon import describe_odds, find_weakness
from vdr_spark.privacy.accounting import BudgetRequest, Entry, State, balance, price_of_unbooked


@dataclass(frozen=True)
class Bill:
    """What a release adds to the draws that were made, or reserved, of its dataset before."""

    dataset: str
    before: Fraction
    added: Fraction
    granted: Fraction

    @property
    def after(self) -> Fraction:
        return self.before + self.added

    def __str__(self) -> str:
        meaning = find_weakness(self.after) or f"epsilon {self.after} means: {describe_odds(self.after)}."
        return (
            f"this is a further draw over dataset {self.dataset}, and draws add up: epsilon {self.before} is spent or "
            f"reserved, this adds {self.added}, the sum is then {self.after}, and {self.granted - self.after} of "
            f"{self.granted} granted is left. As a sum, {meaning}"
        )


def prepare_bill(entries: Sequence[Entry], request: BudgetRequest) -> Bill | None:
    """Return what a release will add by the ledger as it stands.

    None where there is nothing to tell: the dataset's first draw, draws that are booked already, as those of a run that
    is taken up, and what the ledger will refuse, in words of its own.
    """
    own = {draw.draw_id for draw in request.draws}
    booked = (entry for entry in entries if entry.state in (State.RESERVED, State.SPENT))
    first = all(entry.draw_id in own for entry in booked if entry.dataset == request.dataset)
    account, price = balance(entries, request.dataset), price_of_unbooked(entries, request.draws)
    if first or not 0 < price <= account.remaining:
        return None
    return Bill(request.dataset, account.committed, price, account.granted)
