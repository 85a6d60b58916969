"""From a request to a response, without a socket: every address there is, with the parameters it takes."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from importlib.resources import files
from urllib.parse import urlsplit

from vdr_spark.errors import InvalidQuery, StageMissing, VdrError, Withdrawn
from vdr_spark.explore import snippets
from vdr_spark.explore.answers import (
    LEAST_DENSITY,
    MOST_DENSITY,
    MOST_HORIZON,
    Json,
    count_box,
    describe,
    find_hotspot,
    follow_box,
    tell_difference,
)
from vdr_spark.explore.backdrop import Line, pack_lines
from vdr_spark.explore.guard import Guard
from vdr_spark.explore.parameters import Parameters
from vdr_spark.explore.payload import LAYERS, pack, picture
from vdr_spark.explore.shelf import FolderShelf, Shelf
from vdr_spark.release.release import Release

logger = logging.getLogger(__name__)

JSON, BINARY = "application/json; charset=utf-8", "application/octet-stream"
_STATIC = {
    "": ("index.html", "text/html; charset=utf-8"),
    "explorer.js": ("explorer.js", "text/javascript; charset=utf-8"),
    "explorer.css": ("explorer.css", "text/css; charset=utf-8"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
}
_BOX = ("south", "west", "north", "east")


@dataclass(frozen=True)
class Response:
    """What is sent back."""

    status: int
    kind: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Site:
    """What one server shows, and to whom."""

    shelf: Shelf
    guard: Guard
    backdrop: list[Line] | None = None
    shown: threading.Event = field(default_factory=threading.Event)  # set once a slice was sent

    def respond(self, method: str, target: str, headers: Mapping[str, str]) -> Response:
        """Answer a request; `headers` have their names in lower case. It never raises."""
        if method not in ("GET", "HEAD"):
            return self._refuse(405, f"the method must be GET, not {method[:20]}", {"Allow": "GET, HEAD"})
        try:
            address = urlsplit(target) if target.startswith("/") and not target.startswith("//") else None
        except ValueError:
            address = None
        if address is None:
            return self._refuse(400, "the address must be a path of this page")
        if (refusal := self.guard.refuse(address.path, headers)) is not None:
            return self._refuse(refusal.status, refusal.sentence)
        return self._answer("/".join(address.path.split("/")[2:]), address.query)

    def _answer(self, name: str, query: str) -> Response:
        try:
            if name in _STATIC:
                return self._static(*_STATIC[name])
            if name.removeprefix("api/") in ROUTES and name.startswith("api/"):
                allowed, route = ROUTES[name.removeprefix("api/")]
                return self._send(route(self, Parameters.parse(query, allowed)))
            return self._refuse(404, f"there is nothing at {name[:80]!r}; open the address without it")
        except InvalidQuery as problem:
            return self._refuse(400, str(problem))
        except (StageMissing, Withdrawn) as problem:
            return self._refuse(410, str(problem))
        except VdrError as problem:
            return self._refuse(500, str(problem))
        except OSError as problem:
            return self._refuse(500, f"the release's files cannot be read ({problem.strerror}); restore them")
        except Exception:
            logger.exception("a request to the explorer failed")
            return self._refuse(500, "this is a defect of ours; the terminal of `vdr explore` has the details")

    def _static(self, name: str, kind: str) -> Response:
        body = (files("vdr_spark.explore") / "static" / name).read_bytes()
        return Response(HTTPStatus.OK, kind, body, self.guard.headers)

    def _send(self, content: Json | bytes) -> Response:
        if isinstance(content, bytes):
            return Response(HTTPStatus.OK, BINARY, content, self.guard.headers)
        body = json.dumps(content, allow_nan=False).encode()
        return Response(HTTPStatus.OK, JSON, body, self.guard.headers)

    def _refuse(self, status: int, sentence: str, more: dict[str, str] | None = None) -> Response:
        body = json.dumps({"error": sentence}).encode()
        return Response(status, JSON, body, self.guard.headers | (more or {}))

    def release(self, given: Parameters, name: str = "release") -> Release:
        """Return the release that a request names."""
        return self.shelf.open(given.identifier(name))


def _meta(site: Site, given: Parameters) -> Json:
    chosen = given.identifier("release") if given.has("release") else site.shelf.first
    release = site.shelf.open(chosen)
    found = describe(release, site.shelf.entries(), site.backdrop is not None)
    if isinstance(site.shelf, FolderShelf):
        site.shelf.warm(chosen)
    return found


def _alive(site: Site, given: Parameters) -> Json:
    """Say whether a release is still there, and in force: a page that nobody touches asks now and then."""
    return {"release": site.release(given).release_id}


def _slice(site: Site, given: Parameters) -> bytes:
    release = site.release(given)
    layer, factor = given.one_of("layer", LAYERS), given.whole("factor", 1, 1 << 20)
    content = pack(picture(release, _number(release, given), layer, factor))
    site.shown.set()
    return content


def _box(site: Site, given: Parameters) -> Json:
    release, box = site.release(given), given.box()
    found = count_box(release, box, _number(release, given))
    if not given.has("other"):
        return found
    other = site.release(given, "other")
    before = count_box(other, box, _number(other, given, "other_t"))
    return found | {"other": before, "difference": tell_difference(found, before)}


def _series(site: Site, given: Parameters) -> Json:
    return follow_box(site.release(given), given.box(), given.whole("horizon", 1, MOST_HORIZON))


def _hotspot(site: Site, given: Parameters) -> Json:
    release, place = site.release(given), _place(given)
    return find_hotspot(release, *place, _number(release, given), given.number("density", LEAST_DENSITY, MOST_DENSITY))


def _lines(site: Site, given: Parameters) -> Json:
    release = site.release(given)
    number, has_box, has_place = _number(release, given), given.has("south"), given.has("lat")
    snippets.refuse_mixed(has_box, has_place)
    if has_box:
        return snippets.show_box(release, given.box(), number)
    if has_place:
        density = given.number("density", LEAST_DENSITY, MOST_DENSITY)
        return snippets.show_hotspot(release, *_place(given), number, density)
    return snippets.show_slice(release, number)


def _backdrop(site: Site, given: Parameters) -> bytes:
    release = site.release(given)
    if site.backdrop is None:
        raise InvalidQuery("there is no backdrop; start `vdr explore` with --backdrop FILE.geojson")
    return pack_lines(site.backdrop, release.grid.box)


def _number(release: Release, given: Parameters, name: str = "t") -> int:
    return given.whole(name, 0, release.grid.slices - 1)


def _place(given: Parameters) -> tuple[float, float]:
    return given.number("lat", -90, 90), given.number("lon", -360, 360)


Route = Callable[[Site, Parameters], Json | bytes]
ROUTES: dict[str, tuple[tuple[str, ...], Route]] = {
    "meta": (("release",), _meta),
    "alive": (("release",), _alive),
    "slice": (("release", "t", "layer", "factor"), _slice),
    "box": (("release", "t", *_BOX, "other", "other_t"), _box),
    "series": (("release", *_BOX, "horizon"), _series),
    "hotspot": (("release", "t", "lat", "lon", "density"), _hotspot),
    "lines": (("release", "t", *_BOX, "lat", "lon", "density"), _lines),
    "backdrop": (("release",), _backdrop),
}
"""Addresses below `api/`: the parameters that each takes, and what answers it."""
