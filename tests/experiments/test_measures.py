"""How far a tensor is from the truth."""

import numpy as np
import pytest

from vdr_spark.errors import InvalidConfig
from vdr_spark.experiments.draws import Released
from vdr_spark.experiments.location_data import Data
from vdr_spark.experiments.measures import MEASURES, Truth, measure
from vdr_spark.sum_errors import deviation_by_chance, widen_by_clumps


def test_the_truth_is_off_by_nothing(city: Data) -> None:
    options = {"sides": [[1, 1], [1, 4]], "lengths": ["slice", "day"], "densities": [10]}
    rows = measure(["ranges", "cells", "hotspots"], Truth(city), Released(city.truth), options)
    assert {row["side"] for row in rows if "side" in row} == {1, "1-4"}
    assert {row["length"] for row in rows if "length" in row} == {"slice", "day"}
    wrong = [
        row[name] for row in rows for name in ("relative_error", "mae", "rmse", "distance", "regret") if name in row
    ]
    assert len(wrong) == 8
    assert not any(wrong)
    assert next(row["total_ratio"] for row in rows if "total_ratio" in row) == 1


def test_errors_are_what_was_done(city: Data) -> None:
    off = Released(city.truth + 3)
    (cells,) = MEASURES["cells"](Truth(city), off, {})
    assert cells["mae"] == cells["rmse"] == cells["mae_at_pings"] == pytest.approx(3)
    (double,) = MEASURES["ranges"](Truth(city), Released(2 * city.truth), {"sides": [[4, 4]]})
    assert double["relative_error"] == pytest.approx(1, abs=0.01)  # psi is more than a few of the counts


def test_sides_in_metres_are_whole_cells(city: Data) -> None:
    by_metres = MEASURES["ranges"](Truth(city), Released(city.truth + 1), {"sides_m": [[30, 120]]})
    by_cells = MEASURES["ranges"](Truth(city), Released(city.truth + 1), {"sides": [[1, 1]]})
    assert by_metres[0]["side"] == "30-120 m"
    assert by_metres[0]["relative_error"] == pytest.approx(by_cells[0]["relative_error"], rel=0.1)  # cells of 830 m


def test_only_the_judged_slices_are_asked_about(city: Data) -> None:
    wrong_later = city.truth.copy()
    wrong_later[8:] += 100
    assert MEASURES["cells"](Truth(city, slices=8), Released(wrong_later[:8]), {})[0]["mae"] == 0


def test_too_few_slices_cannot_be_forecast(city: Data) -> None:
    assert MEASURES["forecasts"](Truth(city), Released(city.truth), {"where_possible": True}) == []
    with pytest.raises(InvalidConfig, match="at least 32 slices"):
        MEASURES["forecasts"](Truth(city), Released(city.truth), {})


def test_with_error_bars_hot_spots_are_also_searched_by_probability(city: Data) -> None:
    bars = Released(city.truth, np.full_like(city.truth, 0.01))
    rows = MEASURES["hotspots"](Truth(city), bars, {"densities": [10]})
    assert [row["searched_by"] for row in rows] == ["count", "probability"]
    assert rows[1]["distance"] < 0.1


def test_hot_spots_by_probability_know_of_clumps_and_of_pings(city: Data) -> None:
    counts = (city.truth + city.truth.mean()) / 2
    wide = np.sqrt(widen_by_clumps(20.0, counts)).astype(np.float32)
    row = MEASURES["hotspots"](Truth(city), Released(counts, wide, clump=20.0), {"densities": [20]})[1]
    workload, chance = Truth(city).hotspots(20), deviation_by_chance(wide, counts, 20.0)
    assert row["distance"] == workload.by_probability(counts, chance, at_pings=True).distance
    assert row["distance"] != workload.by_probability(counts, chance, at_pings=False).distance
    assert row["distance"] != workload.by_probability(counts, wide, at_pings=True).distance
