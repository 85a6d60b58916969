"""Is the advised k a good one? The error that it gives beside that of the best k in hindsight.

    python benchmarks/advise.py --sets city_1m city_10m tdrive --tdrive tdrive_beijing.parquet --record advise.jsonl

For every set k is swept by factors of two: a whole release in memory (`vdr_spark/experiments/draws.py`, `ridge`, no
Spark), compared with *all* pings by 5,000 range counts at pings. Then each source of advice names its k, by what it may
know: `declared` is told the law that the pings were made by, `roughly` an exponent of 2.3, at most 30,000 pings and the
number of users to one digit, whatever is true; `apart`, where users live apart, the law and by how much they do;
`earlier` sees one release of the same pings by other draws of the noise (its k is 4, 16 or 64, by the draw; norms 2, 4
or 8), and `histogram` a noisy histogram of pings per user for a fiftieth of the price, which the cells then lack.
`paper` is 2.5e-7 N.

Constants of the model were chosen on other data (docs/choosing_k.md). With `--record` what is measured is kept in a
file and not measured again: a run that was ended goes on. All figures are exact about the data: nothing here is
private. The last line is JSON: for each set and source the error with the advised k over that of the best k, mean over
the draws.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np

from vdr_spark.advise.advice import PAPER_LAMBDA, advise
from vdr_spark.advise.places import Places, released_places
from vdr_spark.advise.sources import Declared, Known, know_declared, know_histogram, learn_sizes
from vdr_spark.collect.sizes import BINS, bins_of
from vdr_spark.evaluate.metrics import relative_error, smoothing
from vdr_spark.evaluate.workloads import range_queries
from vdr_spark.experiments.draws import Setting, denoise_and_refine, kept_of, make_noisy, plan_release
from vdr_spark.experiments.location_data import (
    PRESETS,
    USER_SIZES,
    City,
    Data,
    Users,
    generate_pings,
    read_pings,
)
from vdr_spark.grid import Grid
from vdr_spark.plan import Plan
from vdr_spark.privacy.mechanism import Noise, build_mechanism
from vdr_spark.privacy.randomness import seeded_words
from vdr_spark.synth.power_law import PowerLaw

CELLS, HOURS, SLICES = 144, 6, 28
SHARE = Fraction(1, 50)  # of the price, for a histogram
EARLIER = {"l2": (2, 4, 8)}  # bounds of the earlier release, by draw
SUMS_EARLIER = (4, 16, 64)
GIVE_UP = 1.12  # times the least error of the first draw: bounds beyond are not looked at
NEAR = 1.03  # times it: looked at by all draws, for any of these may be the best
_MANY = 50  # draws of a histogram, which costs nothing here
_QUANTILES = 200  # of places that are kept in a record


@dataclass(frozen=True)
class Case:
    """One set of pings, and how it is released."""

    law: PowerLaw
    epsilon: str
    city: City | None = None  # None: T-Drive, cut into users
    bounding: str = "sample"
    delta: str | None = None
    users: Users = "cut"  # of T-Drive
    apart: float = 1.0  # how many times the pings of others users of half of the city have

    def setting(self, bound: int, price: Fraction = Fraction(1)) -> Setting:
        epsilon = str(Fraction(self.epsilon) * price) if self.delta is None else self.epsilon
        roam = self.city is None
        return Setting("ridge", epsilon, k=bound, roam=roam, bounding=self.bounding, delta=self.delta)


_OTHER_LAW = PowerLaw(exponent=2.3, shift=10, cutoff=50_000)
CASES = {
    "city_1m": Case(USER_SIZES, "6", City(21, USER_SIZES, 1_000_000)),
    "city_1m_l2": Case(USER_SIZES, "6", City(21, USER_SIZES, 1_000_000), "l2", "1e-9"),
    "city_10m": Case(_OTHER_LAW, "1", City(22, _OTHER_LAW, 10_000_000), "weight"),
    "city_50m": Case(USER_SIZES, "1", City(23, USER_SIZES, 50_000_000), "weight"),
    "tdrive": Case(USER_SIZES, "6"),
    "tdrive_eps1": Case(USER_SIZES, "1", bounding="weight"),
    "tdrive_l2": Case(USER_SIZES, "6", bounding="l2", delta="1e-9"),
    "tdrive_apart": Case(
        USER_SIZES, "6", users="apart", apart=6.0
    ),  # users of the north have 3 times, of the south half
}


class Measured:
    """Errors of one case, each measured once and kept in a file, if one is named."""

    def __init__(self, name: str, tdrive: Path | None, record: Path | None) -> None:
        self.name, self.case, self._tdrive, self._record = name, CASES[name], tdrive, record
        lines = record.read_text().splitlines() if record is not None and record.exists() else []
        self._found = {line["key"]: line["value"] for line in map(json.loads, lines)}

    @cached_property
    def data(self) -> Data:
        if self.case.city is not None:
            preset = PRESETS["houston"]
            return generate_pings(self.case.city, Grid(preset.box, CELLS, preset.start, 3600 * HOURS, SLICES))
        preset = PRESETS["tdrive_users"]
        assert self._tdrive is not None
        return read_pings(self._tdrive, Grid(preset.box, CELLS, preset.start, 3600 * HOURS, SLICES), self.case.users)

    def error(self, bound: int, draw: int, price: Fraction = Fraction(1)) -> float:
        """Return the relative error of a release."""
        return float(self._remember(f"error {bound} {draw} {price}", lambda: self._measure(bound, draw, price)))

    def _measure(self, bound: int, draw: int, price: Fraction) -> float:
        data, plan = self.data, plan_release(self.case.setting(bound, price), self.data.grid, len(self.data.cells))
        if self.case.delta is not None and price != 1:
            raise ValueError("of rho, the histogram's share is not measured")
        return self._compare(denoise_and_refine(make_noisy(data, plan, draw), plan)[0].counts)

    def _compare(self, counts: np.ndarray) -> float:
        truth, side = self.data.truth, self.data.grid.cell_metres[0]
        queries = range_queries(truth, self.data.grid, 1, side_m=(side, 4 * side))
        return relative_error(queries.answers(truth), queries.answers(counts), smoothing(truth))

    def facts(self) -> dict[str, int]:
        return dict(self._remember("facts", lambda: {"pings": len(self.data.cells), "users": len(self._pings)}))

    @property
    def _pings(self) -> np.ndarray:
        assert self.data.users is not None
        sizes = np.bincount(self.data.users)
        return sizes[sizes > 0]

    def histogram(self) -> list[int]:
        """Return the exact histogram of pings per user."""
        return list(self._remember("bins", lambda: np.bincount(bins_of(self._pings), minlength=BINS).tolist()))

    def earlier(self, draw: int) -> int:
        """Return what is advised by an earlier release; 0 where that tells nothing."""
        bound = EARLIER.get(self.case.bounding, SUMS_EARLIER)[draw % 3]
        seen = dict(self._remember(f"earlier release {draw}", lambda: self._release_earlier(bound, draw)))
        plan = plan_release(self.case.setting(bound), _grid_of(self), self.facts()["pings"])
        sizes = learn_sizes(plan.config.refine.users, self.case.bounding, bound, seen["kept"], SLICES)
        if sizes is None:
            return 0
        return self.advised(plan.plan, Known("earlier", "", sizes, Places(np.array(seen["places"]))))

    def _release_earlier(self, bound: int, draw: int) -> dict[str, object]:
        """Return what is learnt of a release: what its bound kept, and quantiles of its places."""
        data, plan = self.data, plan_release(self.case.setting(bound), self.data.grid, len(self.data.cells))
        noisy = make_noisy(data, plan, 100 + draw)
        released, grid = denoise_and_refine(noisy, plan)[0].counts, data.grid
        places = released_places(released, grid, grid.cells_per_side, grid.box.side_metres[0])
        shares = np.quantile(places.shares, (np.arange(_QUANTILES) + 0.5) / _QUANTILES)
        return {"kept": kept_of(noisy, plan) / len(data.cells), "places": shares.tolist()}

    def advised(self, plan: Plan, known: Known, apart: float = 1.0) -> int:
        found = advise(plan, [known], apart=apart).bound
        assert found is not None
        return found

    def _remember(self, what: str, measure: Callable[[], object]):  # type: ignore[no-untyped-def]  # JSON
        key = f"{self.name} {what}"
        if key not in self._found:
            self._found[key] = measure()
            if self._record is not None:
                with self._record.open("a") as file:
                    print(json.dumps({"key": key, "value": self._found[key]}), file=file)
        return self._found[key]


def main() -> None:
    arguments = _arguments()
    ratios = {}
    for name in arguments.sets:
        measured = Measured(name, arguments.tdrive, arguments.record)
        ratios[name] = _judge(measured, arguments.draws)
    print(json.dumps(ratios))


def _judge(measured: Measured, draws: int) -> dict[str, object]:
    """Sweep k, ask every source, print, and return what is over the best."""
    case, facts = measured.case, measured.facts()
    plan = plan_release(case.setting(1), _grid_of(measured), facts["pings"]).plan
    law = know_declared(Declared(case.law.exponent, case.law.cutoff, case.law.shift), 1)
    declared = measured.advised(plan, law)
    users = float(f"{facts['users']:.0e}")
    rough = know_declared(Declared(2.3, 30_000, users=int(users)), facts["pings"])
    advised = {
        "declared": [declared] * draws,
        "roughly": [measured.advised(plan, rough)] * draws,
        "earlier": [measured.earlier(draw) for draw in range(draws)],
        "paper": [max(1, round(PAPER_LAMBDA * facts["pings"]))] * draws,
    }
    if case.apart != 1:
        advised["apart"] = [measured.advised(plan, law, case.apart)] * draws
    if case.bounding == "l2":
        del advised["paper"]
    curve = _sweep(measured, declared, draws, {bound for of in advised.values() for bound in of})
    best = min((bound for bound in curve if len(curve[bound]) == draws), key=lambda bound: float(np.mean(curve[bound])))
    least = float(np.mean(curve[best]))
    print(f"\n{measured.name}: {facts['pings']:,} pings of {facts['users']:,} users, {case}")
    for bound, errors in sorted(curve.items()):
        star = "  <- best" if bound == best else ""
        print(f"  {bound:>6}  {np.mean(errors):.4f} +- {np.std(errors):.4f}, draws: {len(errors)}{star}")
    found: dict[str, object] = {"best": best, "error": least}
    for source, bounds in advised.items():
        errors = [curve[bound][draw] for draw, bound in enumerate(bounds)]
        found[source] = _tell(source, sorted(set(bounds)), errors, curve[best])
    if case.delta is None:
        paid = _advise_by_histogram(measured)
        errors = [measured.error(paid[draw], draw, 1 - SHARE) for draw in range(draws)]
        found["histogram"] = _tell("histogram", sorted(set(paid)), errors, curve[best])
    return found


def _tell(source: str, bounds: list[int], errors: list[float], best: list[float]) -> dict[str, object]:
    """Print and return a source's error over that of the best bound: mean, and deviation over the draws."""
    each = np.array(errors) / np.array(best)
    print(f"  {source:>10} advises {bounds}: {each.mean():.3f} +- {each.std():.3f} of the best", flush=True)
    return {"advised": bounds, "ratio": float(each.mean()), "ratio_sd": float(each.std())}


