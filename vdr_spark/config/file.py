"""From a YAML file and `--set` overrides to a `ReleaseConfig`, or to a sentence that says what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from vdr_spark.config.plain_yaml import parse_plain_yaml
from vdr_spark.config.release import ReleaseConfig
from vdr_spark.config.sentences import describe_errors, quote
from vdr_spark.errors import InvalidConfig

_MAX_BYTES = 1 << 16  # bytes; a configuration is a page


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> ReleaseConfig:
    """Read and validate a configuration. An override is `section.key=value`, its value written as in YAML."""
    return validate(read_settings(path, overrides), path)


def read_settings(path: str | Path, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Read a configuration with its overrides as it is written; nothing is validated yet."""
    tree = read_tree(Path(path))
    for override in overrides:
        _override(tree, override)
    return tree


def validate(tree: dict[str, Any], path: str | Path) -> ReleaseConfig:
    """Return settings as a configuration, or say what is wrong with those of a file."""
    try:
        return ReleaseConfig.model_validate(tree)
    except ValidationError as problem:
        raise InvalidConfig(f"{path} is not a valid configuration:\n{describe_errors(problem)}") from None


def read_tree(path: Path) -> dict[str, Any]:
    """Read a YAML file of `key: value` lines, or say why it is none."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)  # no more, whatever it is: /dev/zero has no end
    except FileNotFoundError:
        raise InvalidConfig(f"there is no configuration file {path}; examples are in conf/") from None
    except (OSError, ValueError) as problem:
        raise InvalidConfig(f"the configuration file {path} cannot be read: {problem}") from None
    if len(content) > _MAX_BYTES:
        raise InvalidConfig(f"{path} is larger than {_MAX_BYTES >> 10} KiB, which no configuration is")
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
        raise InvalidConfig(f"--set takes section.key=value, such as grid.cells_per_side=288, not {quote(override)}")
    try:
        value = parse_plain_yaml(text)
    except yaml.YAMLError:
        value = text
    except InvalidConfig as problem:
        raise InvalidConfig(f"--set {quote(override)}: {problem}") from None
    if "#" in text and isinstance(value, str | None):
        value = text  # a folder's name may hold what YAML takes for a comment
    *sections, last = key.strip().split(".")
    node = tree
    for section in sections:
        child = node.get(section)
        if child is None:
            child = node[section] = {}
        if not isinstance(child, dict):
            raise InvalidConfig(f"--set {quote(override)}: `{section}` is a value, it has no keys below it")
        node = child
    node[last] = value
