"""A release as a notebook shows it: the map, the promise in a sentence, the error, period and grid.

One piece of HTML with nothing from elsewhere; every text is escaped. Colours are set throughout, so that it reads the
same in a dark notebook.
"""

from __future__ import annotations

import base64
import html
import math
from fractions import Fraction
from typing import TYPE_CHECKING

from vdr_spark.errors import EnvironmentProblem
from vdr_spark.query.wording import format_box, format_moment
from vdr_spark.release.release import describe_bound

if TYPE_CHECKING:
    from vdr_spark.release.release import Release

_CARD = (
    "max-width:60rem;padding:1rem 1.2rem;border:1px solid #d9d9e0;background:#fff;color:#1b1b22;"
    "font:14px/1.5 system-ui,sans-serif"
)
_ALARM = "background:#c1121f;color:#fff;font-weight:700;font-size:1.15em;padding:.7rem 1rem;margin:.7rem 0"
_PROMISE = "border-left:4px solid #7b2382;padding:.1rem 0 .1rem .9rem;margin:.7rem 0"
_NAME = (
    "color:#6f6f7a;font-size:14px;font-weight:400;line-height:1.4;text-align:left;vertical-align:top;"
    "padding:.15rem 1rem .15rem 0;white-space:nowrap"
)
_VALUE = "color:#1b1b22;font-size:14px;line-height:1.4;text-align:left;padding:.15rem 0;overflow-wrap:anywhere"
_UNPROTECTED = (
    "UNPROTECTED. The noise came from a test seed, so anyone can take it away again: this release protects nobody."
)


def release_card(release: Release) -> str:
    """Return the card as HTML; without a map where matplotlib is not installed."""
    facts = "".join(
        f'<tr style="background:none"><th style="{_NAME}">{name}</th><td style="{_VALUE}">{_text(value)}</td></tr>'
        for name, value in _facts(release).items()
    )
    return (
        f'<div style="{_CARD}"><div style="font-size:1.2em;font-weight:600">Release {_text(release.release_id)}</div>'
        f"{_withdrawal(release)}{_promise(release)}"
        '<div style="display:flex;flex-wrap:wrap;gap:1.2rem;align-items:flex-start">'
        f'{_map(release)}<table style="border-collapse:collapse;flex:1;min-width:18rem;margin:0">{facts}</table>'
        "</div></div>"
    )


def _withdrawal(release: Release) -> str:
    if release.withdrawal is None:
        return ""
    return f'<div style="{_ALARM}">{_text(release.withdrawal.banner)}. Not to be used any more.</div>'


def _promise(release: Release) -> str:
    if not release.protected:
        return f'<div style="{_ALARM}">{_UNPROTECTED}</div>'
    return (
        f'<div style="{_PROMISE}">Adding or removing <b>{_text(release.promise.unit.whom)}</b> changes the '
        f"probability of any possible release by at most a factor of e<sup>ε</sup>{_factor(release.epsilon)}, with "
        f"<b>ε = {_text(release.promise.figure)}</b>{_text(release.promise.beyond)}, whatever an attacker knows or "
        "computes.</div>"
    )


def _factor(epsilon: Fraction) -> str:
    """Return e^epsilon in figures, where they say anything to a person."""
    return f" = {math.exp(epsilon):,.4g}" if epsilon < 10 else ""


def _map(release: Release) -> str:
    from vdr_spark.report.maps import render_sum

    try:
        picture = base64.b64encode(render_sum(release)).decode()
    except EnvironmentProblem:  # no matplotlib: the words are worth having without it
        return ""
    source = f"data:image/png;base64,{picture}"
    return f'<img src="{source}" alt="Map of the released pings" style="max-width:26rem;width:100%">'


def _facts(release: Release) -> dict[str, object]:
    grid = release.grid
    height, width = grid.cell_metres
    facts: dict[str, object] = {
        "Dataset": release.dataset,
        "Region": release.region,
        "Period": f"{format_moment(grid.start, release.zone)} to {format_moment(grid.end, release.zone)}",
        "Slices": f"{grid.slices} of {_duration(grid.slice_seconds)}",
        "Grid": f"{grid.cells_per_side} x {grid.cells_per_side} cells of {width:.0f} m x {height:.0f} m, "
        f"{format_box(grid.box)} in all",
        "Kept of a user": describe_bound(release.k, release.statement),
        "Estimated error": _error(release),
        "Denoiser": release.model,
        "Published": format_moment(release.created, release.zone),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _error(release: Release) -> str:
    if release.estimated_rmse is None:
        return "smaller than can be told from the noisy counts"
    return f"{release.estimated_rmse:.3g} pings, root mean square of a cell's kept pings, from the noisy counts alone"


def _duration(seconds: int) -> str:
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds % length == 0:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def _text(value: object) -> str:
    return html.escape(str(value))
