"""One release: all its sections together, and what they say about it. The whole of it is public.

Whatever influences the noisy tensor makes up the *draw* (`draw_id`); the rest is post-processing and, with the draw,
makes up the *release* (`release_id`). So another denoiser over the same draw is another release that costs no privacy.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from vdr_spark.config.privacy import PrivacySettings
from vdr_spark.config.settings import (
    AboutSettings,
    DenoiseSettings,
    GridSettings,
    InputSettings,
    Location,
    Name,
    PeriodSettings,
    RefineSettings,
    RegionSettings,
    Section,
    SparkSettings,
    SynthSettings,
)
from vdr_spark.errors import InvalidConfig
from vdr_spark.grid import Grid

_DENOISING = 2  # raised when the same settings come to give another release


@dataclass(frozen=True)
class Draw:
    """One drawing of noise, as it is booked."""

    draw_id: str
    epsilon: Fraction
    purpose: str  # cells, or total
    digest: str  # of every setting that makes it what it is; its id shows the beginning of it


class ReleaseConfig(Section):
    """Everything one release needs to know."""

    name: Name
    dataset: Name  # whose budget is spent
    output: Location  # folder of the tables, pictures and intermediate results
    ledger: Location | None = None  # the budget book; None: in `output`. Share one among a dataset's releases
    witness: Location | None = None  # a file that remembers how far the book was written; None: beside it
    input: InputSettings
    synth: SynthSettings | None = None
    region: RegionSettings | None = None
    regions: dict[Name, RegionSettings] | None = Field(default=None, min_length=1)  # or several, by name
    focus: Name | None = Field(default=None, exclude=True)  # of several regions, the one to look at
    grid: GridSettings = GridSettings()
    period: PeriodSettings
    privacy: PrivacySettings
    denoise: DenoiseSettings = DenoiseSettings()
    refine: RefineSettings = RefineSettings()
    about: AboutSettings = AboutSettings()
    spark: SparkSettings = SparkSettings()

    @model_validator(mode="after")
    def _output_apart_from_the_pings(self) -> ReleaseConfig:
        if self.input.path is None:
            return self
        pings, output = (_without_detours(location) for location in (self.input.path, self.output))
        if output == pings or output.startswith(pings + "/"):
            raise ValueError(
                f"`output` ({self.output}) must not lie in `input.path`: raw pings would lie beside releases"
            )
        return self

    @model_validator(mode="after")
    def _seeds_are_for_generated_pings(self) -> ReleaseConfig:
        if not self.privacy.protected and self.synth is None:
            raise ValueError(
                "`privacy.test_seed` is for generated pings (a section `synth`): seeded noise hides nobody"
            )
        return self

    @model_validator(mode="after")
    def _regions_apart(self) -> ReleaseConfig:
        if (self.region is None) == (self.regions is None):
            raise ValueError("give either `region`, one box, or `regions`, several boxes by name")
        named = list((self.regions or {}).items())
        for number, (name, region) in enumerate(named):
            for other, box in named[:number]:
                if region.box.overlaps(box.box):
                    raise ValueError(
                        f"regions `{other}` and `{name}` overlap: a ping in both would count twice, and break the "
                        "bound of k. Move them apart, or make them one"
                    )
        if self.focus is not None and self.focus not in dict(named):
            raise ValueError(f"`focus` must name one of the regions ({', '.join(dict(named)) or 'none'}): {self.focus}")
        if self.synth is not None and self.regions is not None:
            raise ValueError("`synth` makes one city; give it a `region`, or bring your own pings for `regions`")
        return self

    @property
    def grids(self) -> tuple[Grid, ...]:
        """The cells of every region, in the order in which the noisy tensor holds them."""
        start, end = self.period.utc(self.period.start), self.period.utc(self.period.end)
        slices = round((end - start).total_seconds()) // self.period.slice
        regions = [self.region] if self.region is not None else list((self.regions or {}).values())
        return tuple(
            Grid(region.box, self.grid.cells_per_side, start, self.period.slice, slices) for region in regions if region
        )

    def views(self) -> list[ReleaseConfig]:
        """What later stages work on: this configuration, or one for each of its regions."""
        if self.regions is None or self.focus is not None:
            return [self]
        return [self.model_copy(update={"focus": name}) for name in self.regions]

    @property
    def domain(self) -> Grid:
        """The cells of the one region, or of the one in focus."""
        return self.grids[self._place]

    @property
    def first_layer(self) -> int:
        """The noisy tensor's layer that is slice 0 of the region: slices of one region follow those of another."""
        return self._place * self.domain.slices

    @property
    def _place(self) -> int:
        if self.regions is None:
            return 0
        if self.focus is None:
            names = ", ".join(self.regions)
            raise InvalidConfig(f"focus: this release has several regions ({names}); name one, as in --set focus=...")
        return list(self.regions).index(self.focus)

    @property
    def draw_id(self) -> str:
        """Identifies one drawing of noise: equal exactly when the same noisy tensor may be used again.

        Where the tensor is kept is part of it: a tensor in another folder is another draw, and is paid for.
        """
        return f"{self.name}-{self._draw_digest[:10]}"

    @property
    def _draw_digest(self) -> str:
        settings = self._about_pings() | self.model_dump(mode="json", include={"grid", "privacy"})
        del settings["privacy"]["budget"], settings["privacy"]["cap"]
        if self.privacy.estimate_total is None:
            del settings["privacy"]["estimate_total"]
        return _digest(settings)

    @property
    def total_id(self) -> str:
        """Identifies the drawing that estimates N. One is enough for all draws over the same pings at that price."""
        return f"{self.dataset}-total-{self._total_digest[:10]}"

    @property
    def _total_digest(self) -> str:
        assert self.privacy.estimate_total is not None
        settings = self._about_pings() | {
            "most_per_user": self.privacy.estimate_total.most_per_user,
            "epsilon": str(self.privacy.total_epsilon),
            "test_seed": self.privacy.test_seed,
        }
        return _digest(settings)

    def _about_pings(self) -> dict[str, Any]:
        """Which pings are counted, and where what is made of them is kept."""
        settings = self.model_dump(mode="json", include={"input", "region", "period", "dataset"})
        if self.regions is not None:
            # As a list: the order of regions is that of the tensor's layers.
            settings["region"] = [[name, region.model_dump(mode="json")] for name, region in self.regions.items()]
        del settings["input"]["path"], settings["input"]["reader"], settings["input"]["deterministic"]
        pings = absolute(self.input.path) if self.input.path is not None else None
        return settings | {"paths": {"input": pings, "output": absolute(self.output)}}

    @property
    def draws(self) -> tuple[Draw, ...]:
        """Everything that is drawn over the pings, in order; their epsilons add up to the release's."""
        cells = Draw(self.draw_id, self.privacy.cells_epsilon, "cells", self._draw_digest)
        if self.privacy.estimate_total is None:
            return (cells,)
        return Draw(self.total_id, self.privacy.total_epsilon, "total", self._total_digest), cells

    def with_total(self, total: int) -> ReleaseConfig:
        """The same configuration once N has been estimated."""
        return self.model_copy(update={"privacy": self.privacy.with_total(total)})

    @property
    def release_id(self) -> str:
        """Identifies what is published: a draw and how it was denoised and refined."""
        settings: dict[str, Any] = {
            "denoising": _DENOISING,
            "model": self.denoise.model,
            "fused": self.denoise.fused,
            "refine": self.refine.method,
        }
        # Only what the release is made with: settings of a model that is not used make no difference.
        if self.regions is not None:
            settings["region"] = list(self.regions)[self._place]
        if self.denoise.model == "auto":
            settings["tried"] = self.denoise.tried
        for model, trained in self.denoise.trained.items():
            settings[model] = trained.model_dump(mode="json")
        if self.refine.method == "gamma":
            settings["concentration"] = self.refine.concentration
        return f"{self.draw_id}-{_digest(settings)[:6]}"

    @property
    def configuration_hash(self) -> str:
        return _digest(self.model_dump(mode="json"))

    def cautions(self) -> list[str]:
        """What a careful reader should know before running this: warnings, not refusals."""
        found = []
        if self.privacy.epsilon > 10:
            found.append(f"epsilon = {float(self.privacy.epsilon):g} is a weak promise; below 10 is good practice.")
        if not self.privacy.protected:
            found.append("privacy.test_seed is set: the noise can be computed by anyone. Protects nobody.")
        noise = self._noise_of_all_cells() if self.privacy.total_is_known else 0
        if self.privacy.total_is_known and noise > self.privacy.total:
            found.append(
                f"the noise of all cells together may exceed {noise:.3g} pings, more than privacy.total_pings: the "
                "release will say little. Fewer cells, a smaller k or a larger epsilon would help."
            )
        if self.ledger is None:
            found.append(
                "ledger: not set, so the budget book lies in `output` and another output folder starts another book. "
                "Name one ledger for all releases of a dataset."
            )
        return found

    def _noise_of_all_cells(self) -> float:
        """Three standard deviations of their sum."""
        return 3 * float(self.privacy.scale) * math.sqrt(2 * sum(grid.size for grid in self.grids))


def absolute(location: str) -> str:
    """A location that means the same from any working directory; a plain path where it is on this machine."""
    plain = re.sub(r"^file:(//)?(?=/)", "", location)
    return plain if "://" in plain else str(Path(plain).absolute())


def _without_detours(location: str) -> str:
    """Where a location really is, as far as this machine knows: links followed, `..` resolved."""
    place = absolute(location)
    return place.rstrip("/") if "://" in place else os.path.realpath(place)


def _digest(settings: dict[str, Any]) -> str:
    canonical = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
