"""What a location written by a person means: on this machine, in an object store, from any working directory."""

from __future__ import annotations

import os
import re
from pathlib import Path

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def absolute(location: str) -> str:
    """Return a location that means the same from any working directory; a plain path where it is on this machine."""
    plain = re.sub(r"^file:(//)?(?=/)", "", location)
    return str(Path(plain).absolute()) if is_local(plain) else plain


def resolve(location: str) -> str:
    """Return where a location really is, as far as this machine knows: links followed, `..` resolved."""
    place = absolute(location)
    return os.path.realpath(place) if is_local(place) else place.rstrip("/")


def is_local(location: str) -> bool:
    """Whether a location is a path of this machine, and not the URI of a store elsewhere: s3://b/x, dbfs:/x."""
    return _URI.match(location) is None
