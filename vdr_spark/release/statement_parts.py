"""What the sections of a privacy statement share: who is bounded how, what each stage costs, what was booked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from vdr_spark.config import ReleaseConfig
from vdr_spark.pings.layouts import LAYOUTS
from vdr_spark.plan import ReleasePlan
from vdr_spark.privacy.entries import Entry, State
from vdr_spark.signal import Signal

UNPROTECTED = "UNPROTECTED: the noise came from a test seed, anyone can compute it. This release protects nobody."


@dataclass(frozen=True)
class Published:
    """What is known of a release only when it is published: the rest follows from its configuration and the ledger."""

    created: datetime
    model: str
    estimated_rmse: float | None
    noisy_total: float
    noisy_total_deviation: float
    slices_told: int
    noise_deviation: float
    sum_errors: list[dict[str, Any]] | None
    released_total: float | None
    sum_deviation: float | None
    total_deviation: float | None
    gamma: float
    kappa: float
    cells_sha256: str
    code_version: str
    configuration_hash: str

    def signal(self, release: ReleasePlan) -> Signal:
        """Return how far the noisy sums stand out from their noise."""
        return Signal(
            self.noisy_total, self.noisy_total_deviation, release.grid.slices, self.slices_told, release.total_pings
        )

    @property
    def has_error_bars(self) -> bool:
        return self.model == "identity" or self.model.endswith("+fusion")


def name_user_column(config: ReleaseConfig) -> str:
    return config.input.columns.get("user_id") or LAYOUTS[config.input.layout].columns["user_id"]


def describe_bounding(release: ReleasePlan) -> str:
    privacy, k = release.config.privacy, release.bound
    over = " in all regions together" if release.config.regions else ""
    if privacy.bounding == "l2":
        return (
            f"The pings of a user{over} are weighed alike, so that the user's counts over all cells have an L2 norm of "
            f"at most {k}, in units of 1/{privacy.units_per_ping}."
        )
    if privacy.bounding == "weight":
        return f"The pings of a user{over} weigh at most {k} in sum, in units of 1/{privacy.units_per_ping}."
    return f"Of the pings of a user{over} at most {k} are kept, chosen by a keyed hash."


def find_booked(entries: Sequence[Entry]) -> dict[str, Entry]:
    """Return the draws of a dataset that were booked, each with its last entry."""
    return {entry.draw_id: entry for entry in entries if entry.state in (State.RESERVED, State.SPENT)}


def price_by_stage(config: ReleaseConfig) -> dict[str, str]:
    """Return what each stage costs, exact, in the release's currency."""
    sizes, total = config.privacy.sizes_price, config.privacy.total_price
    estimate = {name: str(of.amount) for name, of in (("sizes", sizes), ("total", total)) if of is not None}
    nothing = dict.fromkeys(("denoise", "refine", "publish"), "0")
    return estimate | {"collect": str(config.privacy.cells_price.amount)} | nothing
