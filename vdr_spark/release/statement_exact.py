"""The figures of a statement for programs, exact, amounts as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vdr_spark.plan import ReleasePlan
from vdr_spark.price import Currency
from vdr_spark.privacy.accounting import Account
from vdr_spark.privacy.entries import Entry
from vdr_spark.release.statement_parts import Published, find_booked, name_user_column, price_by_stage


def state_exactly(
    release: ReleasePlan, published: Published, entries: Sequence[Entry], account: Account
) -> dict[str, Any]:
    config, grid = release.config, release.grid
    privacy, estimate = config.privacy, config.privacy.estimate_total
    return {
        "privacy_unit": privacy.unit,
        "user_column": name_user_column(config),
        "adjacency": privacy.promise.unit.adjacency,
        **_exact_price(release),
        "mechanism": privacy.mechanism,
        "k": release.k,
        "bounding": privacy.bounding,
        "sensitivity_l1": release.k,
        **({} if release.norm is None else {"norm": release.norm, "sensitivity_l2": release.norm}),
        "units_per_ping": privacy.units_per_ping,
        "total_pings": {
            "value": release.total_pings,
            "source": "estimated" if estimate else "declared public",
            "max_per_user": estimate.max_per_user if estimate else None,
        },
        "box": vars(grid.box),
        "boxes_under_the_same_bound": [vars(other.box) for other in release.plan.grids],
        "period": [grid.start.isoformat(), grid.end.isoformat()],
        "timezone": config.period.timezone,  # in which answers are given; the moments above are what they are
        "slice_seconds": grid.slice_seconds,
        "cells_per_side": grid.cells_per_side,
        "concentration": config.refine.concentration if config.refine.method == "gamma" else None,
        "model": published.model,
        "refinement": config.refine.method,
        "draws": [
            {
                "draw_id": entry.draw_id,
                "purpose": entry.purpose,
                entry.price.currency.value: str(entry.price.amount),
                "state": entry.state,
                "ledger_entry": entry.sequence,
                "ledger_entry_hash": entry.entry_hash,
            }
            for entry in find_booked(entries).values()
        ],
        "granted": str(account.granted),
        "committed": str(account.committed),
        **_exact_budget(account),
        "cells_sha256": published.cells_sha256,
        "configuration_hash": published.configuration_hash,
        "code_version": published.code_version,
        "created": published.created.isoformat(),
    }


def _exact_price(release: ReleasePlan) -> dict[str, Any]:
    """Return the price, by stage, and the noise that it buys. One of pure epsilon says no word of rho, as ever."""
    privacy, stages = release.config.privacy, price_by_stage(release.config)
    if privacy.rho is None:
        return {"epsilon": str(privacy.epsilon), "epsilon_by_stage": stages, "scale": str(release.scale)}
    return {
        "rho": str(privacy.rho),
        "delta": str(privacy.delta),
        "epsilon": privacy.promise.figure,
        "rho_by_stage": stages,
        "sigma_squared": str(release.sigma_squared),
    }


def _exact_budget(account: Account) -> dict[str, str]:
    """Return the currency of the budget, and the epsilons that it is at its delta; nothing where it is pure epsilon."""
    if account.currency is Currency.EPSILON:
        return {}
    return {
        "budget_currency": account.currency.value,
        "budget_delta": str(account.delta),
        "granted_epsilon": account.tell_epsilon(account.granted),
        "committed_epsilon": account.tell_epsilon(account.committed),
    }
