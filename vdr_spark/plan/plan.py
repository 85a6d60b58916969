"""A plan: what a configuration comes to, worked out from settings alone.

Two steps, because one figure may have to be paid for. A `Plan` is known before any data are read: its draws and their
price, the cells of every region, where things lie. Once N, the number of all pings, is known too, declared or drawn,
a plan becomes one `ReleasePlan` for each region, with nothing left open; that is what the later stages receive.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from vdr_spark.config import ReleaseConfig
from vdr_spark.config.windowed import another_window
from vdr_spark.epsilon import find_large_delta, find_weakness
from vdr_spark.errors import InvalidConfig
from vdr_spark.grid import Grid
from vdr_spark.plan import identity
from vdr_spark.plan.contradictions import find_contradictions
from vdr_spark.plan.limits import list_limits
from vdr_spark.plan.second_writer import find_second_writer
from vdr_spark.price import Currency, Price
from vdr_spark.privacy.entries import BudgetRequest, Cap, Draw, Grant
from vdr_spark.privacy.mechanism import Noise, build_mechanism
from vdr_spark.storage.catalog import Place
from vdr_spark.storage.places import LedgerPlaces, OutputFolder, ReleaseFolder


@dataclass(frozen=True)
class Region:
    """One published box. Slices of one region follow those of another in the noisy tensor."""

    name: str | None  # None where it is the only one
    grid: Grid
    first_slice: int  # of the noisy tensor


@dataclass(frozen=True)
class Plan:
    """What is known of a release before any data are read."""

    config: ReleaseConfig
    regions: tuple[Region, ...]
    draws: tuple[Draw, ...]  # over the pings, in order; their prices add up to the release's
    output: OutputFolder
    ledger: LedgerPlaces

    @property
    def grids(self) -> tuple[Grid, ...]:
        return tuple(region.grid for region in self.regions)

    @property
    def slices(self) -> int:
        """Slices of all regions together."""
        return sum(grid.slices for grid in self.grids)

    @property
    def cells(self) -> int:
        """Cells of all regions together, each of which gets noise."""
        return sum(grid.size for grid in self.grids)

    @property
    def cells_draw(self) -> Draw:
        return self.draws[-1]

    @property
    def total_draw(self) -> Draw | None:
        """The draw that estimates N, where it is not declared."""
        return self._find_draw("total")

    @property
    def sizes_draw(self) -> Draw | None:
        """The draw of a histogram of pings per user, where one is asked for."""
        return self._find_draw("sizes")

    def _find_draw(self, purpose: str) -> Draw | None:
        return next((draw for draw in self.draws if draw.purpose == purpose), None)

    @cached_property
    def budget_request(self) -> BudgetRequest:
        """What the ledger is asked for."""
        privacy = self.config.privacy
        return BudgetRequest(
            self.config.dataset,
            self.draws,
            opening=Grant(privacy.opening_price, privacy.opening_delta),
            opening_cap=Cap(privacy.cap.price, privacy.cap.per) if privacy.cap else None,
            configuration_hash=self.configuration_hash,
            budget_currency=privacy.budget.price.currency if privacy.budget else None,
            limits=list_limits(self.config),
        )

    @cached_property
    def configuration_hash(self) -> str:
        return identity.hash_configuration(self.config)

    @property
    def declared_total(self) -> int | None:
        """N where it is declared, None where it is a draw."""
        return self.config.privacy.total_pings

    @property
    def known_bound(self) -> int | None:
        """What bounds a user, k or the norm, where it does not wait for an estimate of N."""
        return self.config.privacy.known_bound

    @property
    def known_k(self) -> int | None:
        """The bound k where it does not wait for an estimate of N; None where norms are bounded."""
        return None if self.config.privacy.norm else self.known_bound

    @property
    def known_noise(self) -> Noise | None:
        """The noise of a cell where the bound is known."""
        return None if self.known_bound is None else self.noise_for(self.known_bound)

    @property
    def noise_of_total(self) -> Noise | None:
        """The noise of N, where that is a draw."""
        privacy = self.config.privacy
        if privacy.estimate_total is None or privacy.total_price is None:
            return None
        # One number: what a user changes it by is its sensitivity in L1 and in L2.
        return Noise(build_mechanism(privacy.mechanism, privacy.estimate_total.max_per_user, privacy.total_price))

    @property
    def noise_of_sizes(self) -> Noise | None:
        """The noise of a bin of the histogram of pings per user, where that is a draw."""
        privacy = self.config.privacy
        if privacy.sizes_price is None:
            return None
        # A user changes one bin by one: a sensitivity of 1 in L1 and in L2.
        return Noise(build_mechanism(privacy.mechanism, 1, privacy.sizes_price))

    @property
    def total_deviation(self) -> float:
        """How well N is known, in pings: 0 where it is declared."""
        return 0.0 if self.noise_of_total is None else self.noise_of_total.deviation

    def bound(self, total_pings: int) -> int:
        """Return what bounds a user, once N is known: k, or the norm, in pings."""
        bound = self.config.privacy.bound(total_pings)
        try:
            self.config.privacy.check_scale(bound)
        except ValueError as problem:
            raise InvalidConfig(f"privacy: {problem}; give `k` instead of `lambda`") from None
        return bound

    def noise_for(self, bound: int) -> Noise:
        """Return the noise that hides a user of this bound in every cell."""
        privacy = self.config.privacy
        # Whoever changes cells by k in sum changes them by at most k in the root of the sum of squares, as by k pings
        # of one cell: k is the sensitivity in L1 and in L2. A norm is one in L2, and goes with no other noise.
        mechanism = build_mechanism(privacy.mechanism, bound * privacy.units_per_ping, privacy.cells_price)
        return Noise(mechanism, privacy.units_per_ping)

    def release_id(self, region: Region) -> str:
        """Return the id of what is published for a region: a draw and how it is denoised and refined."""
        return f"{self.cells_draw.draw_id}-{identity.identify_release(self.config, region.name)[:6]}"

    def releases(self, total_pings: int) -> tuple[ReleasePlan, ...]:
        """Return what is to be done for each region, with N known."""
        bound = self.bound(total_pings)
        known = total_pings, bound, self.noise_for(bound)
        return tuple(ReleasePlan(self, region, self.release_id(region), *known) for region in self.regions)

    def choose_region(self, name: str | None) -> Region:
        """Return the region of a name, or the only one."""
        if name is None and len(self.regions) == 1:
            return self.regions[0]
        for region in self.regions:
            if region.name is not None and region.name == name:
                return region
        names = ", ".join(region.name for region in self.regions if region.name) or "only one, without a name"
        raise InvalidConfig(f"region must be one of those of the release ({names}), not {name}; name one (--region)")

    def require_exclusion(self) -> None:
        """Refuse places where a second process cannot be kept out, unless the person declares that there is none.

        A lock holds on a local disk, a conditional put in an object store. Elsewhere two processes could both reserve
        the last epsilon, or both draw. As far as names tell: whether a store keeps its word, and where a ledger is
        that has a name in a catalog, `collect.exclusion` finds out.
        """
        if (problem := find_second_writer(self)) is not None:
            raise InvalidConfig(problem)

    @property
    def shared_places(self) -> tuple[tuple[str, Place], ...]:
        """What a second process could write, too: the setting, and the place."""
        return ("ledger", self.ledger.table), ("output", self.output.root)

    @property
    def locations(self) -> tuple[Place | None, ...]:
        """Every place that is read or written, for those who have to know how stores are reached."""
        return self.ledger.table, self.ledger.head, self.output.root, self.config.input.path

    def cautions(self) -> list[str]:
        """Return what a careful reader should know before running this: warnings, not refusals."""
        config, found = self.config, [problem] if (problem := find_second_writer(self)) else []
        if (weakness := find_weakness(config.privacy.told_epsilon, config.privacy.delta)) is not None:
            found.append(weakness)
        if (doubt := find_large_delta(config.privacy.delta, self.declared_total)) is not None:
            found.append(doubt)
        if not config.privacy.protected:
            found.append("privacy.test_seed is set: the noise can be computed by anyone. Protects nobody.")
        noise = 3 * self.known_noise.deviation * math.sqrt(self.cells) if self.known_noise else 0.0
        if self.declared_total is not None and noise > self.declared_total:
            found.append(
                f"the noise of all cells together may exceed {noise:.3g} pings, more than privacy.total_pings: the "
                "release will say little. Fewer cells, a smaller k or a larger "
                f"{config.privacy.price.currency} would help."
            )
        if config.input.path is None:
            found.append(
                f"input: {config.input.location} must hold of each user what that user's own rows say, whatever others "
                "do, and joins must be with public tables only; no look at a plan can tell."
            )
        if config.tables is not None and "." not in config.tables:
            found.append(
                f"tables: {config.tables} names no catalog, so another session may find another ledger under it. Write "
                "it in full, as catalog.schema."
            )
        if config.tables is not None and config.ledger is None and config.ledger_head is None:
            found.append(
                "ledger_head: not set, so what remembers the ledger's last entry lies in `output`, and another output "
                "folder has another one. Name one for all releases that share the tables."
            )
        if config.ledger is None and config.tables is None:
            found.append(
                "ledger: not set, so the ledger lies in `output` and another output folder starts another one. "
                "Name one ledger for all releases of a dataset."
            )
        return [*found, *find_contradictions(self)]


@dataclass(frozen=True)
class ReleasePlan:
    """The release of one region, with nothing left open."""

    plan: Plan
    region: Region
    release_id: str
    total_pings: int  # N, of all regions together
    bound: int  # of a user, in pings: k, or the norm
    noise: Noise  # of a cell

    @property
    def config(self) -> ReleaseConfig:
        return self.plan.config

    @property
    def grid(self) -> Grid:
        return self.region.grid

    @property
    def draw(self) -> Draw:
        """The draw of the cells."""
        return self.plan.cells_draw

    @property
    def k(self) -> int | None:
        """The most that a user's pings count in sum; None where their norm is bounded."""
        return None if self.config.privacy.bounding == "l2" else self.bound

    @property
    def norm(self) -> int | None:
        """The largest L2 norm of a user's counts; None where their sum is bounded."""
        return self.bound if self.config.privacy.bounding == "l2" else None

    @property
    def scale(self) -> Fraction | None:
        """k / epsilon, exact; None where the noise is no Laplace noise."""
        price = self.draw.price
        return self.bound / price.amount if price.currency is Currency.EPSILON else None

    @property
    def sigma_squared(self) -> Fraction | None:
        """s**2 / (2 rho) with s = k or the norm, exact, in pings squared; None where the noise is no Gaussian noise."""
        price = self.draw.price
        return self.bound**2 / (2 * price.amount) if price.currency is Currency.RHO else None

    @property
    def protected(self) -> bool:
        return self.config.privacy.protected

    @property
    def folder(self) -> ReleaseFolder:
        """Where its stages work."""
        return self.plan.output.work(self.release_id)


