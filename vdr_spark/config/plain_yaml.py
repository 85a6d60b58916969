"""YAML as a configuration needs it: a page of words, numbers and dates, read in no time whoever wrote it.

Everything that lets a small text grow, hide or do something is refused with a sentence: aliases, anchors, merge keys,
tags, repeated keys, keys that are no words, values nested or long without end.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml

from vdr_spark.errors import InvalidConfig

_DEEPEST = 20  # levels; the deepest setting stands on the fourth
_LONGEST = 1024  # characters of a value; Python takes long numbers apart slowly, and from 4300 digits on not at all
_WORD = "tag:yaml.org,2002:str"


def parse_plain_yaml(text: str) -> Any:
    """The value that `text` stands for. Raises `yaml.YAMLError` for what is no YAML, `InvalidConfig` for the rest."""
    return yaml.load(text, _PlainLoader)  # a SafeLoader, and less


class _PlainLoader(yaml.SafeLoader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        line = f"line {event.start_mark.line + 1}"
        if event.anchor is not None:  # of an alias too
            raise InvalidConfig(f"{line}: YAML anchors and aliases (&name, *name) are not allowed; write the value out")
        if getattr(event, "tag", None) is not None:
            raise InvalidConfig(f"{line}: YAML tags (!name) are not allowed; write the value alone")
        if len(getattr(event, "value", "")) > _LONGEST:
            raise InvalidConfig(f"{line}: a value is longer than {_LONGEST} characters, which no setting is")
        if self._depth == _DEEPEST:
            raise InvalidConfig(f"{line}: values are nested more than {_DEEPEST} levels deep, which no setting is")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            line = f"line {key.start_mark.line + 1}"
            if key.tag != _WORD:  # `<<`, which merges, is none either
                which = f"`{key.value}`" if isinstance(key, yaml.ScalarNode) else "of several values"
                raise InvalidConfig(f"{line}: a key {which} is no word; put it in quotes if it is meant as one")
            if key.value in seen:
                raise InvalidConfig(f"{line}: the key `{key.value}` stands twice")
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, OverflowError):  # 2020-13-45 looks like a date
            raise InvalidConfig(f"line {node.start_mark.line + 1}: `{node.value}` is no date or number") from None
