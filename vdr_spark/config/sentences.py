"""What is wrong with settings, in sentences: parameter, rule, value received, what to do."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from vdr_spark.config.values import MOMENT_RULE, PATTERN_RULES

_WHOLE, _NUMBER, _SECTION = "must be a whole number", "must be a number", "must be a section of `key: value` lines"
_BOOL = "must be true or false"
# What pydantic calls the kinds of mistakes that our settings know, and the rule that was broken.
_RULES = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float", "int_parsing_size"), _WHOLE),
    **dict.fromkeys(("float_type", "float_parsing"), _NUMBER),
    "finite_number": "must be a number that is not infinite",
    **dict.fromkeys(("bool_type", "bool_parsing"), _BOOL),
    "string_type": "must be text; put it in quotes",
    "string_unicode": "must be text of whole characters",
    **dict.fromkeys(("datetime_type", "datetime_parsing", "datetime_from_date_parsing"), MOMENT_RULE),
    "literal_error": "must be one of {expected}",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "too_short": "must have at least {min_length} of them",
    "too_long": "must have at most {max_length} of them",
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), _SECTION),
    "list_type": "must be a list, such as [ridge, blindspot]",
    "tuple_type": "must be a list, such as [29.76, -95.37]",
    "missing": "must have one value more, such as [29.76, -95.37]",  # of a pair; a section's setting is told otherwise
    "invalid_key": "must have keys that are words",
}
_MAX_QUOTE = 200  # characters of a wrong value that a sentence repeats
_MAX_LINES = 20


def describe_errors(problem: ValidationError) -> str:
    """Return one line for each mistake, the first twenty of them."""
    errors = problem.errors()
    lines = [_describe(error) for error in errors[:_MAX_LINES]]
    if len(errors) > _MAX_LINES:
        lines.append(f"  and {len(errors) - _MAX_LINES} more")
    return "\n".join(lines)


def quote(value: object) -> str:
    """Return a value as it may stand in a sentence, cut off where it is long."""
    text = repr(value)
    return text if len(text) <= _MAX_QUOTE else text[:_MAX_QUOTE] + " ..."


def _describe(error: Any) -> str:
    where = _printable(".".join(_place(error))) or "(all settings together)"
    if error["type"] == "extra_forbidden":
        return f"  {where}: is not a known setting; remove it or mend its spelling"
    if error["type"] == "missing" and not _is_in_list(error):
        return f"  {where}: is missing; add it"
    rule = _printable(_rule(error))
    if isinstance(error["input"], dict):
        return f"  {where}: {rule}"
    return f"  {where}: {rule} (received {quote(error['input'])})"


def _place(error: Any) -> list[str]:
    """Return the names on the way to a setting; a key that is wrong is a place of its own, one in a pair is not."""
    parts = [str(part) for part in error["loc"] if part != "[key]"]
    return parts[:-1] if error["type"] == "missing" and _is_in_list(error) else parts


def _is_in_list(error: Any) -> bool:
    return bool(error["loc"]) and isinstance(error["loc"][-1], int)


def _rule(error: Any) -> str:
    """Return the rule that was broken, in our words; pydantic's own where a kind of error is new to us."""
    kind, given = error["type"], error.get("ctx", {})
    if kind == "string_pattern_mismatch":
        return PATTERN_RULES.get(given["pattern"], f"must match the pattern {given['pattern']}")
    if kind in _RULES:
        return _RULES[kind].format(**{name: _write_bound(bound) for name, bound in given.items()})
    rule: str = error["msg"].removeprefix("Value error, ")
    return rule[:1].lower() + rule[1:]


def _write_bound(bound: object) -> object:
    """Return a bound as a person writes it: 1, not 1.0."""
    return int(bound) if isinstance(bound, float) and bound.is_integer() else bound


def _printable(text: str) -> str:
    """Return the text without characters that would move a terminal's cursor or colour it."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
