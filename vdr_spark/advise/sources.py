"""Where knowledge of users and places comes from. None of it is taken from pings that nobody has paid for.

* *Declared*: the law of pings per user, which a person vouches for as public.
* *Earlier*: a published release of the same city. What is computed from it is post-processing and costs nothing.
* *Histogram*: of pings per user, drawn with noise of its own and booked (`collect.sizes`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vdr_spark.advise.expected import kept_share, pings_together
from vdr_spark.advise.places import Places, released_places, typical_places
from vdr_spark.advise.sizes import (
    TYPICAL_EXPONENT,
    TYPICAL_MOST,
    Sizes,
    sizes_of_histogram,
    sizes_of_kept,
    sizes_of_law,
    sizes_of_mean,
)
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import InvalidQuery
from vdr_spark.plan import Plan
from vdr_spark.privacy.mechanism import Noise
from vdr_spark.release.read import read_release, release_rows
from vdr_spark.storage.places import OutputFolder
from vdr_spark.sum_errors import Users
from vdr_spark.synth.power_law import PowerLaw

_LARGEST_LAW = 10_000_000  # pings of a user: a law is tabulated
_CLEARLY = 0.98  # of all pings: a bound that kept more says nothing of those whom it did not reach


@dataclass(frozen=True)
class Declared:
    """A law of pings per user, p(n) ~ (n + shift) ** -exponent for n = 1 .. most, as public knowledge.

    Without a shift the number of users is declared, and the shift is what makes them N pings.
    """

    exponent: float
    most: int
    shift: float | None = None
    users: int | None = None

    def __post_init__(self) -> None:
        if not self.exponent > 1:
            raise InvalidQuery(f"--exponent must be above 1, as 2.0 is, not {self.exponent:g}")
        if not 1 <= self.most <= _LARGEST_LAW:
            raise InvalidQuery(
                f"--most, the pings of the busiest user, must be 1 to {_LARGEST_LAW:,}, not {self.most:,}"
            )
        if (self.shift is None) == (self.users is None):
            raise InvalidQuery(
                "a declared law takes either --users, how many there are, or --shift; not both, not neither"
            )
        if self.shift is not None and not self.shift >= 0:
            raise InvalidQuery(f"--shift must be at least 0, not {self.shift:g}")
        if self.users is not None and self.users < 1:
            raise InvalidQuery(f"--users must be at least 1, not {self.users}")


@dataclass(frozen=True)
class Earlier:
    """A published release of the same city: its output folder, and its id where there are several."""

    output: str
    release_id: str | None = None


@dataclass(frozen=True)
class Known:
    """What one source says: of users, and of places if it knows them."""

    source: str  # declared, earlier or histogram
    sentence: str
    sizes: Sizes
    places: Places | None = None


def know_declared(declared: Declared, total: int) -> Known:
    """Return what a declared law says."""
    exponent, most = declared.exponent, declared.most
    if declared.users is not None:
        sizes, by = sizes_of_mean(exponent, most, total / declared.users), f"{declared.users:,} users"
    else:
        assert declared.shift is not None
        sizes, by = sizes_of_law(PowerLaw(exponent, declared.shift, most)), f"shift {declared.shift:g}"
    return Known("declared", f"pings per user as declared: exponent {exponent:g}, at most {most:,}, {by}", sizes)


def find_declared(config: ReleaseConfig) -> Declared | None:
    """Return the law that the configuration itself declares: that of generated pings."""
    synth = config.synth
    return None if synth is None else Declared(synth.exponent, synth.cutoff, synth.shift)


def know_earlier(earlier: Earlier, plan: Plan) -> Known:
    """Return what an earlier release says: where pings are, and by what its bound kept how many pings users have."""
    release = read_release(earlier.output, earlier.release_id)
    rows = {row["release_id"]: row for row in release_rows(OutputFolder.at(earlier.output))}
    if not any(release.grid.box.overlaps(grid.box) for grid in plan.grids):
        raise InvalidQuery(
            f"--earlier: release {release.release_id} must be of the same city, and its box touches none of this "
            "configuration's; name another release"
        )
    row, tensor = rows[release.release_id], release.counts
    grid = plan.grids[0]
    places = released_places(tensor, release.grid, grid.cells_per_side, grid.box.side_metres[0])
    kept = float(row["noisy_total"]) / _released_total(row)
    told = learn_sizes(plan.config.refine.users, str(row["bounding"]), int(row["k"]), kept, release.grid.slices)
    if told is None:
        raise InvalidQuery(
            f"--earlier: release {release.release_id} must tell how many pings users have, and its bound of {row['k']} "
            f"kept {max(kept, 0):.3g} of all pings, which does not: nearly all, or none that its noise leaves to be "
            "seen. Name another release, or declare a law (--exponent)"
        )
    longer = (grid.end - grid.start) / (release.grid.end - release.grid.start)
    sentence = (
        f"release {release.release_id}, which costs nothing: a bound of {row['k']} ({row['bounding']}) kept {kept:.3g} "
        f"of its pings; by that, pings per user with an assumed exponent of {TYPICAL_EXPONENT:g}; places as released"
    )
    return Known("earlier", sentence, told.longer(longer), places)


def learn_sizes(users: Users, bounding: str, bound: int, kept: float, slices: int) -> Sizes | None:
    """Return the law of which a bound keeps so much; None where that tells nothing.

    One figure fixes one parameter: exponent and largest user are assumed, the shift follows.
    """
    if not 0 < kept < _CLEARLY:
        return None

    def kept_of(sizes: Sizes) -> float:
        return kept_share(sizes, bounding, bound, pings_together(sizes, users, slices))

    return sizes_of_kept(kept_of, kept, most=TYPICAL_MOST)


def know_histogram(counts: Sequence[int], noise: Noise, price: str, total: int | None = None) -> Known:
    """Return what a paid histogram of pings per user says, beside N where that is known."""
    sizes = sizes_of_histogram(counts, noise.deviation, total)
    if sizes is None:
        raise InvalidQuery(
            f"privacy.size_histogram: no bin of it stands out from its noise (deviation {noise.deviation:.3g} users), "
            "so it says nothing; a larger share would be another draw, and is paid for again"
        )
    sentence = f"a histogram of pings per user that was paid for ({price}), with a noise of {noise.deviation:.3g} users"
    return Known("histogram", sentence, sizes)


def assumed_places(plan: Plan) -> Places:
    """Return the places of a city of which nothing is known."""
    return typical_places(plan.config.grid.cells_per_side)


def _released_total(row: Mapping[str, Any]) -> float:
    """Return N of a release's region."""
    return float(row["released_total"] if row["released_total"] is not None else row["total_pings"])
