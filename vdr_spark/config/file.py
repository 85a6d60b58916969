"""From a YAML file and `--set` overrides to a `ReleaseConfig`, or to a sentence that says what is wrong."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from vdr_spark.config.release import ReleaseConfig
from vdr_spark.errors import InvalidConfig

_LARGEST_FILE = 1 << 20  # bytes; a configuration is a page


class _PlainLoader(yaml.SafeLoader):
    """YAML without aliases (they let a small file grow without bound) and without repeated keys."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise InvalidConfig(f"line {self.line + 1}: YAML aliases (*name) are not allowed; write the value out")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise InvalidConfig(f"line {key.start_mark.line + 1}: the key `{key.value}` stands twice")
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> ReleaseConfig:
    """Read and validate a configuration. An override is `section.key=value`, its value written as in YAML."""
    tree = _read_tree(Path(path))
    for override in overrides:
        _override(tree, override)
    try:
        return ReleaseConfig.model_validate(tree)
    except ValidationError as problem:
        lines = [_sentence(error) for error in problem.errors()]
        raise InvalidConfig(f"{path} is not a valid configuration:\n" + "\n".join(lines)) from None


def _read_tree(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise InvalidConfig(f"{path} is larger than 1 MiB, which no configuration is")
        tree = yaml.load(path.read_text(encoding="utf-8"), _PlainLoader)  # a SafeLoader
    except FileNotFoundError:
        raise InvalidConfig(f"there is no configuration file {path}; examples are in conf/") from None
    except (OSError, UnicodeDecodeError) as problem:
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
        raise InvalidConfig(f"--set takes section.key=value, such as grid.cells=288, not {override!r}")
    try:
        value = yaml.load(text, _PlainLoader)
    except yaml.YAMLError:
        value = text
    if "#" in text and isinstance(value, str | None):
        value = text  # a folder's name may hold what YAML takes for a comment
    *sections, last = key.strip().split(".")
    node = tree
    for section in sections:
        child = node.get(section)
        if child is None:
            child = node[section] = {}
        if not isinstance(child, dict):
            raise InvalidConfig(f"--set {override}: `{section}` is a value, it has no keys below it")
        node = child
    node[last] = value


def _sentence(error: Any) -> str:
    """One line: parameter, rule, value received, what to do."""
    where = ".".join(str(part) for part in error["loc"]) or "(the whole file)"
    if error["type"] == "extra_forbidden":
        return f"  {where}: is not a known setting; remove it or mend its spelling"
    if error["type"] == "missing":
        return f"  {where}: is missing; add it"
    rule = error["msg"].removeprefix("Value error, ")
    rule = rule[:1].lower() + rule[1:]
    if isinstance(error["input"], dict):
        return f"  {where}: {rule}"
    return f"  {where}: {rule} (received {error['input']!r})"
