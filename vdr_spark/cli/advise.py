"""`vdr advise`: which k, or norm, to take, from public knowledge only."""

from __future__ import annotations

import json
from dataclasses import dataclass

from vdr_spark.advise.gather import Wish, give_advice
from vdr_spark.advise.report import tell
from vdr_spark.advise.sources import Declared, Earlier
from vdr_spark.cli.console import caution, console
from vdr_spark.cli.options import open_spark
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import InvalidQuery
from vdr_spark.plan import Plan, make_plan


@dataclass(frozen=True)
class Options:
    """What was given on the command line, as it was given."""

    exponent: float | None
    most: float | None
    users: float | None
    shift: float | None
    earlier: str | None
    earlier_release: str | None
    total: float | None
    apart: float
    pay: bool


def run(config: ReleaseConfig, options: Options, as_json: bool) -> None:
    """Print a table of bounds and expected errors, and which one to take."""
    plan, wish = make_plan(config), _wish(options)
    if wish.pay and plan.sizes_draw is not None:
        caution(
            f"the histogram of pings per user costs {plan.sizes_draw.price}; it is drawn once, and never paid twice"
        )
    advice = give_advice(plan, wish, lambda: open_spark(config, "advise"))
    if as_json:
        print(json.dumps(advice.as_dict(), indent=2))
        return
    for line in [*tell(advice), *_hint(plan, advice.source)]:
        console.print(line, markup=False, highlight=False)


def _hint(plan: Plan, source: str) -> list[str]:
    """Say that a histogram which the configuration asks for is not drawn yet."""
    if plan.sizes_draw is None or source == "histogram":
        return []
    price = plan.sizes_draw.price
    return [f"The histogram that privacy.size_histogram asks for is not drawn yet; --pay draws it, for {price}."]


def _wish(options: Options) -> Wish:
    return Wish(_declared(options), _earlier(options), _whole("--total", options.total), options.apart, options.pay)


def _declared(options: Options) -> Declared | None:
    given = (options.exponent, options.most, options.users, options.shift)
    if all(one is None for one in given):
        return None
    most, users = _whole("--most", options.most), _whole("--users", options.users)
    if options.exponent is None or most is None:
        raise InvalidQuery("a declared law of pings per user takes --exponent and --most, and --users or --shift")
    return Declared(options.exponent, most, options.shift, users)


def _earlier(options: Options) -> Earlier | None:
    if options.earlier is None:
        if options.earlier_release is not None:
            raise InvalidQuery("--earlier-release goes with --earlier, the output folder of that release; give it too")
        return None
    return Earlier(options.earlier, options.earlier_release)


def _whole(name: str, value: float | None) -> int | None:
    """Return a whole number that may be written as 5e7."""
    if value is None:
        return None
    if not 1 <= value < 2**53 or value != int(value):
        raise InvalidQuery(f"{name} must be a whole number of at least 1, such as 5e7, not {value:g}")
    return int(value)
