"""The draws of a plan: the noisy tensor of the cells, those of N and of pings per user if any, and their ledger.

Stages that run in one process share one of these, so that numbers are hashed, and the ledger is verified, once.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from vdr_spark.collect.exclusion import respect_single_writer
from vdr_spark.collect.noisy_tensor import NoisyTensor
from vdr_spark.collect.sizes import BINS
from vdr_spark.errors import StageMissing
from vdr_spark.plan import Plan, Region, ReleasePlan
from vdr_spark.privacy.entries import Entry
from vdr_spark.privacy.ledger import Ledger
from vdr_spark.signal import Signal
from vdr_spark.spark.store_settings import learn_access


@dataclass(frozen=True)
class Draws:
    """What is stored of a plan's draws."""

    plan: Plan
    ledger: Ledger
    cells: NoisyTensor
    total: NoisyTensor | None  # None where N is declared
    sizes: NoisyTensor | None = None  # None where no histogram of pings per user is asked for

    @property
    def tensors(self) -> list[NoisyTensor]:
        """The tensors in the order of the plan's draws."""
        return [tensor for tensor in (self.sizes, self.total, self.cells) if tensor is not None]

    def find_total(self) -> int | None:
        """Return N: declared, or as it was drawn; None where it is not drawn yet."""
        if self.total is None:
            return self.plan.declared_total
        contents = self.total.contents()
        return None if contents is None else max(1, contents.slice_sums[0])  # its only slice has one cell

    def find_sizes(self) -> list[int] | None:
        """Return the noisy histogram of pings per user, bin by bin, below zero too; None where it is not drawn yet."""
        contents = None if self.sizes is None else self.sizes.contents()
        return None if contents is None else list(contents.slice_sums)  # a slice for each bin, of one cell

    def require_spent(self) -> Entry:
        """Return the ledger's entry of the cells; refuse tensors that are not booked as spent with their numbers."""
        return [tensor.require_spent() for tensor in self.tensors][-1]

    def releases(self) -> tuple[ReleasePlan, ...]:
        """Return what is to be done for each region; refused where N is not known yet."""
        total = self.find_total()
        if total is None:
            raise StageMissing("privacy.estimate_total: the number of pings is not estimated yet; run `vdr collect`")
        return self.plan.releases(total)

    def noisy_sum(self, region: Region) -> float:
        """Return the sum of all noisy counts of a region, in pings."""
        return sum(self._slice_sums(region))

    def signal(self, release: ReleasePlan) -> Signal:
        """Return how far the noisy sums of a release's region stand out from their noise."""
        cells = release.grid.cells_per_side**2
        return Signal.of(self._slice_sums(release.region), cells, release.noise, release.total_pings)

    def _slice_sums(self, region: Region) -> list[float]:
        contents = self.cells.contents()
        if contents is None:
            raise StageMissing(f"draw {self.plan.cells_draw.draw_id} is not stored; run `vdr collect` first")
        units = self.plan.config.privacy.units_per_ping
        sums = contents.slice_sums[region.first_slice : region.first_slice + region.grid.slices]
        return [of_slice / units for of_slice in sums]


def open_draws(spark: SparkSession, plan: Plan) -> Draws:
    """Open what is stored of a plan's draws; nothing is read yet."""
    learn_access(spark, plan.config.spark.conf, *plan.locations)
    respect_single_writer(plan)
    ledger = Ledger(spark, plan.ledger)
    cells = NoisyTensor(spark, plan.output, plan.cells_draw, plan.slices, ledger)
    total = NoisyTensor(spark, plan.output, plan.total_draw, 1, ledger) if plan.total_draw else None
    sizes = NoisyTensor(spark, plan.output, plan.sizes_draw, BINS, ledger) if plan.sizes_draw else None
    return Draws(plan, ledger, cells, total, sizes)
