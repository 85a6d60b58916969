"""The configuration of an experiment: what is swept, over which pings, and what is shown of it."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from vdr_spark.config.file import read_tree
from vdr_spark.config.sentences import describe_errors
from vdr_spark.config.settings import Section
from vdr_spark.errors import InvalidConfig

FOLDER = Path("conf/experiments")
_Measure = Literal["ranges", "cells", "hotspots", "forecasts"]


class PlotSettings(Section):
    """What the picture shows: figures over x, a line for each kind, a panel for each of something else."""

    x: str = Field(description="a setting or what was asked")
    lines: list[str] = Field(default=[], description="what tells lines apart")
    panels: str | None = Field(default=None, description="what tells panels apart, beside the figures")
    figures: list[str] = Field(min_length=1, description="what is plotted, each in a panel of its own")
    where: dict[str, Any] = Field(default={}, description="only rows with these values, where they have such")


class Sweep(Section):
    """Settings by name: of the release (method, epsilon, k, ...), of `data.` and of `denoise.`; swept, or fixed."""

    data: dict[str, Any] = Field(default={}, description="the pings: preset, cells, days, slices, pings, ...")
    fixed: dict[str, Any] = Field(default={}, description="settings that all points share")
    sweep: dict[str, list[Any]] = Field(default={}, description="settings with several values; all combinations")
    options: dict[str, Any] = Field(default={}, description="of the measures and of the kind of point")

    def changed_by(self, other: Sweep) -> Sweep:
        """Return the sweep with what another one says in its place; a setting is swept or fixed, as said last."""
        fixed = {name: value for name, value in self.fixed.items() if name not in other.sweep}
        sweep = {name: values for name, values in self.sweep.items() if name not in other.fixed}
        return Sweep(
            data=self.data | other.data,
            fixed=fixed | other.fixed,
            sweep=sweep | other.sweep,
            options=self.options | other.options,
        )

    @property
    def combinations(self) -> list[dict[str, Any]]:
        """All settings, with those of the pings slowest: reading or generating them takes longest."""
        names = sorted(self.sweep, key=lambda name: not name.startswith("data."))
        values = (self.sweep[name] for name in names)
        return [self.fixed | dict(zip(names, of, strict=True)) for of in product(*values)]


class Experiment(Section):
    """One experiment, in a full and in a quick size."""

    title: str = Field(description="what the picture is called")
    question: str = Field(description="what is to be seen, as a question")
    point: Literal["release", "out_of_sample", "split", "refinement"] = Field(
        default="release", description="what a point does"
    )
    measures: list[_Measure] = Field(default=["ranges"], min_length=1, description="what is measured")
    users_only: bool = Field(default=False, description="makes sense only where users are protected, not pings")
    draws: int = Field(default=3, ge=1, description="of the noise")
    full: Sweep = Field(description="the size for the record")
    event_level: Sweep = Field(default=Sweep(), description="what differs where every ping is protected for itself")
    quick: Sweep = Field(description="what differs in the size of seconds")
    plot: PlotSettings = Field(description="the picture")

    def sized(self, size: str, are_users: bool) -> Sweep:
        """Return the sweep of a size, `full` or `quick`, for pings whose users are protected or not."""
        sweep = self.full if size == "full" else self.full.changed_by(self.quick)
        if are_users:
            return sweep
        event = self.event_level
        if size == "quick":
            ends = {name: list(dict.fromkeys((values[0], values[-1]))) for name, values in event.sweep.items()}
            event = event.model_copy(update={"sweep": ends})
        return sweep.changed_by(event)


def list_experiments(folder: Path = FOLDER) -> dict[str, Experiment]:
    """Return all experiments of a folder by name."""
    return {path.stem: load_experiment(path.stem, folder) for path in sorted(folder.glob("*.yaml"))}


def load_experiment(name: str, folder: Path = FOLDER) -> Experiment:
    """Return an experiment by its name in the folder, or by the path of its YAML file."""
    path = Path(name) if name.endswith((".yaml", ".yml")) else folder / f"{name}.yaml"
    if not path.is_file():
        if not folder.is_dir():
            raise InvalidConfig(f"there is no folder {folder} here; go to where it is, or name a YAML file")
        names = ", ".join(sorted(found.stem for found in folder.glob("*.yaml")))
        raise InvalidConfig(f"an experiment must be one of {names}, or a YAML file, not {name!r}")
    try:
        return Experiment.model_validate(read_tree(path))
    except ValidationError as problem:
        raise InvalidConfig(f"{path} is not a valid experiment:\n{describe_errors(problem)}") from None
