"""What a page may ask with: every parameter by name, once, in bounds. Everything else is refused with a sentence."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from urllib.parse import parse_qsl

from vdr_spark.errors import InvalidQuery
from vdr_spark.grid import Box

MOST_CHARACTERS = 1000
_ID = re.compile(r"[\w.\-]{1,100}", re.ASCII)
_WHOLE = re.compile(r"-?\d{1,9}", re.ASCII)
_EDGES = ("south", "west", "north", "east")


@dataclass(frozen=True)
class Parameters:
    """The parameters of one request, as text."""

    values: dict[str, str]

    @classmethod
    def parse(cls, query: str, allowed: tuple[str, ...]) -> Parameters:
        """Read the part of a URL behind the question mark; refuse what is unknown, twice there, or too long."""
        if len(query) > MOST_CHARACTERS:
            raise InvalidQuery(f"parameters must have at most {MOST_CHARACTERS} characters, not {len(query)}")
        try:
            pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), max_num_fields=20)
        except ValueError:
            raise InvalidQuery("parameters must be written as name=value&name=value; correct the address") from None
        names = [name for name, _ in pairs]
        for name in names:
            if name not in allowed:
                raise InvalidQuery(f"parameters must be among {', '.join(allowed)}, not {name[:40]!r}; leave it out")
            if names.count(name) > 1:
                raise InvalidQuery(f"{name} must be given once, not {names.count(name)} times")
        return cls(dict(pairs))

    def has(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str) -> str:
        """Return a parameter that must be there."""
        if name not in self.values:
            raise InvalidQuery(f"{name} must be given; add {name}=... to the address")
        return self.values[name]

    def identifier(self, name: str) -> str:
        """Return the id of a release."""
        found = self.text(name)
        if not _ID.fullmatch(found):
            raise InvalidQuery(f"{name} must be the id of a release, letters and digits, not {found[:40]!r}")
        return found

    def whole(self, name: str, least: int, most: int) -> int:
        """Return a whole number in bounds, both included."""
        found = self.text(name)
        if not _WHOLE.fullmatch(found):
            raise InvalidQuery(f"{name} must be a whole number, not {found[:40]!r}")
        number = int(found)
        if not least <= number <= most:
            raise InvalidQuery(f"{name} must be {least} to {most}, not {number}; choose one in that range")
        return number

    def number(self, name: str, least: float = -math.inf, most: float = math.inf) -> float:
        """Return a finite number in bounds, both included."""
        found = self.text(name)
        try:
            number = float(found)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or len(found) > 40:
            raise InvalidQuery(f"{name} must be a number, not {found[:40]!r}")
        if not least <= number <= most:
            raise InvalidQuery(f"{name} must be {least:g} to {most:g}, not {number:g}; choose one in that range")
        return number

    def one_of(self, name: str, choices: tuple[str, ...]) -> str:
        """Return one of a few words."""
        found = self.text(name)
        if found not in choices:
            raise InvalidQuery(f"{name} must be one of {', '.join(choices)}, not {found[:40]!r}")
        return found

    def box(self) -> Box:
        """Return the box of the four edges; whether it lies in the release, the library checks."""
        return Box(*(self.number(edge, -360, 360) for edge in _EDGES))
