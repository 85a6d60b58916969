"""What is promised, in plain words first, and the whole statement behind it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC
from typing import Any

from vdr_spark.epsilon import GOOD_PRACTICE, NO_PROTECTION, WEAK, format_delta
from vdr_spark.promise import Promise
from vdr_spark.query.wording import format_box, format_moment
from vdr_spark.release.release import Release, describe_bound
from vdr_spark.report_page.markup import Markup, definitions, element, escape, join, paragraph, section, with_code

_TITLES = {
    "basic": "What was released",
    "dp_variant": "What kind of promise",
    "privacy_loss": "To whom, and how strong",
    "deployment_model": "Who is trusted",
    "implementation": "How it was made",
}


def promise_words(release: Release) -> Markup:
    """Return the promise as one would say it to the people whose pings these are."""
    if not release.protected:
        return paragraph(
            "This release promises nothing to anybody. Its noise came from a test seed, so that anyone can compute it "
            "and take it away again. It exists to try the software out.",
            class_="promise",
        )
    promise = release.promise
    factor = f" = {math.exp(promise.epsilon):,.4g}" if promise.epsilon < 10 else ""
    exact = paragraph(
        "Adding or removing ",
        element("b", promise.unit.whom),
        " changes the probability of any possible release by at most a factor of e",
        element("sup", "ε"),
        f"{factor}, with ",
        element("b", f"ε = {promise.figure}"),
        f"{promise.beyond}, whatever an attacker knows or computes.",
    )
    caution = _caution(promise)
    return element("div", exact, paragraph(_odds(release)), caution, class_="promise")


def _odds(release: Release) -> Markup:
    """Return what the factor means to a person who wonders about somebody."""
    promise = release.promise
    odds = f"{math.exp(promise.epsilon):,.3g} to 1" if promise.epsilon < 50 else "as good as certain"
    chance = "" if promise.delta is None else f" (but for chances of the size of {format_delta(promise.delta)})"
    return join(
        [
            "In plain words: whoever held it for even odds that one particular person is in the data may, after seeing "
            "everything on this page and everything else there is, be sure of it at up to ",
            element("b", odds),
            f"{chance}. That is an upper bound, against somebody who knows all other people's pings; others are likely "
            "to learn less. No cell here is exact, and small counts say little or nothing: that is how one person "
            "stays hidden.",
        ]
    )


def _caution(promise: Promise) -> Markup:
    """Return what a careful reader must be told of a large epsilon; nothing where it is good practice."""
    if promise.epsilon < GOOD_PRACTICE:
        return join([])
    strength = "is large"
    if promise.epsilon > WEAK:
        strength = "is no protection worth the name" if promise.epsilon > NO_PROTECTION else "is a weak promise"
    return paragraph(f"ε = {promise.figure} {strength}. Good practice is below {GOOD_PRACTICE}.", class_="caution")


def facts(release: Release) -> Markup:
    """Return what one has to know of a release before looking at it."""
    grid, (height, width) = release.grid, release.grid.cell_metres
    fields = [
        ("Dataset", release.dataset),
        *([("Region", release.region)] if release.region else []),
        ("Period", _period(release)),
        ("Cells", f"{grid.cells_per_side} x {grid.cells_per_side} of {width:.0f} m x {height:.0f} m"),
        ("Area", format_box(grid.box)),
        ("Slices", f"{grid.slices} of {_duration(grid.slice_seconds)}"),
        ("Kept of a user", describe_bound(release.k, release.statement)),
        ("Denoiser", release.model),
        ("Published", format_moment(release.created, UTC)),
    ]  # fmt: skip
    return definitions(fields)


def _period(release: Release) -> str:
    start, end = (moment.astimezone(release.zone) for moment in (release.grid.start, release.grid.end))
    return f"{start:%a %Y-%m-%d %H:%M} to {end:%a %Y-%m-%d %H:%M}, {release.zone.key}"


def statement_section(release: Release) -> Markup:
    """Return the privacy statement, all of it; its parts can be folded away on a screen."""
    statement = release.statement
    parts: list[Markup] = []
    for name, fields in _mapping(statement.get("deployment")).items():
        parts.append(_folded(_TITLES.get(name, name), _mapping(fields).items()))
    questions = [(item["question"], item["answer"]) for item in statement.get("questions", ())]
    if questions:
        parts.append(_folded("Questions worth asking", questions))
    sha256 = _mapping(statement.get("exact")).get("cells_sha256")
    foot = paragraph("SHA-256 of the released cells: ", element("code", sha256), class_="note") if sha256 else ""
    intro = paragraph(
        with_code(
            "Names of fields follow OpenDP's registry of deployments, the questions NIST SP 800-226. `vdr audit` "
            "verifies the statement against the ledger, the noisy counts and the released cells, without a single ping."
        )
    )
    return section("statement", "The privacy statement", intro, *parts, foot)


def _folded(title: str, fields: Any) -> Markup:
    named = [(str(name).replace("_", " "), _value(value)) for name, value in fields]
    return element("details", element("summary", element("h3", title)), definitions(named), open="")


def _value(value: Any) -> Markup:
    if isinstance(value, Mapping):
        return join((join([str(name).replace("_", " "), ": ", _value(inner)]) for name, inner in value.items()), ", ")
    if isinstance(value, list | tuple):
        return join((_value(inner) for inner in value), "; ")
    return with_code(value) if isinstance(value, str) else escape(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _duration(seconds: int) -> str:
    for unit, length in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds % length == 0 and seconds >= length:
            number = seconds // length
            return f"{number} {unit if number != 1 else unit[:-1]}"
    return f"{seconds} seconds"
