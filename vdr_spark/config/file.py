"""From a YAML file and `--set` overrides to a `ReleaseConfig`, or to a sentence that says what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from vdr_spark.config.plain_yaml import parse_plain_yaml
from vdr_spark.config.release import ReleaseConfig
from vdr_spark.errors import InvalidConfig

_LARGEST_FILE = 1 << 16  # bytes; a configuration is a page
_LONGEST_QUOTE = 200  # characters of a wrong value that a sentence repeats
_MOST_LINES = 20


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> ReleaseConfig:
    """Read and validate a configuration. An override is `section.key=value`, its value written as in YAML."""
    tree = _read_tree(Path(path))
    for override in overrides:
        _override(tree, override)
    try:
        return ReleaseConfig.model_validate(tree)
    except ValidationError as problem:
        errors = problem.errors()
        lines = [_sentence(error) for error in errors[:_MOST_LINES]]
        if len(errors) > _MOST_LINES:
            lines.append(f"  and {len(errors) - _MOST_LINES} more")
        raise InvalidConfig(f"{path} is not a valid configuration:\n" + "\n".join(lines)) from None


def _read_tree(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)  # no more, whatever it is: /dev/zero has no end
    except FileNotFoundError:
        raise InvalidConfig(f"there is no configuration file {path}; examples are in conf/") from None
    except (OSError, ValueError) as problem:
        raise InvalidConfig(f"the configuration file {path} cannot be read: {problem}") from None
    if len(content) > _LARGEST_FILE:
        raise InvalidConfig(f"{path} is larger than {_LARGEST_FILE >> 10} KiB, which no configuration is")
    try:
        tree = parse_plain_yaml(content.decode("utf-8-sig"))
    except UnicodeDecodeError as problem:
        raise InvalidConfig(f"the configuration file {path} cannot be read: {problem}") from None
    except yaml.YAMLError as problem:
        raise InvalidConfig(f"{path} is not valid YAML: {' '.join(str(problem).split())}") from None
    except InvalidConfig as problem:
        raise InvalidConfig(f"{path}, {problem}") from None
    if not isinstance(tree, dict):
        raise InvalidConfig(f"{path} must hold `key: value` lines, see conf/demo.yaml")
    return tree


def _override(tree: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        raise InvalidConfig(f"--set takes section.key=value, such as grid.cells_per_side=288, not {_quoted(override)}")
    try:
        value = parse_plain_yaml(text)
    except yaml.YAMLError:
        value = text
    except InvalidConfig as problem:
        raise InvalidConfig(f"--set {_quoted(override)}: {problem}") from None
    if "#" in text and isinstance(value, str | None):
        value = text  # a folder's name may hold what YAML takes for a comment
    *sections, last = key.strip().split(".")
    node = tree
    for section in sections:
        child = node.get(section)
        if child is None:
            child = node[section] = {}
        if not isinstance(child, dict):
            raise InvalidConfig(f"--set {_quoted(override)}: `{section}` is a value, it has no keys below it")
        node = child
    node[last] = value


def _sentence(error: Any) -> str:
    """One line: parameter, rule, value received, what to do."""
    where = _printable(".".join(str(part) for part in error["loc"])) or "(the whole file)"
    if error["type"] == "extra_forbidden":
        return f"  {where}: is not a known setting; remove it or mend its spelling"
    if error["type"] == "missing":
        return f"  {where}: is missing; add it"
    rule = error["msg"].removeprefix("Value error, ")
    rule = _printable(rule[:1].lower() + rule[1:])
    if isinstance(error["input"], dict):
        return f"  {where}: {rule}"
    return f"  {where}: {rule} (received {_quoted(error['input'])})"


def _quoted(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + " ..."


def _printable(text: str) -> str:
    """Without characters that would move a terminal's cursor or colour its text."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
