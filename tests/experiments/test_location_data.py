"""Pings as arrays: counted, bounded, read from files, generated."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vdr_spark.errors import InvalidInput
from vdr_spark.experiments import location_data
from vdr_spark.experiments.location_data import PRESETS, Data, generate_pings, read_pings


def test_every_ping_is_counted_and_a_bound_keeps_k_of_each_user(few: Data) -> None:
    assert few.truth.ravel().tolist() == [0, 4, 0, 0, 0, 0, 1, 0]
    assert few.kept(2, "sample", 0).ravel().tolist() == [0, 2, 0, 0, 0, 0, 1, 0]
    assert few.kept(2, "weight", 0).ravel().tolist() == [0, 2, 0, 0, 0, 0, 1, 0]
    assert few.number_kept(2) == 3


def test_draws_keep_other_pings_and_a_draw_the_same(city: Data) -> None:
    first = city.kept(5, "sample", 0).copy()
    assert first.sum() == city.number_kept(5) < len(city.cells)
    assert not np.array_equal(city.kept(5, "sample", 1), first)
    assert np.array_equal(city.kept(5, "sample", 0), first)


@pytest.mark.parametrize("rows", [1, 100, 999])
def test_bounding_some_users_at_a_time_keeps_what_bounding_all_at_once_does(
    city: Data, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = replace(city).kept(3, "sample", 0).copy()
    monkeypatch.setattr(location_data, "_ROWS_AT_A_TIME", rows)
    assert np.array_equal(replace(city).kept(3, "sample", 0), at_once)


def test_without_users_all_pings_are_kept(few: Data) -> None:
    assert np.array_equal(replace(few, users=None).kept(1, "sample", 0), few.truth)


def test_a_share_is_of_users(few: Data, city: Data) -> None:
    half = city.only_share(0.5)
    assert 0.3 < len(half.cells) / len(city.cells) < 0.7
    assert half.users is not None
    assert set(half.users) < set(city.users if city.users is not None else [])
    with pytest.raises(InvalidInput, match="leaves no ping"):
        few.only_share(1e-9)


def test_a_generated_city_is_always_the_same() -> None:
    preset = PRESETS["demo"]
    assert preset.city is not None
    small = replace(preset.city, pings=5000)
    one, other = (generate_pings(small, preset.grid(16)) for _ in range(2))
    assert np.array_equal(one.cells, other.cells)
    assert len(one.cells) == pytest.approx(5000, rel=0.5)
    steep, wide = (generate_pings(replace(small, sigma_cells=of), preset.grid(32)).truth.sum(axis=0) for of in (0.3, 3))
    assert np.count_nonzero(steep) < 0.6 * np.count_nonzero(wide)


def test_files_are_read_and_what_lies_outside_is_left_out(tmp_path: Path) -> None:
    start = datetime(2008, 5, 17, 12, tzinfo=UTC)
    rows = {"user_id": [3, 3, 9], "lat": [37.7, 37.7, 10.0], "lon": [-122.4, -122.4, 0.0], "ts": [start] * 3}
    pq.write_table(pa.table(rows), tmp_path / "pings.parquet")
    data = read_pings(tmp_path / "pings.parquet", PRESETS["cabs_sf"].grid(8), "own")
    assert data.truth.sum() == 2
    assert data.users is not None
    assert data.users.tolist() == [0, 0]


def test_bad_files_are_refused_in_a_sentence(tmp_path: Path) -> None:
    grid = PRESETS["cabs_sf"].grid(8)
    with pytest.raises(InvalidInput, match="there is no file or folder"):
        read_pings(tmp_path / "none.parquet", grid, "none")
    (tmp_path / "bad.parquet").write_text("no Parquet")
    with pytest.raises(InvalidInput, match="cannot be read as pings"):
        read_pings(tmp_path / "bad.parquet", grid, "none")


def test_the_last_slices_are_what_they_are_in_the_whole(few: Data, city: Data) -> None:
    last = few.last(1)
    assert (last.grid.start, last.grid.slices) == (few.grid.slice_start(1), 1)
    np.testing.assert_array_equal(last.truth, few.truth[1:])
    assert last.users is not None
    assert last.users.tolist() == [1]
    np.testing.assert_array_equal(city.last(3).truth, city.truth[-3:])