def _sweep(measured: Measured, start: int, draws: int, others: set[int]) -> dict[int, list[float]]:
    """Return errors by bound: from `start` down and up by factors of two, until they are clearly too large."""
    first = {start: measured.error(start, 0)}
    for factor in (0.5, 2.0):
        bound = int(start * factor)
        while bound >= 1:
            first[bound] = measured.error(bound, 0)
            if first[bound] > GIVE_UP * min(first.values()):
                break
            bound = int(bound * factor)
    near = {bound for bound, error in first.items() if error <= NEAR * min(first.values())} | others
    return {
        bound: [measured.error(bound, draw) for draw in range(draws if bound in near else 1)]
        for bound in sorted(first.keys() | near)
    }


def _advise_by_histogram(measured: Measured) -> list[int]:
    """Return what noisy histograms advise, over many draws of their noise."""
    case, exact = measured.case, np.array(measured.histogram())
    plan = plan_release(case.setting(1, 1 - SHARE), _grid_of(measured), measured.facts()["pings"]).plan
    price = plan_release(
        case.setting(1, SHARE), _grid_of(measured), measured.facts()["pings"]
    ).plan.config.privacy.price
    noise = Noise(build_mechanism(plan.config.privacy.mechanism, 1, price))
    advised = []
    for draw in range(_MANY):
        noisy = exact + noise.mechanism.sample(BINS, seeded_words(draw, 0))
        advised.append(
            measured.advised(plan, know_histogram(noisy.tolist(), noise, str(price), measured.facts()["pings"]))
        )
    return advised


def _grid_of(measured: Measured) -> Grid:
    preset = PRESETS["houston" if measured.case.city is not None else "tdrive_users"]
    return Grid(preset.box, CELLS, preset.start, 3600 * HOURS, SLICES)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=CASES, default=["city_1m"], help="(default: %(default)s)")
    parser.add_argument("--tdrive", type=Path, help="Parquet of T-Drive's pings, for sets of it")
    parser.add_argument("--draws", type=int, default=3, help="of the noise (default: %(default)s)")
    parser.add_argument("--record", type=Path, help="a file of what was measured, which a later run goes on with")
    arguments = parser.parse_args()
    if arguments.draws < 1:
        parser.error("--draws must be at least 1")
    if any(CASES[name].city is None for name in arguments.sets) and arguments.tdrive is None:
        parser.error("--tdrive must name T-Drive's pings for sets of it")
    return arguments


if __name__ == "__main__":
    main()
