"""The reference of all settings, made from the settings themselves: `make settings` writes it into docs/settings.md."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from vdr_spark.config.kinds import Seconds
from vdr_spark.config.release import ReleaseConfig
from vdr_spark.config.values import Written

MARK = "<!-- From here on made by `make settings` from vdr_spark/config; changes by hand are lost. -->"
_PLAIN = {bool: "true or false", int: "whole number", float: "number", str: "text"}
_UNITS = (("w", 604_800), ("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
_BOUNDS = (
    (annotated_types.Ge, "ge", "at least"),
    (annotated_types.Gt, "gt", "above"),
    (annotated_types.Le, "le", "at most"),
    (annotated_types.Lt, "lt", "below"),
)


def renew_page(page: str) -> str:
    """Return a page with everything below the mark made anew."""
    written_by_hand, mark, _ = page.partition(MARK)
    if not mark:
        raise ValueError(f"the page must hold the line {MARK}")
    return f"{written_by_hand}{MARK}\n\n{describe_settings()}"


def describe_settings() -> str:
    """Return one table for each section, in Markdown, in the order in which they stand in a file."""
    return "\n".join(_describe_section("", ReleaseConfig))


def _describe_section(path: str, section: type[BaseModel]) -> Iterator[str]:
    nested = {name: kind for name, field in section.model_fields.items() if (kind := _find_section(field))}
    yield f"## `{path}`\n" if path else "## The file\n"
    yield f"{(section.__doc__ or '').strip()}\n"
    yield "| setting | how it is written | unless set | what it is |\n| --- | --- | --- | --- |"
    for name, field in section.model_fields.items():
        cells = (f"`{field.alias or name}`", _describe_kind(field), _describe_default(field), field.description or "")
        yield f"| {' | '.join(cells)} |"
    yield ""
    for name, kind in nested.items():
        yield from _describe_section(f"{path}.{name}" if path else name, kind)


def _find_section(field: FieldInfo) -> type[BaseModel] | None:
    """Return the section that a setting holds; None where it holds a value, or several sections by name."""
    for kind in (field.annotation, *_arguments(field.annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def _arguments(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else ()


def _describe_kind(field: FieldInfo) -> str:
    return "".join((_name_kind(field.annotation, field.metadata), *_describe_bounds(field.metadata)))


def _name_kind(kind: Any, metadata: Sequence[Any] = ()) -> str:
    """Return how a kind of value is written, in words."""
    for mark in metadata:
        if isinstance(mark, Written):
            return mark.how
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _name_kind(inner[0], inner[1:])
    if origin in (Union, types.UnionType):
        return _name_kind(next(one for one in inner if one is not type(None)))
    if origin is Literal:
        return _list_words(inner)
    if origin is dict:
        below = inner[1]
        return "sections by name" if _is_section(below) else "`key: value` lines"
    if origin in (list, tuple):
        return f"list of {_name_kind(inner[0])}"
    return "section, below" if _is_section(kind) else _PLAIN[kind]


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _list_words(words: Sequence[str]) -> str:
    quoted = [f"`{word}`" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def _describe_bounds(metadata: Sequence[Any]) -> Iterator[str]:
    for bound, name, words in _BOUNDS:
        for mark in metadata:
            if isinstance(mark, bound):
                yield f", {words} {_format_number(getattr(mark, name))}"


def _describe_default(field: FieldInfo) -> str:
    if field.is_required():
        return "**required**"
    if field.default is None or field.default == {} or isinstance(field.default, BaseModel):
        return ""
    if any(mark in get_args(Seconds) for mark in field.metadata if isinstance(mark, Written)):
        return f"`{_format_seconds(field.default)}`"
    if isinstance(field.default, list):
        return f"`[{', '.join(field.default)}]`"
    return f"`{str(field.default).lower() if isinstance(field.default, bool) else field.default}`"


def _format_number(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else str(number)


def _format_seconds(seconds: int) -> str:
    return next(f"{seconds // length}{unit}" for unit, length in _UNITS if seconds % length == 0)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.write_text(renew_page(place.read_text()))
