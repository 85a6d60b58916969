"""Settings of a release: one YAML file, frozen and validated; unknown keys are refused.

Read `conf/demo.yaml` for an example. Each class below is one section of the file. Whatever influences the
noisy tensor makes up the *draw* (`draw_id`); the rest is post-processing and, with the draw, makes up the
*release* (`release_id`). So another denoiser over the same draw is another release that costs no privacy.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

from vdr_spark.config.values import check_year, parse_count, parse_epsilon, parse_moment, parse_seconds, parse_zone
from vdr_spark.errors import InvalidConfig
from vdr_spark.grid import Box, Grid

Epsilon = Annotated[Fraction, BeforeValidator(parse_epsilon), PlainSerializer(str)]
Count = Annotated[int, BeforeValidator(parse_count)]
Seconds = Annotated[int, BeforeValidator(parse_seconds)]
Zone = Annotated[str, BeforeValidator(parse_zone)]
Moment = Annotated[datetime, BeforeValidator(parse_moment), AfterValidator(check_year)]
# Names become folder names, table values and SQL literals: nothing that needs quoting.
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
Degrees = Annotated[float, Field(allow_inf_nan=False)]
# Paths are strings, not `pathlib`: they may be s3a://, abfss:// or a Unity Catalog volume.
Location = Annotated[str, Field(min_length=1)]


WEIGHT_UNIT = 2**20  # weights of pings are whole multiples of 1 / WEIGHT_UNIT
_LARGEST_SCALE = 2**50  # beyond, noise might not fit the 64-bit integers it is stored in


class Section(BaseModel):
    """What all sections share: no unknown key, no change after reading."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class InputSettings(Section):
    """Where the pings are and what their columns mean. See `vdr_spark.data.layouts` for the names."""

    path: Location
    layout: Literal["vdr", "veraset", "gowalla", "foursquare", "cabspotting", "tdrive"] = "vdr"
    format: Literal["parquet", "delta", "csv"] | None = None  # None: the layout's own
    # Who reads: Spark, the tasks themselves (plain Parquet on a local or mounted disk, twice as fast), or what fits.
    reader: Literal["auto", "spark", "direct"] = "auto"
    columns: dict[Literal["user_id", "lat", "lon", "ts"], str] = {}  # ours: theirs
    timezone: Zone | None = None  # of timestamps that do not say; None: the layout's own, or UTC
    header: bool = True  # of CSV files in a layout of your own
    separator: str = ","


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
    cells: int = Field(default=576, ge=2, le=8192)


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
        return self

    def utc(self, moment: datetime) -> datetime:
        local = moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(self.timezone))
        return local.astimezone(UTC)


class PrivacySettings(Section):
    """Who is protected, and how strongly. Everything here is public."""

    epsilon: Epsilon
    k: Count | None = Field(default=None, ge=1)  # pings kept of each user
    lambda_: float | None = Field(default=None, alias="lambda", gt=0, le=1)  # or k = lambda * total_pings
    total_pings: Count = Field(ge=1)  # N, declared public
    budget: Epsilon | None = None  # of the dataset, granted by the first release; None: this epsilon
    bounding: Literal["sample", "weight"] = "sample"  # k of a user's pings, or all of them weighted k / n
    mechanism: Literal["discrete_laplace"] = "discrete_laplace"
    test_seed: int | None = Field(default=None, ge=0)  # seeded noise protects nobody, and the release says so

    @model_validator(mode="after")
    def _consistent(self) -> PrivacySettings:
        if (self.k is None) == (self.lambda_ is None):
            raise ValueError("give either `k` or `lambda` (k = lambda * total_pings), not both, not neither")
        if self.scale * self.unit > _LARGEST_SCALE:
            raise ValueError(
                f"k / epsilon, the scale of the noise, must be at most 2**50 units of 1 / {self.unit}, "
                f"not {float(self.scale * self.unit):.3g}"
            )
        if self.bound < 1:
            raise ValueError(f"lambda * total_pings must be at least 1, not {self.lambda_} * {self.total_pings}")
        if self.budget is not None and self.budget < self.epsilon:
            raise ValueError(f"`budget` ({self.budget}) must be at least `epsilon` ({self.epsilon})")
        return self

    @property
    def bound(self) -> int:
        """k, the number of pings kept of each user."""
        if self.k is not None:
            return self.k
        assert self.lambda_ is not None
        return round(self.lambda_ * self.total_pings)

    @property
    def scale(self) -> Fraction:
        """k / epsilon, the scale of the Laplace noise, exact."""
        return self.bound / self.epsilon

    @property
    def unit(self) -> int:
        """Counts are whole multiples of 1 / unit, and so is their noise: weighted pings are fractions of one."""
        return WEIGHT_UNIT if self.bounding == "weight" else 1

    @property
    def protected(self) -> bool:
        return self.test_seed is None


