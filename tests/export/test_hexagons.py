"""Sums over hexagons, against the same sums in pandas and the error bars of range counts."""

from pathlib import Path

import h3
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from tests.export.releases import numbered
from vdr_spark.sum_errors import Spread, SumErrors, Total

ERRORS = SumErrors(3.0, (Spread(1, 1, 0.25, 3.0), Spread(4, 1, 0.5, 6.0)), 20.0, Total(1000.0, 5.0))


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_sums_are_those_of_the_cells_whose_centres_lie_inside(name: str, tmp_path: Path) -> None:
    release = numbered(2, 20)
    release.export(tmp_path / name, "h3", resolution=5)
    found = pd.read_csv(tmp_path / name) if name.endswith("csv") else pq.read_table(tmp_path / name).to_pandas()
    cells = release.to_pandas()
    cells["h3"] = [h3.latlng_to_cell(lat, lon, 5) for lat, lon in zip(cells["lat"], cells["lon"], strict=True)]
    cells["variance"] = cells["deviation"].astype(float) ** 2
    cells["count"] = cells["count"].astype(float)
    expected = cells.groupby(["slice", "h3"]).agg(cells=("y", "size"), count=("count", "sum"), own=("variance", "sum"))
    found = found.set_index(["slice", "h3"])
    assert found.index.equals(expected.index)
    assert (found["cells"] == expected["cells"]).all()
    np.testing.assert_allclose(found["count"], expected["count"])
    np.testing.assert_allclose(found["deviation"], np.sqrt(expected["own"]))
    assert pd.to_datetime(found["slice_start"], utc=True).iloc[-1] == pd.Timestamp("2020-01-07 03:00", tz="UTC")


def test_error_bars_are_those_of_sums(tmp_path: Path) -> None:
    release = numbered(2, 20, sum_errors=ERRORS)
    release.export(tmp_path / "a.parquet", "h3", resolution=5)
    own = numbered(2, 20)
    own.export(tmp_path / "own.parquet", "h3", resolution=5)
    found, plain = (pq.read_table(tmp_path / name).to_pandas() for name in ("a.parquet", "own.parquet"))
    row = 17
    expected = ERRORS.deviation(found["cells"][row], 1, found["count"][row], plain["deviation"][row] ** 2)
    assert found["deviation"][row] == pytest.approx(expected)
    assert found["deviation"][row] != pytest.approx(plain["deviation"][row])


def test_without_deviations_there_are_none(tmp_path: Path) -> None:
    numbered(2, 20, deviation=False).export(tmp_path / "a.csv.gz", "h3", resolution=5)
    assert pd.read_csv(tmp_path / "a.csv.gz")["deviation"].isna().all()
