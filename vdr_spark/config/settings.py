"""The sections of a release's YAML file, frozen and validated; unknown keys are refused.

Read `conf/demo.yaml` for an example. `config.release` puts them together.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from vdr_spark.config.kinds import Count, Degrees, Jars, Location, Memory, Moment, Name, Seconds, TableName, Zone
from vdr_spark.config.sentences import describe_errors
from vdr_spark.errors import InvalidConfig
from vdr_spark.grid import Box
from vdr_spark.sum_errors import Users

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)  # which has no public name

_MAX_SLICES = 1_000_000  # a year has 105 408 of five minutes


class _Told(ModelMetaclass):
    """Makes `Section(...)` in Python answer mistakes in the sentences that a YAML file gets."""

    def __call__(cls, *args: Any, **values: Any) -> Any:
        try:
            return super().__call__(*args, **values)
        except ValidationError as problem:
            raise InvalidConfig(f"{cls.__name__} is not valid:\n{describe_errors(problem)}") from None


class Section(BaseModel, metaclass=_Told):
    """What all sections share: no unknown key, no change after reading."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class InputSettings(Section):
    """Where the pings are and what their columns mean. See `vdr_spark.pings.layouts` for the names."""

    # One of the three. A DataFrame has no identity of its own, so whoever hands it over, in Python, gives it a name.
    path: Location | None = Field(default=None, description="file or folder of pings; or `table`, or `dataframe`")
    table: TableName | None = Field(default=None, description="table or view of pings, in full: catalog.schema.table")
    dataframe: Name | None = Field(default=None, description="a name for the DataFrame that is handed over in Python")
    layout: Literal["vdr", "veraset", "gowalla", "foursquare", "cabspotting", "tdrive"] = Field(
        default="vdr", description="known data set whose columns and times these are; a layout of your own is `vdr`"
    )
    format: Literal["parquet", "delta", "csv"] | None = Field(
        default=None, description="how files are stored; unset: as the layout has it"
    )
    reader: Literal["auto", "spark", "direct"] = Field(
        default="auto",
        description="who reads: Spark, the tasks themselves (plain Parquet or Delta on a disk or in S3, twice as "
        "fast), or what fits",
    )
    columns: dict[Literal["user_id", "lat", "lon", "ts"], str] = Field(
        default={}, description="your columns for ours, as `{user_id: device, ts: seen_at}`"
    )
    timezone: Zone | None = Field(
        default=None, description="of the pings' times that carry none; unset: the layout's own, or UTC"
    )
    header: bool = Field(default=True, description="whether CSV files in a layout of your own have one")
    separator: str = Field(default=",", description="between the fields of CSV files")
    trust_plan: bool = Field(
        default=False,
        description="you vouch that the plan behind a table or DataFrame gives the same rows whenever it is computed, "
        "and that each user's rows depend on that user's own",
    )

    @model_validator(mode="after")
    def _one_place(self) -> InputSettings:
        given = [name for name in ("path", "table", "dataframe") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                "give one of `path` (files), `table` (by its name) and `dataframe` (a name for the one you hand over "
                f"in Python), not {' and '.join(f'`{name}`' for name in given) or 'none'}"
            )
        return self

    @model_validator(mode="after")
    def _settings_fit_the_place(self) -> InputSettings:
        if self.path is not None:
            if self.trust_plan:
                raise ValueError("`trust_plan` is said of the plan behind a `table` or `dataframe`, not of a `path`")
            return self
        of_files = {
            "format": self.format is not None,
            "header": not self.header,
            "separator": self.separator != ",",
            "reader: direct": self.reader == "direct",
            "layout: cabspotting": self.layout == "cabspotting",  # whose users are in the names of files
        }
        unfit = [name for name, given in of_files.items() if given]
        if unfit:
            raise ValueError(
                f"`{unfit[0]}` is about files, and the pings come from {self.location}; remove it, or give a `path`"
            )
        return self

    @property
    def location(self) -> str:
        """Where the pings come from, in words for messages."""
        if self.path is not None:
            return f"path {self.path}"
        return f"table {self.table}" if self.table is not None else f"DataFrame {self.dataframe}"


class SynthSettings(Section):
    """A generated city, or the paper's Gaussian mixture, written to `input.path` by `vdr synth`."""

    kind: Literal["city", "mixture"] = Field(default="city", description="a city, or the paper's Gaussian mixture")
    seed: int = Field(default=1, ge=0, description="another seed, another city")
    pings: Count = Field(default=1_000_000, ge=1, description="expected number; users follow from the law below")
    exponent: float = Field(
        default=2.5, gt=1, le=6, description="pings per user: p(n) ~ (n + shift) ** -exponent for n = 1 .. cutoff"
    )
    shift: float = Field(default=50.0, ge=0, description="of that law")
    cutoff: Count = Field(default=90_000, ge=1, le=10_000_000, description="of that law: nobody has more pings")
    components: int = Field(
        default=50, ge=1, le=729, description="of the mixture, on a 9 x 9 x 9 lattice of box and period"
    )
    sigma_cells: float = Field(default=8.0, gt=0, description="of the mixture: a component's deviation, in cells")
    weights: Literal["equal", "dirichlet"] = Field(default="equal", description="of the mixture's components")


