"""The pings of an experiment: which file or city, how large, how finely cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from vdr_spark.errors import InvalidConfig
from vdr_spark.experiments.location_data import PRESETS, Data, Preset, generate_pings, read_pings
from vdr_spark.experiments.numbers import positive, whole
from vdr_spark.grid import Grid


@dataclass(frozen=True)
class Place:
    """A preset, and how it is changed; without a file it is generated."""

    preset: str = "demo"
    path: str | None = None  # of real pings
    cells: int | None = None  # along each side; None: the preset's
    days: int | None = None  # from the preset's start; None: its period
    slices: int | None = None  # that the period is cut into; None: of the preset's length
    pings: int | None = None  # expected, where they are generated
    sigma_cells: float | None = None  # the paper's mixture of Gaussians of that deviation, in place of a city
    share: float | None = None  # of the users

    @classmethod
    def of(cls, settings: Mapping[str, Any], path: str | None) -> Place:
        """Return the place of a section `data`. What only generated pings have is left out where there is a file."""
        known = {name: value for name, value in settings.items() if path is None or name not in _GENERATED}
        unknown = sorted(set(known) - set(cls.__dataclass_fields__))
        if unknown or "path" in settings:
            raise InvalidConfig(f"data.{(unknown or ['path'])[0]}: unknown; known are {', '.join(_NAMES)}")
        place = cls(path=path, **{name: _read(name, value) for name, value in known.items()})
        place.check()
        return place

    def check(self) -> None:
        """Refuse what cannot be had, before anything is read."""
        if self.preset not in PRESETS:
            raise InvalidConfig(f"--preset: must be one of {', '.join(PRESETS)}, not {self.preset!r}")
        if self.path is None and self.base.city is None:
            raise InvalidConfig(
                f"--preset {self.preset} is of a real file: name it by --input; "
                f"generated are {', '.join(name for name, preset in PRESETS.items() if preset.city)}"
            )
        if self.slices is not None and self.period_seconds % self.slices:
            raise InvalidConfig(
                f"data.slices: the period of {self.period_seconds} s must be a whole number of slices, not "
                f"{self.slices} of them"
            )
        if self.share is not None and (not self.are_users or not 0 < self.share <= 1):
            raise InvalidConfig(f"data.share: must be above 0, at most 1, and of users, not {self.share}")

    @property
    def base(self) -> Preset:
        """The preset as it is."""
        return PRESETS[self.preset]

    @property
    def are_users(self) -> bool:
        """Whether users are protected, and not pings."""
        return self.base.users != "none"

    @property
    def period_seconds(self) -> int:
        return 86_400 * self.days if self.days is not None else 3600 * self.base.hours * self.base.slices

    @property
    def grid(self) -> Grid:
        """The cells."""
        base, slice_seconds = self.base, 3600 * self.base.hours
        slices = self.slices or max(1, self.period_seconds // slice_seconds)
        if self.slices is not None:
            slice_seconds = self.period_seconds // slices
        return Grid(base.box, self.cells or base.cells, base.start, slice_seconds, slices)

    def load(self) -> Data:
        """Read or generate the pings."""
        if self.path is not None:
            data = read_pings(Path(self.path), self.grid, self.base.users)
        else:
            assert self.base.city is not None
            pings, sigma = self.pings or self.base.city.pings, self.sigma_cells
            data = generate_pings(replace(self.base.city, pings=pings, sigma_cells=sigma), self.grid)
        return data if self.share is None else data.only_share(self.share)

    def identify(self) -> dict[str, Any]:
        """Return what tells these pings from others: a file by its name, size and time, wherever it lies."""
        identity = {name: value for name, value in asdict(self).items() if value is not None}
        if self.path is not None:
            path = Path(self.path)
            files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
            identity["path"] = [[file.name, file.stat().st_size, file.stat().st_mtime_ns] for file in files]
        return identity

    def describe(self) -> str:
        """Return a few words for a person."""
        grid = self.grid
        size = f"{grid.cells_per_side} x {grid.cells_per_side} x {grid.slices} cells"
        if self.path is not None:
            return f"{Path(self.path).name} ({self.preset}), {size}"
        assert self.base.city is not None
        kind = "a generated city" if self.sigma_cells is None else "a mixture of 50 Gaussians"
        return f"{kind} ({self.preset}) of about {self.pings or self.base.city.pings:,} pings, {size}"


def _read(name: str, value: Any) -> Any:
    """Return a number of the section as a number; refuse what none is."""
    if value is None or name not in (*_WHOLE, *_POSITIVE):
        return value
    return whole(f"data.{name}", value, _WHOLE[name]) if name in _WHOLE else positive(f"data.{name}", value)


_WHOLE = {"cells": 2, "days": 1, "slices": 1, "pings": 1}  # and the least that makes sense
_POSITIVE = ("sigma_cells", "share")
_GENERATED = ("pings", "sigma_cells")
_NAMES = [name for name in Place.__dataclass_fields__ if name != "path"]
