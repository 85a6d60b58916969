"""An experiment from its configuration to its files: CSV, PNG, and a paragraph of what is seen."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from pathlib import Path

import yaml

from vdr_spark.errors import InvalidConfig
from vdr_spark.experiments.location_data import PRESETS
from vdr_spark.experiments.numbers import positive, whole
from vdr_spark.experiments.pictures import plot_curves, plot_panels_of_slices
from vdr_spark.experiments.runner import Done, plan_points, rows_of, run_points
from vdr_spark.experiments.settings import Experiment, Sweep
from vdr_spark.experiments.tables import Line, summarise, to_csv
from vdr_spark.experiments.words import describe
from vdr_spark.progress import Progress
from vdr_spark.storage.files import read_text, require_writable, write_json, write_text

SIZES = ("full", "quick")


@dataclass(frozen=True)
class Wish:
    """What a person asks for: which experiment, on which pings, how large, where to."""

    name: str
    size: str = "full"
    path: str | None = None  # of real pings; None: a generated city
    preset: str | None = None  # None: the experiment's own
    cells: int | None = None  # along each side; None: the experiment's, or the preset's
    draws: int | None = None  # None: the experiment's own
    epsilon: tuple[float, ...] = ()  # in place of the experiment's
    methods: tuple[str, ...] = ()  # likewise
    assignments: tuple[str, ...] = ()  # name=value in YAML: settings that all points share
    output: str | None = None
    record: str | None = None  # a folder that gets table, paragraph and record too

    @property
    def stem(self) -> str:
        """The name of the files: that of the experiment, with the preset where one is named, and the quick size."""
        parts = (Path(self.name).stem, self.preset, "quick" if self.size == "quick" else None)
        return "-".join(part for part in parts if part)

    @property
    def folder(self) -> str:
        """Where the files go."""
        return self.output or f"out/experiments/{self.stem}"

    @property
    def command(self) -> str:
        """The command that does this again, with files by their names alone."""
        options = [
            *([] if self.path is None else ["--input", Path(self.path).name]),
            *([] if self.preset is None else ["--preset", self.preset]),
            *([] if self.size == "full" else ["--size", self.size]),
            *([] if self.cells is None else ["--cells", str(self.cells)]),
            *(part for method in self.methods for part in ("--method", method)),
            *(part for epsilon in self.epsilon for part in ("--epsilon", f"{epsilon:g}")),
            *(part for assignment in self.assignments for part in ("--set", assignment)),
            *([] if self.draws is None else ["--draws", str(self.draws)]),
        ]
        return " ".join(["vdr experiment", self.name, *options])


@dataclass(frozen=True)
class Outcome:
    """The files that were written, and the paragraph."""

    files: list[str]
    text: str
    lines: list[Line]


def choose_sweep(experiment: Experiment, wish: Wish) -> Sweep:
    """Return what is swept, on which pings. Refuses what does not fit together."""
    _check_wish(wish)
    preset = wish.preset or experiment.full.data.get("preset", "demo")
    if preset not in PRESETS:
        raise InvalidConfig(f"--preset: must be one of {', '.join(PRESETS)}, not {preset!r}")
    sweep = experiment.sized(wish.size, PRESETS[preset].users != "none")
    if wish.preset is not None and wish.size == "full":  # the preset's own size, not that of the experiment's city
        own = {name: of for name, of in sweep.data.items() if name not in ("cells", "pings")}
        sweep = sweep.model_copy(update={"data": own})
    data = {"preset": preset}
    fixed = dict(_read_assignment(of) for of in wish.assignments)
    # What is swept stays an axis of the picture, with the one value that is asked for.
    swept = {name: [fixed.pop(name)] for name in list(fixed) if name in sweep.sweep} | _swept(wish)
    data |= {name.removeprefix("data."): fixed.pop(name) for name in list(fixed) if name.startswith("data.")}
    data |= {} if wish.cells is None else {"cells": whole("--cells", wish.cells, 2)}
    return sweep.changed_by(Sweep(data=data, sweep=swept)).changed_by(Sweep(fixed=fixed))


def _check_wish(wish: Wish) -> None:
    if wish.size not in SIZES:
        raise InvalidConfig(f"--size: must be {' or '.join(SIZES)}, not {wish.size!r}")
    if wish.path is not None and wish.preset is None:
        raise InvalidConfig(
            f"--preset must be given with --input: it says where and when the pings are; one of {', '.join(PRESETS)}"
        )
    if wish.path is not None and not Path(wish.path).exists():
        raise InvalidConfig(f"--input: there is no file or folder {wish.path}")
    if wish.draws is not None and wish.draws < 1:
        raise InvalidConfig(f"--draws: must be at least 1, not {wish.draws}")


def _swept(wish: Wish) -> dict[str, list[object]]:
    """Return what options put in place of what the experiment sweeps."""
    exact = dict.fromkeys(positive("--epsilon", of) for of in wish.epsilon)  # named twice is no second draw
    swept: dict[str, list[object]] = {"epsilon": [int(of) if of.is_integer() else of for of in exact]} if exact else {}
    return swept | ({"method": list(dict.fromkeys(wish.methods))} if wish.methods else {})


def _read_assignment(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    try:
        read = yaml.safe_load(value)
    except yaml.YAMLError:
        read = None
    if not name or not equals or read is None:
        raise InvalidConfig(f"--set: must be NAME=VALUE, with the value as in YAML, as k=13, not {text!r}")
    return name, read


def run_experiment(experiment: Experiment, wish: Wish, progress: Progress) -> Outcome:
    """Do what is not done yet of an experiment, and write its files anew."""
    sweep, draws = choose_sweep(experiment, wish), wish.draws or experiment.draws
    points = plan_points(experiment, sweep, wish.path, draws)
    require_writable(wish.folder, "--output")
    if wish.record is not None:
        require_writable(wish.record, "--record")
    found = run_points(experiment, sweep, points, wish.folder, progress, f"experiment {wish.stem}")
    return write_outcome(experiment, wish, found, draws)


def write_outcome(experiment: Experiment, wish: Wish, found: list[Done], draws: int) -> Outcome:
    """Write table, picture, paragraph, and a record of how they came about."""
    lines, stem = summarise(rows_of(found)), posixpath.join(wish.folder, wish.stem)
    place = _describe_places(found)
    text = describe(experiment, lines, place, draws)
    files = [f"{stem}.csv", f"{stem}.png", f"{stem}.md", f"{stem}.json"]
    write_text(files[0], to_csv(lines))
    plot_curves(experiment, lines, files[1])
    write_text(files[2], text)
    about = [{"swept": dict(done.point.swept), "draw": done.point.draw, **done.about} for done in found]
    record = {
        "experiment": Path(wish.name).stem,
        "command": wish.command,
        "place": place,
        "draws": draws,
        "about": about,
    }
    write_json(files[3], record)
    if wish.record is not None:
        for path in (files[0], files[2], files[3]):
            write_text(posixpath.join(wish.record, posixpath.basename(path)), read_text(path))
    if plot_panels_of_slices(experiment, found, f"{stem}-slices.png"):
        files.append(f"{stem}-slices.png")
    return Outcome(files, text, lines)


def _describe_places(found: list[Done]) -> str:
    """Return which pings, in a few words; of several, the first."""
    places = list(dict.fromkeys(done.point.place for done in found))
    first = places[0].describe()
    return first if len(places) == 1 else f"{first} (the first of {len(places)}, which the table tells apart)"
