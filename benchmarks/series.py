"""How much better a window is released for knowing the windows before it, and whether a change does harm.

    OMP_NUM_THREADS=1 .venv/bin/python benchmarks/series.py --data DATA

DATA is a folder with the public files of docs/denoising.md; what is not there is left out, and without it only the
generated city is measured. Every window is drawn by itself; some are then released twice, knowing nothing but
themselves and with the eight windows before them as their past. Printed are relative errors of range counts at pings
(squares of 1 to 4 cells, in one slice and over all of the window; 5,000 each), and which shares of counts lie within
their error bars. The last line is JSON. Exact: never part
of a release.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter

from vdr_spark.arrays import Mask, Slices
from vdr_spark.denoise.past.evidence import EarlierWindow, PastEvidence
from vdr_spark.evaluate.metrics import relative_error, smoothing
from vdr_spark.evaluate.scales import Coverage, bars_of, measure_coverage
from vdr_spark.evaluate.workloads import RangeQueries, range_queries
from vdr_spark.experiments.draws import Setting, denoise, plan_release, sample_noise
from vdr_spark.experiments.windows import Window, cut_windows, district, generate_week
from vdr_spark.plan import ReleasePlan
from vdr_spark.refine import choose_refinement, estimate_kept, refine_sum_errors

_CELLS = 96
_OPENS = 6  # the week, from 0, in which the generated city's district opens
_PLACE = 5.5  # cells: the radius of a place that closes in another set
_PAST = 8  # earlier windows, the default of `series.past`
_FIFTH = 4  # from this window on, counted from 0, the past has to pay


@dataclass(frozen=True)
class Series:
    """A set: how its windows are had, at which epsilon a window is drawn, and which are looked at, from 0."""

    load: Callable[[Path], list[Window]]
    epsilon: str
    windows: tuple[int, ...]
    changes: tuple[int, ...] = ()  # windows in which something is new
    file: str | None = None


def _days(
    file: str, preset: str, windows: int, cells: int = _CELLS, hours: int = 3, slices: int = 8
) -> Callable[[Path], list[Window]]:
    return lambda folder: cut_windows(folder / file, preset, cells, hours, slices, windows)


SERIES = {
    "generated": Series(
        lambda _: [generate_week(week, _CELLS, 1_000_000, _OPENS) for week in range(12)],
        "0.02",
        (4, 11),
    ),
    "tdrive": Series(
        _days("tdrive_beijing.parquet", "tdrive", 7), "0.01", (1, 4, 5, 6), (4, 5), "tdrive_beijing.parquet"
    ),
    "cabspotting": Series(
        _days("cabspotting_sf.parquet", "cabspotting", 22), "0.02", (4, 11, 21), (), "cabspotting_sf.parquet"
    ),
    "cabs_sf": Series(
        _days("cabs_sf_trip_ends.parquet", "cabs_sf", 24), "0.3", (4, 12, 23), (), "cabs_sf_trip_ends.parquet"
    ),
    "gowalla": Series(
        lambda folder: cut_windows(folder / "gowalla_nyc_checkins.txt.gz", "gowalla_nyc", _CELLS, 168, 4, 20),
        "0.5",
        (13, 19),
        (),
        "gowalla_nyc_checkins.txt.gz",
    ),
    # Nothing was tried on these.
    "cabspotting_hours": Series(
        _days("cabspotting_sf.parquet", "cabspotting", 14, cells=144, hours=1, slices=24),
        "0.05",
        (6, 13),
        (),
        "cabspotting_sf.parquet",
    ),
    "tdrive_quarters": Series(
        _days("tdrive_beijing.parquet", "tdrive", 6, cells=144, hours=6, slices=4),
        "0.02",
        (5,),
        (),
        "tdrive_beijing.parquet",
    ),
    "cabs_sf_weeks": Series(
        _days("cabs_sf_trip_ends.parquet", "cabs_sf", 3, cells=144, hours=24, slices=7),
        "0.2",
        (2,),
        (),
        "cabs_sf_trip_ends.parquet",
    ),
}


@dataclass(frozen=True)
class Drawn:
    """A window, its plan and its noisy tensor."""

    window: Window
    plan: ReleasePlan
    noisy: Slices


@dataclass(frozen=True)
class Released:
    """One release of a window, compared with the truth."""

    errors: dict[str, float]
    coverage: dict[str, Coverage]
    used: bool  # the past was kept by the estimated risk


def main() -> None:
    arguments = _arguments()
    ratios: dict[str, dict[str, dict[str, float]]] = {}
    changes: dict[str, float] = {}
    for name in arguments.sets:
        series = replace(SERIES[name], epsilon=str(Fraction(SERIES[name].epsilon) * Fraction(arguments.times)))
        if series.file and not (arguments.data and (arguments.data / series.file).exists()):
            print(f"{name}: left out, there is no {series.file}")
            continue
        windows = series.load(arguments.data)
        _announce(name, series, windows)
        ratios[name] = {}
        for number in series.windows:
            found = [_measure(series, windows, number, draw) for draw in range(arguments.draws)]
            ratios[name][str(number + 1)] = _print_window(number, found)
            if number in series.changes:
                changes[f"{name} {number + 1}"] = ratios[name][str(number + 1)]["one"]
        if name == "generated":
            changes |= _measure_changes(series, windows, arguments)
        elif arguments.close:
            changes |= _measure_closing(name, series, windows, arguments)
    for name, ratio in changes.items():
        print(f"after a change, {name}: {ratio:.3f}")
    later = {
        name: float(np.mean([of["one"] for window, of in found.items() if int(window) > _FIFTH]))
        for name, found in ratios.items()
        if max(map(int, found)) > _FIFTH
    }
    result = {
        "gain_from_fifth_window": round(1 - max(later.values()), 4) if later else None,
        "worst_after_change": round(max(changes.values()), 4) if changes else None,
        "mean_ratio_from_fifth_window": later,
        "changes": changes,
        "ratios": ratios,
    }
    print(json.dumps(result))


def _measure(series: Series, windows: Sequence[Window], number: int, draw: int) -> dict[str, Released]:
    """Return the releases of a window: alone, and with its past."""
    drawn = [_draw(series, window, draw, which) for which, window in enumerate(windows[: number + 1])]
    past, now = drawn[:-1], drawn[-1]
    return {"alone": _release(now, None), "past": _release(now, _remember(past, now))}


def _measure_changes(series: Series, windows: Sequence[Window], arguments: argparse.Namespace) -> dict[str, float]:
    """Return ratios of errors where a district opens or closes, everywhere and in it, and of a past turned round."""
    found: dict[str, list[float]] = {}
    for draw in range(arguments.draws):
        drawn = [_draw(series, window, draw, which) for which, window in enumerate(windows)]
        opens, last = drawn[: _OPENS + 1], drawn[-1].window
        closed = Window(last.grid, last.truth * ~district(_CELLS))
        closes = [*drawn[:-1], _draw(series, closed, draw, len(windows) - 1)]
        turned = [*(Drawn(of.window, of.plan, of.noisy[:, :, ::-1]) for of in opens[:-1]), opens[-1]]
        for name, (*past, now), there in (
            ("a district opens", opens, opens[-1].window.truth),
            ("a district closes", closes, last.truth),
            ("a mirrored past", turned, None),
        ):
            _compare(found, name, past, now, None if there is None else there * district(_CELLS))
    return _print_changes(found)


def _measure_closing(
    name: str, series: Series, windows: Sequence[Window], arguments: argparse.Namespace
) -> dict[str, float]:
    """Return ratios of errors where a busy place closes in the last window, everywhere and in it."""
    found: dict[str, list[float]] = {}
    number = series.windows[-1]
    now = windows[number]
    place = _busy_place(now.truth)
    closed = Window(now.grid, now.truth * ~place)
    for draw in range(arguments.draws):
        past = [_draw(series, window, draw, which) for which, window in enumerate(windows[:number])]
        _compare(found, f"{name}, a place closes", past, _draw(series, closed, draw, number), now.truth * place)
    return _print_changes(found)


def _busy_place(truth: Slices) -> Mask:
    """Return a disc as large as the district, where it is busier than at 95 of 100 places. (M, M)"""
    around = gaussian_filter(truth.sum(axis=0, dtype=np.float64), _PLACE)
    row, column = np.unravel_index(np.abs(around - np.quantile(around, 0.95)).argmin(), around.shape)
    rows, columns = np.mgrid[: truth.shape[1], : truth.shape[2]]
    inside: Mask = np.hypot(rows - row, columns - column) < _PLACE
    return inside


def _compare(found: dict[str, list[float]], name: str, past: Sequence[Drawn], now: Drawn, there: Slices | None) -> None:
    """Add the ratios of a draw, with the past and without: everywhere, and at the pings of `there`."""
    at = None if there is None else _queries(now.window, 1, there)
    alone, knowing = (_release(now, of, at).errors for of in (None, _remember(past, now)))
    found.setdefault(name, []).append(knowing["one"] / alone["one"])
    if at is not None:
        found.setdefault(f"{name}, in it", []).append(knowing["there"] / alone["there"])


def _print_changes(found: dict[str, list[float]]) -> dict[str, float]:
    for name, ratios in found.items():
        print(f"  {name}: {' '.join(f'{ratio:.3f}' for ratio in ratios)}, by draw", flush=True)
    return {name: float(np.mean(of)) for name, of in found.items()}


def _draw(series: Series, window: Window, draw: int, which: int) -> Drawn:
    plan = plan_release(
        Setting("ridge", series.epsilon, are_users=False), window.grid, int(window.truth.sum(dtype=np.float64))
    )
    noise = sample_noise(plan, 1000 * draw + which, range(window.grid.slices))
    return Drawn(window, plan, (window.truth + noise).astype(np.float32))


def _remember(past: Sequence[Drawn], now: Drawn) -> PastEvidence:
    windows = [EarlierWindow(of.noisy, of.plan.noise, of.window.grid) for of in past[-_PAST:]]
    return PastEvidence(windows, now.noisy, now.plan.noise, now.window.grid)


def _release(now: Drawn, past: PastEvidence | None, there: RangeQueries | None = None) -> Released:
    """Release a window, and compare; `there` are further questions."""
    window, plan, noisy = now.window, now.plan, now.noisy
    tensor, notes = denoise(noisy, plan, past)
    kept = estimate_kept(float(noisy.sum(dtype=np.float64)), plan.total_pings)
    refinement = choose_refinement(plan, kept, plan.total_pings, tensor)
    sums = refine_sum_errors(plan, {"sum_errors": notes.get("sum_errors")}, refinement.factor, kept, kept)
    tensor = refinement.apply(tensor, sums)
    truth, grid = window.truth, window.grid
    assert tensor.deviation is not None
    coverage = measure_coverage(truth, tensor.counts, bars_of(tensor.counts, tensor.deviation, sums), grid)
    errors = {
        "one": _error(truth, tensor.counts, _queries(window, 1, truth), 1),
        "all": _error(truth, tensor.counts, _queries(window, len(truth), truth), len(truth)),
    }
    if there is not None:
        errors["there"] = _error(truth, tensor.counts, there, 1)
    return Released(errors, coverage, bool(notes.get("past", {}).get("used")))


def _queries(window: Window, slices: int, at: Slices) -> RangeQueries:
    """Return squares of 1 to 4 cells around pings of `at`, over so many slices."""
    side = window.grid.cell_metres[0]
    return range_queries(at, window.grid, 1, side_m=(side, 4 * side), length=slices)


def _error(truth: Slices, counts: Slices, queries: RangeQueries, slices: int) -> float:
    return relative_error(queries.answers(truth), queries.answers(counts), slices * smoothing(truth))


def _announce(name: str, series: Series, windows: Sequence[Window]) -> None:
    grid, pings = windows[0].grid, [int(window.truth.sum(dtype=np.float64)) for window in windows]
    print(
        f"\n{name}: {len(windows)} windows of {grid.cells_per_side} x {grid.cells_per_side} x {grid.slices} cells, "
        f"slices of {grid.slice_seconds // 3600} h, {min(pings):,} to {max(pings):,} pings a window, "
        f"epsilon {series.epsilon} each"
    )


def _print_window(number: int, found: list[dict[str, Released]]) -> dict[str, float]:
    """Print a window's errors, mean and deviation over the draws, and return the ratios with and without the past."""
    ratios, parts = {}, []
    for kind in ("one", "all"):
        alone, past = (np.array([of[name].errors[kind] for of in found]) for name in ("alone", "past"))
        ratios[kind] = float(past.mean() / alone.mean())
        told = " -> ".join(f"{of.mean():.4f} ± {of.std():.4f}" for of in (alone, past))
        parts.append(f"{kind} {told} ({ratios[kind]:.3f})")
    used = sum(of["past"].used for of in found)
    print(f"  window {number + 1}: {'; '.join(parts)}; past used in {used} of {len(found)} draws", flush=True)
    for name in ("alone", "past"):
        means = {
            scale: np.mean([of[name].coverage[scale] for of in found], axis=0)
            for scale in found[0][name].coverage
            if "anywhere" not in scale
        }
        shares = "  ".join(f"{scale}: {of[0]:.2f} {of[2]:.2f}" for scale, of in means.items())
        print(f"    within 1 and 2 bars, {name}: {shares}", flush=True)
    return ratios


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the public data sets")
    parser.add_argument("--sets", nargs="+", choices=SERIES, default=list(SERIES), help="(default: all)")
    parser.add_argument("--draws", type=int, default=3, help="of the noise (default: %(default)s)")
    parser.add_argument("--times", default="1", help="of the epsilon of every set, as 1/4 (default: %(default)s)")
    parser.add_argument("--close", action="store_true", help="also close a busy place in the last window of real sets")
    arguments = parser.parse_args()
    if arguments.draws < 1:
        parser.error("--draws must be at least 1")
    return arguments


if __name__ == "__main__":
    main()