class VqvaeSettings(Section):
    """The paper's model and its training."""

    epochs: int = Field(default=60, ge=1)
    batch: int = Field(default=8, ge=1)
    learning_rate: float = Field(default=3e-4, gt=0)
    alpha: float = Field(default=1.0, ge=0)  # weight of the regularisation; near 0 is the plain autoencoder
    codes: int = Field(default=128, ge=2)
    channels: int = Field(default=64, ge=4)
    decay: float = Field(default=0.99, gt=0, lt=1)
    commitment: float = Field(default=0.25, ge=0)
    resolutions: int = Field(default=3, ge=1, le=4)  # r: slices aggregated over 1x1 .. r x r blocks
    crop: int | None = Field(default=None, ge=16)  # train on random crops of this side; None: whole slices
    checkpoint_every: int = Field(default=5, ge=1)  # epochs
    seed: int = Field(default=0, ge=0)  # of initial weights and of the order of slices, never of noise


class DenoiseSettings(Section):
    model: Literal["identity", "temporal", "vqvae"] = "temporal"
    fusion: bool = True  # combine the model's prior with the noisy counts, and give error bars
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    vqvae: VqvaeSettings = VqvaeSettings()

    @model_validator(mode="after")
    def _something_to_fuse(self) -> DenoiseSettings:
        if self.model == "identity" and self.fusion and "fusion" in self.model_fields_set:
            raise ValueError("`fusion: true` needs a model; `identity` has no prior to combine the counts with")
        return self

    @property
    def fused(self) -> bool:
        return self.fusion and self.model != "identity"


class RefineSettings(Section):
    """From the pings kept to all pings: the paper's `gamma`, or `ratio`, plain N / n."""

    method: Literal["gamma", "ratio"] = "ratio"
    concentration: float = Field(default=5e-5, gt=0, le=1)  # C, the sum of squared cell shares


class SparkSettings(Section):
    """How a session is built where none exists yet."""

    # maven: delta-spark's helper fetches them once. provided: they are on the class path. Or a list of jars.
    delta_jars: Literal["maven", "provided"] | list[Location] = "maven"
    driver_memory: str | None = Field(default=None, pattern=r"^\d+[mg]$")  # None: a share of this machine
    conf: dict[str, str] = {}


class ReleaseConfig(Section):
    """Everything one release needs to know."""

    name: Name
    dataset: Name  # whose budget is spent
    output: Location  # folder of the tables, pictures and intermediate results
    ledger: Location | None = None  # the budget book; None: in `output`. Share one among a dataset's releases
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
    spark: SparkSettings = SparkSettings()

    @model_validator(mode="after")
    def _output_apart_from_the_pings(self) -> ReleaseConfig:
        pings, output = absolute(self.input.path).rstrip("/"), absolute(self.output).rstrip("/")
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
            Grid(region.box, self.grid.cells, start, self.period.slice, slices) for region in regions if region
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
        parts = {"input", "region", "grid", "period", "privacy", "dataset"}
        settings = self.model_dump(mode="json", include=parts)
        if self.regions is not None:
            # As a list: the order of regions is that of the tensor's layers.
            settings["region"] = [[name, region.model_dump(mode="json")] for name, region in self.regions.items()]
        del settings["privacy"]["budget"]
        del settings["input"]["path"], settings["input"]["reader"]
        paths = {"input": absolute(self.input.path), "output": absolute(self.output)}
        return f"{self.name}-{_digest(settings | {'paths': paths})[:10]}"

    @property
    def release_id(self) -> str:
        """Identifies what is published: a draw and how it was denoised and refined."""
        settings: dict[str, Any] = {
            "model": self.denoise.model,
            "fused": self.denoise.fused,
            "refine": self.refine.method,
        }
        # Only what the release is made with: settings of a model that is not used make no difference.
        if self.regions is not None:
            settings["region"] = list(self.regions)[self._place]
        if self.denoise.model == "vqvae":
            settings["vqvae"] = self.denoise.vqvae.model_dump(mode="json")
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
        noise = 3 * float(self.privacy.scale) * (2 * sum(grid.size for grid in self.grids)) ** 0.5
        if noise > self.privacy.total_pings:
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


def absolute(location: str) -> str:
    """A location that means the same from any working directory."""
    return location if "://" in location else str(Path(location).absolute())


def _digest(settings: dict[str, Any]) -> str:
    canonical = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
