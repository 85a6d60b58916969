"""A release as an object: the released cells with their grid, their promise, and the answers they give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np

from vdr_spark.arrays import Floats, Slices
from vdr_spark.config.values import parse_zone
from vdr_spark.errors import EnvironmentProblem, InvalidQuery
from vdr_spark.grid import Box, Grid
from vdr_spark.promise import Promise
from vdr_spark.query import (
    DenseHotspot,
    Forecast,
    Hotspot,
    RangeCount,
    RangeCounts,
    box_series,
    forecast,
    nearest_dense_hotspot,
    nearest_hotspot,
    range_count,
    range_counts,
)
from vdr_spark.query.dense_hotspot import EXTENT_M
from vdr_spark.query.range_counts import Boxes, Moments
from vdr_spark.query.summed_areas import SummedAreas
from vdr_spark.query.wording import format_moment
from vdr_spark.release.cell_source import EVERYTHING, CellSource, Part
from vdr_spark.sum_errors import SumErrors

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    import xarray as xr
    from pyspark.sql import DataFrame, SparkSession

    from vdr_spark.progress import Progress
    from vdr_spark.release.withdrawals import Withdrawal
    from vdr_spark.report.canvas import Picture
    from vdr_spark.report_page import ShownReport


def zone_of(statement: Mapping[str, Any]) -> ZoneInfo:
    """Return the time zone that a statement names; UTC where it names none."""
    try:
        return ZoneInfo(parse_zone(statement["exact"]["timezone"]))
    except (KeyError, TypeError, ValueError):
        return ZoneInfo("UTC")


def describe_bound(bound: int, statement: Mapping[str, Any]) -> str:
    """Return in words what was kept of a user: pings, or counts of a norm where the statement says so."""
    if statement.get("exact", {}).get("bounding") == "l2":
        return f"counts of an L2 norm of at most {bound:,}"
    return f"at most {bound:,} pings"


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """What was published. `counts` estimate the pings of all users; `deviation` is one standard deviation.

    Everything it answers is computed from released cells alone, so it costs no privacy, however often it is asked.
    Moments without a time zone are read in that of the release, `zone`, and answers are given in it.
    """

    release_id: str
    grid: Grid
    cells: CellSource  # counts and deviations; see `counts`, `deviation`, `part`
    protected: bool  # false: made with a test seed, protects nobody
    epsilon: Fraction  # privacy loss of the draw behind it; see `promise`, which says to whom, and at which delta
    k: int  # the bound of each user: pings kept, or a norm of counts
    dataset: str  # whose budget was spent
    created: datetime  # UTC
    model: str  # the denoiser
    statement: dict[str, Any]  # the privacy statement
    region: str | None = None  # name of its box, where the draw has several
    estimated_rmse: float | None = None  # of a cell's kept pings, from the noisy tensor alone; None: too small to tell
    sum_errors: SumErrors | None = None  # how far sums of cells are off, where the denoiser could tell
    output: str | None = None  # the folder it was read from; None: made in memory
    tables: str | None = None  # the schema in which its tables have names, where they are not in that folder
    withdrawal: Withdrawal | None = None  # since when and why it is not to be used any more, where it was withdrawn

    @cached_property
    def _all(self) -> tuple[Slices, Slices | None]:
        return self.cells.read(EVERYTHING)

    @property
    def counts(self) -> Slices:
        """All counts, which are read when they are first asked for. (T, M, M)"""
        return self._all[0]

    @property
    def deviation(self) -> Slices | None:
        """All error bars, one standard deviation, where the model gives them. (T, M, M)"""
        return self._all[1]

    def part(self, part: Part) -> tuple[Slices, Slices | None]:
        """Return counts and error bars of some slices, rows and columns; of what is on disk, little else is read."""
        if "_all" in vars(self):
            counts, deviation = self._all
            return counts[part], None if deviation is None else deviation[part]
        return self.cells.read(part)

    @cached_property
    def zone(self) -> ZoneInfo:
        """The time zone in which its period was written, as its statement has it; UTC where that says none."""
        return zone_of(self.statement)

    @property
    def promise(self) -> Promise:
        """What is promised to whom: an epsilon, exact where it is pure, else rounded up and at a delta."""
        return Promise.read(self.epsilon, self.statement)

    def range_count(self, box: Box, start: datetime | None = None, end: datetime | None = None) -> RangeCount:
        """Count the pings of a box between two moments; without moments, of the whole period."""
        answer = range_count(self, box, start and self._in_zone(start), end and self._in_zone(end))
        return replace(answer, start=answer.start.astimezone(self.zone), end=answer.end.astimezone(self.zone))

    def range_counts(self, boxes: Boxes, starts: Moments | None = None, ends: Moments | None = None) -> RangeCounts:
        """Count the pings of many boxes at once, each between two moments, in microseconds each."""
        return range_counts(self, boxes, starts, ends)

    @cached_property
    def summed_counts(self) -> SummedAreas:
        """The counts, ready to be summed over any box."""
        return SummedAreas(self.counts)

    @cached_property
    def summed_variances(self) -> SummedAreas | None:
        """The cells' variances, ready to be summed, where the release carries error bars."""
        return None if self.deviation is None else SummedAreas(np.square(self.deviation, dtype=np.float64))

    def nearest_hotspot(
        self,
        lat: float,
        lon: float,
        moment: datetime | int,
        threshold: float | None = None,
        within_m: float | None = None,
    ) -> Hotspot:
        """Find the cell closest to a place whose released count is at least `threshold` in the slice of a moment.

        Without a threshold, a hot spot is one of the busiest thousandth of the slice's cells.
        """
        when = self._in_zone(moment) if isinstance(moment, datetime) else moment
        answer = nearest_hotspot(self, lat, lon, when, threshold, within_m)
        return replace(answer, slice_start=answer.slice_start.astimezone(self.zone))

    def nearest_dense_hotspot(
        self,
        lat: float,
        lon: float,
        moment: datetime | int,
        density: float,
        extent_m: float = EXTENT_M,
        *,
        at_ping: bool = False,
        least_probability: float = 0.0,
    ) -> DenseHotspot:
        """Find the cell nearest in space and time that holds at least `density` pings, with its probability.

        The paper's hot spot: `extent_m` metres over ground, any slice, one slice as far as one cell. `at_ping`:
        somebody who is there then asks. No cell is named that reaches the density with less than `least_probability`.
        """
        when = self._in_zone(moment) if isinstance(moment, datetime) else moment
        answer = nearest_dense_hotspot(
            self, lat, lon, when, density, extent_m, at_ping=at_ping, least_probability=least_probability
        )
        return replace(answer, slice_start=answer.slice_start.astimezone(self.zone))

    def forecast(self, box: Box, horizon: int, method: str = "theta") -> Forecast:
        """Forecast a box for `horizon` slices beyond the release, by `theta` or `holt_winters`."""
        answer = forecast(self, box, horizon, method)
        return replace(answer, starts=[start.astimezone(self.zone) for start in answer.starts])

    def series(self, box: Box) -> Floats:
        """Return the released pings of a box in every slice, cut cells by their covered share. (T,)"""
        return box_series(self, box)

    def to_pandas(
        self, box: Box | None = None, start: datetime | None = None, end: datetime | None = None
    ) -> pd.DataFrame:
        """Return one row for each cell that lies in the box and the period, wholly or in part; None: no limit.

        Columns: slice, slice_start (UTC), y, x, lat, lon (of the cell's centre), count, deviation (NaN where the
        model gives none). A row takes 44 bytes: 576 x 576 x 96 cells take 1.4 GB, so say which ones you want.
        """
        from vdr_spark.release.frames import cells_frame

        return cells_frame(self, box, start and self._in_zone(start), end and self._in_zone(end))

    def to_xarray(self) -> xr.Dataset:
        """Return `count` and, where there is one, `deviation` over time (UTC), lat and lon, without copying them.

        The promise stands in the attributes, in types that NetCDF can hold: epsilon as exact text, the statement as
        JSON, protected as 1 or 0.
        """
        from vdr_spark.release.frames import cells_dataset

        return cells_dataset(self)

    def to_spark(self, spark: SparkSession) -> DataFrame:
        """Return the release's rows of the table `cells`."""
        from vdr_spark.release.views import select_cells
        from vdr_spark.storage.places import OutputFolder

        if self.output is None:
            raise InvalidQuery(
                "to_spark must be asked of a release that was read from its tables, not of one made in memory; "
                "use spark.createDataFrame(release.to_pandas())"
            )
        return select_cells(spark, OutputFolder.at(self.output, self.tables), self.release_id)

    def map(self, when: datetime | int | None = None) -> Picture:
        """Return a map of the slice that holds a moment, or of that number; without one, of all slices added up.

        A notebook shows it, and `save` writes it as PNG. It needs matplotlib (the extra `pictures`).
        """
        from vdr_spark.report.maps import map_of_slice

        return map_of_slice(self, self._in_zone(when) if isinstance(when, datetime) else when)

    def report(self) -> ShownReport:
        """Return a page about the release, which a notebook shows, from the release alone.

        Its budget is that of the day of publication: `Publisher.report` and `vdr report` look into the ledger.
        """
        from vdr_spark.report_page import Contents, ShownReport, report_page

        return ShownReport(self.release_id, report_page(Contents(self)))

    def explore(self) -> object:
        """Return the explorer of the release, which a notebook shows; where the platform allows none, the report."""
        try:
            return import_module("vdr_spark.explore.serve").open_explorer(self)
        except (ImportError, EnvironmentProblem):  # not installed, or the browser is on another machine
            return self.report()

    def export(
        self,
        path: str | Path,
        format: str,
        *,
        box: Box | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
        geometry: str | None = None,
        resolution: int | None = None,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> list[Path]:
        """Write the cells that a box and a period touch for other tools: geoparquet, geotiff, zarr, csv or h3.

        Every file says which release it is of and what was promised, and is there whole or not at all. `geometry` of
        GeoParquet is `cell` or `centre`, `resolution` that of H3. Returns the paths that were written.
        """
        from vdr_spark.export import export_release

        return export_release(
            self,
            path,
            format,
            box=box,
            start=start and self._in_zone(start),
            end=end and self._in_zone(end),
            geometry=geometry,
            resolution=resolution,
            overwrite=overwrite,
            progress=progress,
        )

    def _in_zone(self, moment: datetime) -> datetime:
        """Return a moment with a zone: its own, or that of the release."""
        return moment if moment.tzinfo else moment.replace(tzinfo=self.zone)

    def __repr__(self) -> str:
        slices, side, _ = self.grid.shape
        promise = (
            f"{self.promise.parameters} at {self.promise.unit.level} level"
            if self.protected
            else "UNPROTECTED, from a test seed"
        )
        start, end = (format_moment(moment, self.zone) for moment in (self.grid.start, self.grid.end))
        gone = f",\n {self.withdrawal.banner}" if self.withdrawal else ""
        return (
            f"<Release {self.release_id}: {promise}; {slices} slices of {side} x {side} cells,\n"
            f" {start} to {end}, by {self.model}{gone}>"
        )

    def _repr_html_(self) -> str:
        from vdr_spark.release.card import release_card

        return release_card(self)
