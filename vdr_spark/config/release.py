"""A release as a person describes it: all sections together, frozen and checked. The whole of it is public.

What follows from it (ids, price, cells, places) is worked out by `vdr_spark.plan`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic import Field, model_validator

from vdr_spark.config.denoise import DenoiseSettings
from vdr_spark.config.kinds import Location, Name, SchemaName, WindowName
from vdr_spark.config.privacy import PrivacySettings
from vdr_spark.config.series import SeriesSettings
from vdr_spark.config.settings import (
    AboutSettings,
    GridSettings,
    InputSettings,
    PeriodSettings,
    RefineSettings,
    RegionSettings,
    Section,
    SparkSettings,
    SynthSettings,
)
from vdr_spark.config.windowed import check_window, settle_window
from vdr_spark.promise import Unit
from vdr_spark.storage.paths import resolve
from vdr_spark.storage.schemas import TABLE_NAMES

_SMALLEST_CELL_M = 1.0  # metres
_ROUNDING = 1e-6  # that edges computed from a side in metres may be off by
_FEWEST_CELLS = 2  # per side, as `grid.cells_per_side` has it


class ReleaseConfig(Section):
    """Everything one release needs to know."""

    name: Name = Field(description="of the release; begins its id")
    dataset: Name = Field(description="whose budget is spent: the same name for all releases of the same people")
    output: Location = Field(description="folder of the tables, statements, pictures and intermediate results")
    tables: SchemaName | None = Field(
        default=None,
        description="schema of a catalog in which the tables have names, as on Databricks; unset: they lie in `output`",
    )
    ledger: Location | None = Field(
        default=None,
        description="path of the budget's table; unset: with the others. Share one among a dataset's releases",
    )
    ledger_head: Location | None = Field(
        default=None, description="a file that remembers the ledger's last entry; unset: beside it"
    )
    single_writer: bool = Field(
        default=False,
        description="where neither lock nor conditional put keeps a second process out: this says that there is none",
    )
    input: InputSettings = Field(description="where the pings are")
    synth: SynthSettings | None = Field(default=None, description="a city to be generated there")
    region: RegionSettings | None = Field(default=None, description="the box")
    regions: dict[Name, RegionSettings] | None = Field(
        default=None, min_length=1, description="or several boxes, by name"
    )
    grid: GridSettings = Field(default=GridSettings(), description="its cells")
    period: PeriodSettings = Field(
        description="from when to when, in which slices; in a series `start` and `end` follow from the window"
    )
    series: SeriesSettings | None = Field(
        default=None, description="windows that are released one after the other; the price of each follows from it"
    )
    window: WindowName | None = Field(
        default=None, description="of a series: which window, such as `2020-W05`; `vdr release --window` says it"
    )
    correction: str | None = Field(
        default=None,
        min_length=1,
        max_length=500,
        description="of a window that is published: why it is drawn again, for those who used it; public",
    )
    privacy: PrivacySettings = Field(description="who is protected, how strongly")
    denoise: DenoiseSettings = Field(default=DenoiseSettings(), description="how noise is taken out again")
    refine: RefineSettings = Field(default=RefineSettings(), description="from kept to all pings")
    least_signal: float | None = Field(
        default=None,
        gt=0,
        description="refuse to publish a release whose noisy total is fewer deviations of its noise above zero; "
        "unset: publish it with a warning",
    )
    about: AboutSettings = Field(default=AboutSettings(), description="who publishes, what for")
    spark: SparkSettings = Field(default=SparkSettings(), description="the session")

    @model_validator(mode="before")
    @classmethod
    def _settle_window(cls, given: Any) -> Any:
        return settle_window(given) if isinstance(given, Mapping) else given

    @model_validator(mode="after")
    def _as_its_series_says(self) -> ReleaseConfig:
        check_window(self)
        return self

    @property
    def boxes(self) -> tuple[tuple[str | None, RegionSettings], ...]:
        """Names and boxes, in the order in which the noisy tensor holds them; a single one has no name."""
        return ((None, self.region),) if self.region is not None else tuple((self.regions or {}).items())

    @model_validator(mode="after")
    def _output_apart_from_the_pings(self) -> ReleaseConfig:
        if self.input.path is None:
            return self
        pings, output = resolve(self.input.path), resolve(self.output)
        if output == pings or output.startswith(pings + "/"):
            raise ValueError(
                f"`output` ({self.output}) must not lie in `input.path`: raw pings would lie beside releases"
            )
        return self

    @model_validator(mode="after")
    def _tables_apart_from_the_pings(self) -> ReleaseConfig:
        if self.input.table is None or self.tables is None:
            return self
        pings = f".{self.input.table.lower()}"
        for ours in (f".{self.tables.lower()}.{name}" for name in TABLE_NAMES):
            if ours.endswith(pings) or pings.endswith(ours):
                raise ValueError(
                    f"`input.table` ({self.input.table}) has the name of a table that is written in `tables` "
                    f"({self.tables}); name another schema, or another table in full"
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
    def _period_within_the_unit(self) -> ReleaseConfig:
        """Refuse a unit of time that the period exceeds: its price protects the part of a user that it bounds."""
        unit, days = self.privacy.promise.unit, self.period.days
        if unit is Unit.USER_DAY and days[0] != days[1]:
            raise ValueError(
                "`privacy.unit: user_day` must come with a period within one calendar day of period.timezone, because "
                f"a user is bounded once in the whole period; not {days[0]} to {days[1]}. Release each day by itself, "
                "or take `unit: user`"
            )
        if unit is Unit.USER_WEEK and days[0].isocalendar()[:2] != days[1].isocalendar()[:2]:
            raise ValueError(
                "`privacy.unit: user_week` must come with a period within one calendar week of period.timezone, Monday "
                f"to Sunday, because a user is bounded once in the whole period; not {days[0]:%A} {days[0]} to "
                f"{days[1]:%A} {days[1]}. Release each week by itself, or take `unit: user`"
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
        if self.synth is not None and self.regions is not None:
            raise ValueError("`synth` makes one city; give it a `region`, or bring your own pings for `regions`")
        return self

    @model_validator(mode="after")
    def _cells_of_a_sensible_size(self) -> ReleaseConfig:
        cells = self.grid.cells_per_side
        for name, region in self.boxes:
            height, width = region.box.side_metres
            smallest = min(height, width)
            if smallest / cells < _SMALLEST_CELL_M - _ROUNDING:
                where = f"regions.{name}" if name else "region"
                fitting = math.floor(smallest / _SMALLEST_CELL_M + _ROUNDING)
                fewer = f"at most grid.cells_per_side: {fitting}, or " if fitting >= _FEWEST_CELLS else ""
                raise ValueError(
                    f"cells must be at least {_SMALLEST_CELL_M:g} m high and wide, as no ping knows its place better, "
                    f"not {width / cells:.2g} m x {height / cells:.2g} m; give {fewer}a `{where}` of at least "
                    f"{math.ceil(cells * _SMALLEST_CELL_M)} m each way"
                )
        return self