class RegionSettings(Section):
    """The published box: either `center` and `side_m`, or the four edges in degrees."""

    center: tuple[Degrees, Degrees] | None = Field(default=None, description="latitude and longitude of the middle")
    side_m: float | None = Field(default=None, gt=0, le=1_000_000, description="length of a side, in metres")
    south: Degrees | None = Field(default=None, description="southern edge, instead of `center` and `side_m`")
    west: Degrees | None = Field(default=None, description="western edge")
    north: Degrees | None = Field(default=None, description="northern edge, not part of the box")
    east: Degrees | None = Field(default=None, description="eastern edge, not part of the box")

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> RegionSettings:
        edges = (self.south, self.west, self.north, self.east)
        by_center = self.center is not None and self.side_m is not None
        by_edges = all(edge is not None for edge in edges)
        if by_center == by_edges or (by_center and any(edge is not None for edge in edges)):
            raise ValueError("give either `center` and `side_m`, or all of `south, west, north, east`")
        box = self.box
        if not (-90 <= box.south < box.north <= 90):
            raise ValueError(f"latitudes must satisfy -90 <= south < north <= 90, not {box.south}, {box.north}")
        if not (-180 <= box.west < box.east <= 180):
            raise ValueError(
                f"longitudes must satisfy -180 <= west < east <= 180, not {box.west}, {box.east}; "
                "a box across the date line is published as two releases"
            )
        return self

    @property
    def box(self) -> Box:
        if self.center is not None and self.side_m is not None:
            return Box.around(*self.center, self.side_m)
        assert self.south is not None
        assert self.west is not None
        assert self.north is not None
        assert self.east is not None
        return Box(self.south, self.west, self.north, self.east)


class GridSettings(Section):
    """How finely the box is cut."""

    cells_per_side: int = Field(default=576, ge=2, le=8192, description="M: the box is cut into M x M cells")


class PeriodSettings(Section):
    """The published period, cut into slices of equal length. The end is not part of it."""

    start: Moment = Field(description="first moment")
    end: Moment = Field(description="first moment after it")
    slice: Seconds = Field(default=10_800, description="length of a slice; the period is a whole number of them")
    timezone: Zone = Field(
        default="UTC", description="of `start` and `end` where they carry none, and of the times in answers"
    )

    @model_validator(mode="after")
    def _whole_slices(self) -> PeriodSettings:
        length = (self.utc(self.end) - self.utc(self.start)).total_seconds()
        if length <= 0:
            raise ValueError(f"`end` must come after `start`, not {self.start} .. {self.end}")
        if self.slice > length:
            raise ValueError(f"`slice` ({self.slice} s) must not be longer than the period ({length:.0f} s)")
        if length % self.slice:
            raise ValueError(
                f"the period must be a whole number of slices: {length:.0f} s is not a multiple of {self.slice} s"
                f"{self._explain_clocks()}"
            )
        if length // self.slice > _MAX_SLICES:
            raise ValueError(f"the period must have at most {_MAX_SLICES} slices, not {length // self.slice:.0f}")
        return self

    def _explain_clocks(self) -> str:
        """Return what to do where the slices would fit but for a change of clocks; nothing elsewhere."""
        if self.start.tzinfo is not None or self.end.tzinfo is not None:
            return ""
        by_the_clock = (self.end - self.start).total_seconds()
        if by_the_clock % self.slice:
            return ""
        return f". A change of clocks in {self.timezone} lies in it: slices of 1h fit, or a period in UTC"

    @property
    def days(self) -> tuple[date, date]:
        """The first and the last calendar day that it touches, in its time zone."""
        zone, last = ZoneInfo(self.timezone), self.utc(self.end) - timedelta(microseconds=1)
        return self.utc(self.start).astimezone(zone).date(), last.astimezone(zone).date()

    def utc(self, moment: datetime) -> datetime:
        local = moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(self.timezone))
        return local.astimezone(UTC)


class RefineSettings(Section):
    """From the pings kept to all pings: `calibrated`, the paper's `gamma`, or `ratio`, plain N / n."""

    method: Literal["calibrated", "gamma", "ratio"] = Field(
        default="calibrated", description="`calibrated` after fusion; `gamma` is the paper's, for a tensor with noise"
    )
    concentration: float = Field(
        default=5e-5, gt=0, le=1, description="of `gamma`: C, the sum of squared shares of the cells"
    )
    users: Users = Field(
        default="people",
        description="who has more than k pings: `people`, who come back to few places, or `vehicles`, which roam. "
        "Error bars widen by what may be missing of one user in one place",
    )


class AboutSettings(Section):
    """Who publishes, and what for: said in the privacy statement, used for nothing else."""

    curator: str = Field(default="not stated", description="who publishes")
    curator_type: str = Field(
        default="not stated", description="in the registry's words: Company, Government, Academic, Nonprofit"
    )
    intended_use: str = Field(default="not stated", description="what for")
    region: str = Field(default="not stated", description="where, in words")
    sector: str = Field(default="not stated", description="such as Transportation")


class SparkSettings(Section):
    """How a session is built where none exists yet."""

    delta_jars: Jars = Field(
        default="maven", description="where Delta's jars come from: fetched once, on the class path, or these files"
    )
    driver_memory: Memory | None = Field(default=None, description="unset: a third of this machine")
    encryption: bool = Field(
        default=True, description="of shuffle and spill files, which hold exact data, under a key that lives in memory"
    )
    conf: dict[str, str] = Field(default={}, description="Spark's own settings, as `{spark.executor.cores: '4'}`")
