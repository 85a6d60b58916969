"""The privacy statement as a page for people: one HTML file without anything from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from vdr_spark.epsilon import format_delta
from vdr_spark.promise import Promise
from vdr_spark.release.withdrawals import Withdrawal

_TITLES = {
    "basic": "What was released",
    "dp_variant": "What kind of promise",
    "privacy_loss": "To whom, and how strong",
    "deployment_model": "Who is trusted",
    "implementation": "How it was made",
}
_STYLE = """
:root { --ink: #1b1b22; --faint: #6f6f7a; --rule: #d9d9e0; --alarm: #c1121f; --plum: #7b2382 }
body { margin: 0; background: #f7f7f9; color: var(--ink); font: 16px/1.55 system-ui, sans-serif }
main { max-width: 46rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; background: #fff }
h1 { font-size: 1.5rem; margin: 0 } h2 { font-size: 1.05rem; margin: 2.2rem 0 .4rem }
.id, .foot { color: var(--faint); font-size: .85rem; overflow-wrap: anywhere }
.promise { border-left: 4px solid var(--plum); margin: 1.5rem 0; padding: .2rem 0 .2rem 1rem }
.alarm { background: var(--alarm); color: #fff; font-weight: 700; padding: .8rem 1rem; margin: 1.2rem 0 }
dl, dd { margin: 0; overflow-wrap: anywhere } dt { color: var(--faint); font-size: .85rem; margin-top: .7rem }
table { border-collapse: collapse; width: 100%; font-size: .9rem }
th, td { text-align: left; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--rule) }
td { overflow-wrap: anywhere }
@media print { body { background: #fff } main { padding: 0 } }
"""


def statement_page(statement: Mapping[str, Any], withdrawal: Withdrawal | None = None) -> str:
    """Return the statement as a whole HTML document. Every text of it is escaped.

    Of a release that was withdrawn it says so first; what was promised to people holds as before.
    """
    exact = statement["exact"]
    parts = [
        "<h1>Privacy statement</h1>",
        f'<p class="id">Release {_text(statement["release_id"])}, published {_text(exact["created"])[:16]} UTC</p>',
        *([_withdrawn(withdrawal)] if withdrawal else []),
        *([f'<p class="alarm">{_text(statement["warning"])}</p>'] if statement["warning"] else []),
        *([_promise(exact)] if statement["protected"] else []),
        *([_series(exact["series"])] if statement["protected"] and "series" in exact else []),
        *(_section(_TITLES[name], fields) for name, fields in statement["deployment"].items()),
        "<h2>Where the budget went</h2>",
        _budget(exact),
        "<h2>Questions worth asking</h2>",
        _definitions({item["question"]: item["answer"] for item in statement["questions"]}),
        f'<p class="foot">Made by vdr-spark {_text(exact["code_version"])}. Names of fields follow OpenDP\'s registry '
        "of deployments, the questions NIST SP 800-226. The same as JSON lies beside this page. SHA-256 of the "
        f"released cells: {_text(exact['cells_sha256'])}</p>",
    ]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Privacy statement {_text(statement['release_id'])}</title><style>{_STYLE}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def _withdrawn(withdrawal: Withdrawal) -> str:
    return (
        f'<p class="alarm">{_text(withdrawal.banner)}. Do not use this release any more. What is promised below to the '
        "people in it holds as before.</p>"
    )


def _promise(exact: Mapping[str, Any]) -> str:
    promise = Promise.read(Fraction(exact["epsilon"]), {"exact": exact})
    return (
        f'<p class="promise">Adding or removing <b>{_text(promise.unit.whom)}</b> changes the probability '
        "of any possible release by at most a factor of e<sup>ε</sup>, with "
        f"<b>ε = {_text(exact['epsilon'])}</b>{_text(promise.beyond)}, whatever an attacker knows or computes.</p>"
    )


def _series(series: Mapping[str, Any]) -> str:
    return (
        f'<p class="promise">This is window <b>{_text(series["window"])}</b> of the series {_text(series["name"])}. '
        f"{_text(series['meaning'])}</p>"
    )


def _section(title: str, fields: Mapping[str, Any]) -> str:
    return f"<h2>{title}</h2>{_definitions({name.replace('_', ' '): value for name, value in fields.items()})}"


def _definitions(fields: Mapping[str, Any]) -> str:
    rows = "".join(f"<dt>{_text(name)}</dt><dd>{_value(value)}</dd>" for name, value in fields.items())
    return f"<dl>{rows}</dl>"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{_text(name).replace('_', ' ')}: {_value(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return "; ".join(_value(inner) for inner in value)
    return _text(value)


def _budget(exact: Mapping[str, Any]) -> str:
    own, kept = ("ρ" if "rho" in exact else "ε"), exact.get("budget_currency", "epsilon")
    stages = "".join(
        f"<tr><td>{_text(stage)}</td><td>{_text(amount)}</td></tr>"
        for stage, amount in exact["rho_by_stage" if "rho" in exact else "epsilon_by_stage"].items()
    )
    draws = "".join(
        f"<tr><td>{_text(draw['draw_id'])}</td><td>{_text(draw['purpose'])}</td><td>{_cost(draw, kept)}</td>"
        f"<td>{_text(draw['state'])}</td></tr>"
        for draw in exact["draws"]
    )
    return (
        f"<table><tr><th>stage of this release</th><th>{own}</th></tr>{stages}</table>"
        f"<p>The dataset's draws so far: {_spending(exact)} granted.</p>"
        f"<table><tr><th>draw</th><th>of</th><th>{'ε' if kept == 'epsilon' else 'ρ'}</th><th>state</th></tr>{draws}"
        "</table>"
    )


def _cost(draw: Mapping[str, Any], kept: str) -> str:
    """Return what a draw costs; of pure epsilon in a budget of rho, what it counts as."""
    if kept in draw:
        return _text(draw[kept])
    return f"{_text(Fraction(draw['epsilon']) ** 2 / 2)} (ε {_text(draw['epsilon'])})"


def _spending(exact: Mapping[str, Any]) -> str:
    """Return what is taken of what was granted, of rho also as epsilons."""
    amounts = _text(exact["committed"]), _text(exact["granted"])
    if "budget_currency" not in exact:
        return " of ".join(amounts)
    told = _text(exact["committed_epsilon"]), _text(exact["granted_epsilon"])
    at_delta = f"at δ = {_text(format_delta(Fraction(exact['budget_delta'])))}"
    return f"ρ {amounts[0]} of {amounts[1]}, which is ε {told[0]} of {told[1]} {at_delta},"


def _text(value: Any) -> str:
    return html.escape(str(value))
