"""What is written into a ledger next, decided by the ledger as it stands. Pure; writing it is the ledger's part.

A decision is made anew where another process has written in between. So all that allows or forbids an entry is looked
at here, by the entries that the new one will follow: what remains, which currency the budget is kept in, which draws
are booked. Amounts are compared as fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vdr_spark.errors import OtherCurrency
from vdr_spark.price import Currency, NoPrice
from vdr_spark.privacy import accounting
from vdr_spark.privacy.accounting import Excess
from vdr_spark.privacy.entries import BudgetRequest, Cap, Draw, Entry, Grant, Posting, State

Decision = Callable[[Sequence[Entry]], Posting | None]
"""Decides by the ledger as it stands what to write next; None: nothing."""


def decide_grant(dataset: str, grant: Grant) -> Decision:
    def decide(entries: Sequence[Entry]) -> Posting | None:
        _require_currency(entries, dataset, "a grant", grant.price.currency)
        known = accounting.balance(entries, dataset).delta
        if grant.price.currency is Currency.RHO and (known or grant.delta) is None:
            raise OtherCurrency(
                f"a first grant of rho must say its delta, at which people are told an epsilon of what dataset "
                f"`{dataset}` spends; give it (--delta 1e-9)"
            )
        if None not in (known, grant.delta) and known != grant.delta:
            raise OtherCurrency(
                f"the budget of dataset `{dataset}` was opened with a delta of {known}, and a grant must not name "
                f"another one (received {grant.delta}); leave it out"
            )
        return Posting(State.GRANTED, grant.price, delta=known or grant.delta)

    return decide


def decide_cap(dataset: str, cap: Cap) -> Decision:
    def decide(entries: Sequence[Entry]) -> Posting | None:
        _require_currency(entries, dataset, "a cap", cap.price.currency)
        return _cap_posting(cap)

    return decide


def decide_opening(request: BudgetRequest) -> Decision:
    def decide(entries: Sequence[Entry]) -> Posting | None:
        require_same_currency(entries, request)
        if any(entry.dataset == request.dataset and entry.state is State.GRANTED for entry in entries):
            return None
        _require_currency(entries, request.dataset, "a grant", request.opening.price.currency)  # a cap may be there
        return Posting(State.GRANTED, request.opening.price, delta=request.opening.delta)

    return decide


def decide_opening_cap(request: BudgetRequest) -> Decision:
    def decide(entries: Sequence[Entry]) -> Posting | None:
        # Only an account that nothing was asked of yet: afterwards a cap is a decision of people (`vdr budget cap`).
        new = all(entry.state is State.GRANTED for entry in entries if entry.dataset == request.dataset)
        if request.opening_cap is None or not new:
            return None
        _require_currency(entries, request.dataset, "a cap", request.opening_cap.price.currency)
        return _cap_posting(request.opening_cap)

    return decide


def decide_reservation(request: BudgetRequest, draw: Draw) -> Decision:
    def decide(entries: Sequence[Entry]) -> Posting | None:
        if accounting.state_of(entries, draw.draw_id) is not None:
            accounting.check_same_draw(entries, draw)
            return None
        before = request.draws[: request.draws.index(draw)]
        if any(accounting.state_of(entries, other.draw_id) is None for other in before):
            return None  # refused already
        require_same_currency(entries, request)
        account = accounting.balance(entries, request.dataset)
        # All draws of the release or none: half of them would be paid for and useless.
        price = accounting.price_of_unbooked(entries, request.draws, account.currency)
        allowed = price <= account.remaining and find_excess(entries, request) is None
        return Posting.about(draw, State.RESERVED if allowed else State.REFUSED)

    return decide


def decide_spending(draw: Draw, tensor_sha256: str) -> Decision:
    def decide(entries: Sequence[Entry]) -> Posting | None:
        accounting.check_same_draw(entries, draw)
        if accounting.state_of(entries, draw.draw_id) is not State.RESERVED:
            return None
        return Posting.about(draw, State.SPENT, tensor_sha256)

    return decide


def describe_refusal(request: BudgetRequest, entries: Sequence[Entry]) -> str:
    """Say what a release would overspend, and by how much."""
    if (excess := find_excess(entries, request)) is not None:
        return describe_excess(excess)
    account = accounting.balance(entries, request.dataset)
    requested = accounting.price_of_unbooked(entries, request.draws, account.currency)
    own = request.draws[-1].price.currency
    cap = (
        f"at most {account.cap.price.amount} within {account.cap.window_seconds} s, of which {account.recent} is "
        "taken, "
        if account.cap is not None
        else ""
    )
    squared = " (epsilon^2 / 2 of each draw)" if own is not account.currency else ""
    return (
        f"the budget of dataset `{request.dataset}` does not allow this release: requested {account.currency} "
        f"{requested}{squared}, granted {account.granted}, already reserved or spent {account.committed}, "
        f"{cap}remaining {account.remaining}, short by {requested - account.remaining}. Lower privacy.{own}, or have "
        "more granted (vdr budget grant); privacy.budget and privacy.cap only open an account."
    )


def find_excess(entries: Sequence[Entry], request: BudgetRequest) -> Excess | None:
    """Return the limit of a series that a release would exceed; refuse draws that have no price in its currency."""
    try:
        return accounting.find_excess(entries, request)
    except NoPrice:
        raise OtherCurrency(
            f"series.schedule of a release of dataset `{request.dataset}` is in epsilon, and windows of the series "
            "were paid for in rho, which is no pure epsilon. A series keeps its currency; begin another one, by "
            "another `name`. Nothing was booked"
        ) from None


def describe_excess(excess: Excess) -> str:
    """Say which limit a release would exceed, and by how much."""
    limit = excess.limit
    return (
        f"series.schedule does not allow this release: {limit.what} may cost {limit.price} together, requested "
        f"{excess.requested}, already reserved or spent {excess.taken}, remaining {excess.remaining}, short by "
        f"{excess.requested - excess.remaining}. A published window is not released again under other settings; "
        "restore those that it was released with"
    )


def require_same_currency(entries: Sequence[Entry], request: BudgetRequest) -> None:
    """Refuse a release that has no price in its dataset's currency, or whose configuration says another one."""
    kept = accounting.find_currency(entries, request.dataset)
    if kept is None:
        return
    if request.budget_currency not in (None, kept):
        raise OtherCurrency(
            f"privacy.budget is in {request.budget_currency}, and the ledger keeps the budget of dataset "
            f"`{request.dataset}` in {kept}, in which it was opened. Give it as budget: {{{kept}: ...}}, or leave it "
            "out. Nothing was booked"
        )
    if kept is Currency.EPSILON and any(draw.price.currency is Currency.RHO for draw in request.draws):
        raise OtherCurrency(
            f"the budget of dataset `{request.dataset}` is kept in pure epsilon, in which privacy.rho has no price, "
            "however small. Give the release's price as privacy.epsilon, with discrete_laplace noise. Nothing was "
            "booked"
        )


def _require_currency(entries: Sequence[Entry], dataset: str, what: str, currency: Currency) -> None:
    kept = accounting.find_currency(entries, dataset)
    if kept not in (None, currency):
        raise OtherCurrency(
            f"the budget of dataset `{dataset}` is kept in {kept}, and {what} must be in it, not in {currency}; give "
            f"an amount of {kept} (--currency {kept})"
        )


def _cap_posting(cap: Cap) -> Posting:
    return Posting(State.CAPPED, cap.price, window_seconds=cap.window_seconds)