def make_plan(config: ReleaseConfig) -> Plan:
    """Work out what a configuration comes to. Nothing is looked up and nothing is read."""
    output = OutputFolder.at(config.output, config.tables)
    ledger = LedgerPlaces.at(output, config.ledger, config.ledger_head)
    return Plan(config, _regions(config), _draws(config), output, ledger)


def find_superseded(config: ReleaseConfig) -> str | None:
    """Return the draw that a correction supersedes: its window's own; None of what is no correction."""
    if config.correction is None or config.window is None:
        return None
    return make_plan(another_window(config, config.window)).cells_draw.draw_id


def _regions(config: ReleaseConfig) -> tuple[Region, ...]:
    period = config.period
    start, end = period.utc(period.start), period.utc(period.end)
    slices = round((end - start).total_seconds()) // period.slice
    return tuple(
        Region(name, Grid(region.box, config.grid.cells_per_side, start, period.slice, slices), number * slices)
        for number, (name, region) in enumerate(config.boxes)
    )


def _draws(config: ReleaseConfig) -> tuple[Draw, ...]:
    privacy, cells_sha256 = config.privacy, identity.identify_cells(config)
    cells = Draw(f"{config.name}-{cells_sha256[:10]}", privacy.cells_price, "cells", cells_sha256)
    return *_draw_apart(config, "sizes", privacy.sizes_price), *_draw_apart(config, "total", privacy.total_price), cells


def _draw_apart(config: ReleaseConfig, purpose: str, price: Price | None) -> tuple[Draw, ...]:
    """Return a draw of its own for something other than the cells, where it has a price."""
    if price is None:
        return ()
    sha256 = identity.identify_total(config) if purpose == "total" else identity.identify_sizes(config)
    # Of a window the limits of its series are kept by the name that ids begin with.
    whose = config.dataset if config.series is None else config.name
    return (Draw(f"{whose}-{purpose}-{sha256[:10]}", price, purpose, sha256),)
