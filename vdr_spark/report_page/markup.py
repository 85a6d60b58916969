"""HTML and SVG in which every text is escaped unless it was made here.

Names of datasets, regions and people's words come from tables and configurations, so escaping is not something that a
caller could forget: only `Markup` passes as it is, and only `element` and `join` make it.
"""

from __future__ import annotations

import html
from collections.abc import Iterable


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escape(value: object) -> Markup:
    """Return what a browser shows as this very text; markup as it is."""
    return value if isinstance(value, Markup) else Markup(html.escape(str(value)))


def join(children: Iterable[object], between: str = "") -> Markup:
    """Return pieces one after the other."""
    return Markup(html.escape(between).join(escape(child) for child in children))


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """Return an element. Attributes: `class_` is class, `stroke_width` is stroke-width; None leaves one out."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{said}>")
    return Markup(f"<{name}{said}>{join(children)}</{name}>")


_VOID = frozenset({"img", "meta", "br", "hr"})


def with_code(text: str) -> Markup:
    """Return text in which what stands between `backticks` is set as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one has no partner
        return escape(text)
    return join(element("code", part) if at % 2 else part for at, part in enumerate(parts))


def section(anchor: str, title: str, *children: object) -> Markup:
    """Return a part of the page with its heading."""
    return element("section", element("h2", title, id=anchor), *children, aria_labelledby=anchor)


def table(heads: Iterable[object], rows: Iterable[Iterable[object]], caption: str, numbers: int = 0) -> Markup:
    """Return a table that scrolls by itself where it is too wide; its last `numbers` columns are figures."""
    heads = list(heads)
    first = len(heads) - numbers
    head = join(
        element("th", cell, scope="col", class_="number" if at >= first else None) for at, cell in enumerate(heads)
    )
    body = join(
        element("tr", *(element("td", cell, class_="number" if at >= first else None) for at, cell in enumerate(row)))
        for row in rows
    )
    whole = element("table", element("caption", caption), element("thead", element("tr", head)), element("tbody", body))
    return element("div", whole, class_="wide", tabindex="0", role="region", aria_label=caption)


def definitions(fields: Iterable[tuple[object, object]]) -> Markup:
    """Return names and what they mean."""
    return element("dl", *(join([element("dt", name), element("dd", value)]) for name, value in fields))


def paragraph(*children: object, class_: str | None = None) -> Markup:
    return element("p", *children, class_=class_)
