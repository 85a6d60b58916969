"""A release as a person describes it: all sections together, frozen and checked. The whole of it is public.

What follows from it (ids, price, cells, places) is worked out by `vdr_spark.plan`.
"""

from __future__ import annotations

from pydantic import Field, model_validator

from vdr_spark.config.denoise import DenoiseSettings
from vdr_spark.config.privacy import PrivacySettings
from vdr_spark.config.settings import (
    AboutSettings,
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
from vdr_spark.storage.paths import resolve


class ReleaseConfig(Section):
    """Everything one release needs to know."""

    name: Name
    dataset: Name  # whose budget is spent
    output: Location  # folder of the tables, pictures and intermediate results
    ledger: Location | None = None  # table of the budget; None: in `output`. Share one among a dataset's releases
    ledger_head: Location | None = None  # a file that remembers the ledger's last entry; None: beside it
    # On a store without locks a second process cannot be kept out; this declares that there never is one.
    single_writer: bool = False
    input: InputSettings
    synth: SynthSettings | None = None
    region: RegionSettings | None = None
    regions: dict[Name, RegionSettings] | None = Field(default=None, min_length=1)  # or several, by name
    grid: GridSettings = GridSettings()
    period: PeriodSettings
    privacy: PrivacySettings
    denoise: DenoiseSettings = DenoiseSettings()
    refine: RefineSettings = RefineSettings()
    about: AboutSettings = AboutSettings()
    spark: SparkSettings = SparkSettings()

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
        if self.synth is not None and self.regions is not None:
            raise ValueError("`synth` makes one city; give it a `region`, or bring your own pings for `regions`")
        return self
