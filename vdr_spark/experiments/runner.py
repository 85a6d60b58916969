"""Runs the points of an experiment, each once: what is done lies in a file of its own and is not done again.

A point's file is named by a hash of all it depends on: the pings, the settings, what is measured, the draw, and the
version of this package. It is there whole or not at all, so a run that was killed goes on where it was; a damaged one
is made anew. Code that was changed without a new version is not noticed: remove the folder `points` then.
"""

from __future__ import annotations

import hashlib
import json
import logging
import posixpath
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

from vdr_spark import __version__
from vdr_spark.errors import EnvironmentProblem, InvalidConfig, VdrError
from vdr_spark.experiments.checks import check_settings
from vdr_spark.experiments.measures import Row, Truth
from vdr_spark.experiments.places import Place
from vdr_spark.experiments.points import POINTS, Found, Question
from vdr_spark.experiments.settings import Experiment, Sweep
from vdr_spark.progress import Progress
from vdr_spark.storage.files import exists, filesystem, read_json, write_json

logger = logging.getLogger(__name__)

_OF_DATA = "data."


@dataclass(frozen=True)
class Point:
    """One combination of settings and one draw of the noise."""

    place: Place
    settings: Mapping[str, Any]  # without those of the pings
    swept: Mapping[str, Any]  # what tells it from the other points
    draw: int

    def identify(self, experiment: Experiment, sweep: Sweep) -> str:
        """Return the name of its file."""
        depends_on = {
            "version": __version__,
            "point": experiment.point,
            "measures": experiment.measures,
            "options": sweep.options,
            "place": self.place.identify(),
            "settings": self.settings,
            "draw": self.draw,
        }
        return hashlib.sha256(json.dumps(depends_on, sort_keys=True, default=str).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Done:
    """A point that is done."""

    point: Point
    rows: list[Row]
    about: dict[str, float]
    panels: dict[str, Any]  # slices to be looked at, (M, M) each


def plan_points(experiment: Experiment, sweep: Sweep, path: str | None, draws: int) -> list[Point]:
    """Return all points, those of the same pings and the same draw together. Refuses what cannot be done."""
    points = []
    if path is not None and "data.sigma_cells" in sweep.sweep:
        raise InvalidConfig("this experiment is about generated hills of a width, so --input has no meaning in it")
    for settings in sweep.combinations:
        data = {name.removeprefix(_OF_DATA): of for name, of in settings.items() if name.startswith(_OF_DATA)}
        place = Place.of(sweep.data | data, path)
        if experiment.users_only and not place.are_users:
            raise InvalidConfig(
                f"this experiment is about bounding users, and in the preset {place.preset} every ping is protected "
                "for itself; choose a preset with users, such as demo, tdrive_users or cabspotting_users"
            )
        others = {name: of for name, of in settings.items() if not name.startswith(_OF_DATA)}
        swept = {name: of for name, of in settings.items() if name in sweep.sweep}
        with _naming(swept):
            check_settings(others, place)
        points += [Point(place, others, swept, draw) for draw in range(draws)]
    places = list(dict.fromkeys(point.place for point in points))
    return sorted(points, key=lambda point: (places.index(point.place), point.draw))


def run_points(
    experiment: Experiment, sweep: Sweep, points: list[Point], folder: str, progress: Progress, title: str
) -> list[Done]:
    """Return what all points found, of which those that are not done yet are done now."""
    stems = [posixpath.join(folder, "points", point.identify(experiment, sweep)) for point in points]
    found = {stem: done for point, stem in zip(points, stems, strict=True) if (done := _read(point, stem))}
    left, truths = {stem: point for point, stem in zip(points, stems, strict=True) if stem not in found}, _Truths()
    with progress.task(title, len(left)) as update:  # of what is left, or the time to go would be told too short
        for number, (stem, point) in enumerate(left.items()):
            update(number, f"point {len(points) - len(left) + number + 1} of {len(points)}")
            _run(experiment, sweep, point, truths, stem)
            found[stem] = _read_again(point, stem)
        update(len(left), "")
    return [found[stem] for stem in stems]


class _Truths:
    """The truth that the last points had, since reading or generating it takes long."""

    def __init__(self) -> None:
        self._key: tuple[Place, int | None] | None = None
        self._truth: Truth | None = None

    def of(self, point: Point) -> Truth:
        days = point.settings.get("judged_days")
        slices = None if days is None else round(days * point.place.grid.slices_per_day)
        if self._truth is None or self._key is None or self._key[0] != point.place:
            self._truth = Truth(point.place.load(), slices)
        elif self._key[1] != slices:
            self._truth = Truth(self._truth.data, slices)
        self._key = point.place, slices
        return self._truth


@contextmanager
def _naming(swept: Mapping[str, Any]) -> Iterator[None]:
    """Say of what goes wrong inside the block which point it is about."""
    try:
        yield
    except VdrError as problem:
        settings = ", ".join(f"{name} {value}" for name, value in swept.items())
        raise type(problem)(f"{settings or 'the only point'}: {problem}") from None


def _run(experiment: Experiment, sweep: Sweep, point: Point, truths: _Truths, stem: str) -> None:
    """Do a point and write its files, that of the figures last."""
    truth, began = truths.of(point), time.perf_counter()
    question = Question(point.place, truth, point.settings, experiment.measures, sweep.options, point.draw)
    with _naming(point.swept):
        found: Found = POINTS[experiment.point](question)
    seconds = {"measure": "time", "seconds": round(time.perf_counter() - began, 3)}
    if found.panels:
        _write_panels(f"{stem}.safetensors", found.panels)
    content = {"swept": dict(point.swept), "draw": point.draw, "rows": [*found.rows, seconds], "about": found.about}
    write_json(f"{stem}.json", content)


def _read(point: Point, stem: str) -> Done | None:
    """Return what the files of a point hold; None where there are none, or damaged ones: that point is done again."""
    path, panels = f"{stem}.json", {}
    if not exists(path):
        return None
    try:
        content = read_json(path)
        if exists(f"{stem}.safetensors"):
            fs, inside = filesystem(f"{stem}.safetensors")
            panels = safetensors.numpy.load(fs.cat_file(inside))
        return Done(point, [dict(row) for row in content["rows"]], dict(content["about"]), panels)
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as problem:
        logger.warning("%s is damaged (%s), so its point is done again", path, type(problem).__name__)
        return None


def _read_again(point: Point, stem: str) -> Done:
    done = _read(point, stem)
    if done is None:
        raise EnvironmentProblem(f"{stem}.json was written and cannot be read; remove it, and run the same again")
    return done


def _write_panels(path: str, panels: dict[str, Any]) -> None:
    fs, inside = filesystem(path)
    fs.makedirs(posixpath.dirname(inside), exist_ok=True)
    content = safetensors.numpy.save({name: np.ascontiguousarray(panel) for name, panel in panels.items()})
    fs.pipe_file(inside, content)  # read only if the figures' file is there, which is written later


def rows_of(found: list[Done]) -> Iterator[Row]:
    """Yield every row with the settings and the draw that it is of."""
    for done in found:
        for row in done.rows:
            yield {**done.point.swept, **row, "draw": done.point.draw}
