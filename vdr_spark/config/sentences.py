"""What is wrong with settings, in sentences: parameter, rule, value received, what to do."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

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
    where = _printable(".".join(str(part) for part in error["loc"])) or "(all settings together)"
    if error["type"] == "extra_forbidden":
        return f"  {where}: is not a known setting; remove it or mend its spelling"
    if error["type"] == "missing":
        return f"  {where}: is missing; add it"
    rule = error["msg"].removeprefix("Value error, ")
    rule = _printable(rule[:1].lower() + rule[1:])
    if isinstance(error["input"], dict):
        return f"  {where}: {rule}"
    return f"  {where}: {rule} (received {quote(error['input'])})"


def _printable(text: str) -> str:
    """Return the text without characters that would move a terminal's cursor or colour it."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
