"""Advice in words: the table, what was known, and what to write into the configuration."""

from __future__ import annotations

from vdr_spark.advise.advice import PAPER_LAMBDA, Advice, ByOneSource
from vdr_spark.advise.expected import Expected

_ROWS_AROUND = 4  # of the table, on either side of the advised one
_WHAT_ERRORS = (
    "Errors are relative errors of counts over squares of 1 to 4 cells, where pings are, in one slice; expected, not "
    "measured.\nThey are for `ridge` with fusion (docs/choosing_k.md); other denoisers were not looked at."
)
_NOTHING_KNOWN = (
    "Nothing is known of the pings per user, so that no errors can be expected. Declare a law (--exponent 2.3 --most "
    "30000\n--users 1e5), name an earlier release of the city (--earlier FOLDER), or pay for a histogram "
    "(privacy.size_histogram, --pay)."
)


def tell(advice: Advice) -> list[str]:
    """Return the lines that people read."""
    name, setting = advice.bound_name, f"privacy.{advice.bound_name}"
    lines = [f"Which {name}? {advice.total:,} pings, {advice.price} for the cells, denoiser {advice.model}.", ""]
    for table in advice.tables[:1]:
        lines += [f"By {table.sentence}:", *_tell_table(name, table), "", _WHAT_ERRORS, ""]
    if not advice.tables:
        lines += [_NOTHING_KNOWN, ""]
    lines += [*_tell_paper(advice), *_tell_others(name, advice), *_tell_configured(name, advice), ""]
    if advice.bound is None:
        return [*lines, f"No {name} is advised."]
    return [
        *lines,
        f"Advised: {name} = {advice.bound}, by the source `{advice.source}` (--set {setting}={advice.bound}).",
    ]


def _tell_table(name: str, table: ByOneSource) -> list[str]:
    at = table.rows.index(table.best)
    low, high = table.as_good
    shown = table.rows[max(0, at - _ROWS_AROUND) : at + _ROWS_AROUND + 1]
    head = f"  {name:>8}  {'pings kept':>10}  {'bounding':>9}  {'noise':>9}  {'released':>9}"
    least = f"  {name} from {low} to {high} is expected to be within 5 % of the least error."
    return [head, *(_tell_row(row, row is table.best) for row in shown), least]


def _tell_row(row: Expected, advised: bool) -> str:
    mark = "  <- advised" if advised else ""
    return f"  {row.bound:>8}  {row.kept:>10.1%}  {row.bounding:>9.3f}  {row.noise:>9.3f}  {row.denoised:>9.3f}{mark}"


def _tell_paper(advice: Advice) -> list[str]:
    if advice.paper is None:
        return ["The paper's rule, k = lambda N, says nothing of norms."]
    return [
        f"The paper's rule, k = lambda N (lambda {PAPER_LAMBDA:g} unless the configuration has one): {advice.paper}."
    ]


def _tell_others(name: str, advice: Advice) -> list[str]:
    return [f"By {table.sentence}: {name} = {table.best.bound}." for table in advice.tables[1:]]


def _tell_configured(name: str, advice: Advice) -> list[str]:
    if not isinstance(advice.configured, Expected):
        return [] if advice.configured is None else [f"The configuration has {name} = {advice.configured}."]
    row = advice.configured
    return [f"The configuration has {name} = {row.bound}, with an expected error of {row.denoised:.3f}."]
