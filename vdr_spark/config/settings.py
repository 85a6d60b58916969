"""The sections of a release's YAML file, frozen and validated; unknown keys are refused.

Read `conf/demo.yaml` for an example. `config.release` puts them together.
"""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    model_validator,
)

from vdr_spark.config.sentences import describe_errors
from vdr_spark.config.values import check_year, parse_count, parse_epsilon, parse_moment, parse_seconds, parse_zone
from vdr_spark.errors import InvalidConfig
from vdr_spark.grid import Box

Epsilon = Annotated[Fraction, BeforeValidator(parse_epsilon), PlainSerializer(str)]
Count = Annotated[int, BeforeValidator(parse_count)]
Seconds = Annotated[int, BeforeValidator(parse_seconds)]
Zone = Annotated[str, BeforeValidator(parse_zone)]
Moment = Annotated[datetime, BeforeValidator(parse_moment), AfterValidator(check_year)]
# Names become folder names, table values and SQL literals: nothing that needs quoting.
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
Degrees = Annotated[float, Field(allow_inf_nan=False)]
# Paths are strings, not `pathlib`: they may be s3a://, abfss:// or a Unity Catalog volume.
# No backticks: Delta writes a table's path between them, as it is, into SQL.
Location = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f`]+$")]


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
    path: Location | None = None
    table: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,255}(\.[A-Za-z0-9_-]{1,255}){0,2}$")] | None = None
    dataframe: Name | None = None
    layout: Literal["vdr", "veraset", "gowalla", "foursquare", "cabspotting", "tdrive"] = "vdr"
    format: Literal["parquet", "delta", "csv"] | None = None  # None: the layout's own
    # Who reads: Spark, the tasks themselves (plain Parquet on a local or mounted disk, twice as fast), or what fits.
    reader: Literal["auto", "spark", "direct"] = "auto"
    columns: dict[Literal["user_id", "lat", "lon", "ts"], str] = {}  # ours: theirs
    timezone: Zone | None = None  # of timestamps that do not say; None: the layout's own, or UTC
    header: bool = True  # of CSV files in a layout of your own
    separator: str = ","
    # A person vouches that the plan behind a table or DataFrame gives the same rows whenever it is computed, and that
    # each user's rows depend on that user's own.
    trust_plan: bool = False

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

    kind: Literal["city", "mixture"] = "city"
    seed: int = Field(default=1, ge=0)
    pings: Count = Field(default=1_000_000, ge=1)  # expected number; users follow from the law below
    # Pings per user: p(n) ~ (n + shift) ** -exponent for n = 1 .. cutoff.
    exponent: float = Field(default=2.5, gt=1, le=6)
    shift: float = Field(default=50.0, ge=0)
    cutoff: Count = Field(default=90_000, ge=1, le=10_000_000)
    # The mixture: components on a 9 x 9 x 9 lattice of the domain, deviation in cells.
    components: int = Field(default=50, ge=1, le=729)
    sigma_cells: float = Field(default=8.0, gt=0)
    weights: Literal["equal", "dirichlet"] = "equal"


class RegionSettings(Section):
    """The published box: either `center` and `side_m`, or the four edges in degrees."""

    center: tuple[Degrees, Degrees] | None = None
    side_m: float | None = Field(default=None, gt=0, le=1_000_000)
    south: Degrees | None = None
    west: Degrees | None = None
    north: Degrees | None = None
    east: Degrees | None = None

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
    cells_per_side: int = Field(default=576, ge=2, le=8192)


class PeriodSettings(Section):
    """The published period, cut into slices of equal length. The end is not part of it."""

    start: Moment
    end: Moment
    slice: Seconds = 10_800
    timezone: Zone = "UTC"  # of `start` and `end` where they carry none

    @model_validator(mode="after")
    def _whole_slices(self) -> PeriodSettings:
        length = (self.utc(self.end) - self.utc(self.start)).total_seconds()
        if length <= 0:
            raise ValueError(f"`end` must come after `start`, not {self.start} .. {self.end}")
        if length % self.slice:
            raise ValueError(
                f"the period must be a whole number of slices: {length:.0f} s is not a multiple of {self.slice} s"
            )
        if length // self.slice > _MAX_SLICES:
            raise ValueError(f"the period must have at most {_MAX_SLICES} slices, not {length // self.slice:.0f}")
        return self

    def utc(self, moment: datetime) -> datetime:
        local = moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(self.timezone))
        return local.astimezone(UTC)


class RefineSettings(Section):
    """From the pings kept to all pings: `calibrated`, the paper's `gamma`, or `ratio`, plain N / n."""

    method: Literal["calibrated", "gamma", "ratio"] = "calibrated"
    concentration: float = Field(default=5e-5, gt=0, le=1)  # C, the sum of squared cell shares


class AboutSettings(Section):
    """Who publishes, and what for: said in the privacy statement, used for nothing else."""

    curator: str = "not stated"
    curator_type: str = "not stated"  # the registry's words: Company, Government, Academic, Nonprofit
    intended_use: str = "not stated"
    region: str = "not stated"  # in words
    sector: str = "not stated"


class SparkSettings(Section):
    """How a session is built where none exists yet."""

    # maven: delta-spark's helper fetches them once. provided: they are on the class path. Or a list of jars.
    delta_jars: Literal["maven", "provided"] | list[Location] = "maven"
    driver_memory: str | None = Field(default=None, pattern=r"^[0-9]+[mg]$")  # None: a share of this machine
    encryption: bool = True  # of shuffle and spill files, which hold exact data, under a key that lives in memory
    conf: dict[str, str] = {}
