"""The figures are those of the pings, exactly; what `collect` counts and what a check calls N are the same."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import SparkSession

from tests.conftest import write_pings
from tests.plans import collect, draws_of, grid_of
from vdr_spark.check.measure import PingsPerUser, measure
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import InvalidInput
from vdr_spark.plan import make_plan

Small = Callable[..., ReleaseConfig]


def store(config: ReleaseConfig, **columns: object) -> None:
    Path(config.input.path or "").mkdir()
    pd.DataFrame(columns).to_parquet(f"{config.input.path}/part.parquet", coerce_timestamps="us")


def moments(config: ReleaseConfig, *hours: float) -> pd.Series:
    start = pd.Timestamp(grid_of(config).start)
    return pd.Series([start + pd.Timedelta(hours=hour) for hour in hours])


def test_rows_inside_and_outside(spark: SparkSession, small_config: Small) -> None:
    config = small_config()
    lat, lon = grid_of(config).box.centre
    store(
        config,
        user_id=pd.Series(["a", "a", "b", None, "c", "d", "e"], dtype="string"),
        lat=[lat, lat, lat, lat, lon, None, np.nan],
        lon=[lon, lon, lon, lon, lat, lon, lon],
        ts=moments(config, 0, 23.9, 24, 5, 5, 5, 5),
    )
    found = measure(spark, make_plan(config))
    assert (found.rows, found.in_box, found.in_period, found.pings) == (7, 4, 6, 2)
    assert found.otherwise == {"swapped": 1, "longitude_mirrored": 0, "latitude_mirrored": 0, "millionths": 0}
    assert found.by_region == {}
    figures = {name: (column.null, column.unreadable) for name, column in found.columns.items()}
    assert figures["user_id"] == (1, 0)
    assert sum(figures["lat"]) == 2  # pandas stores NaN as null, or as it is
    assert figures["lon"] == figures["ts"] == (0, 0)
    grid = grid_of(config)
    assert found.times is not None
    assert (found.times.first_us, found.times.last_us) == (grid.start_us, grid.end_us)
    assert found.per_user.pings.tolist() == [2]
    assert found.per_user.users.tolist() == [1]


def test_text_that_is_no_time_and_no_number(spark: SparkSession, small_config: Small) -> None:
    config = small_config()
    lat, lon = map(str, grid_of(config).box.centre)
    store(
        config,
        user_id=[1, 1, 2],
        lat=[lat, lat.replace(".", ","), lat],
        lon=[lon, lon, lon],
        ts=["2020-01-07T12:00:00", "07.01.2020 12:00", None],
    )
    found = measure(spark, make_plan(config))
    assert (found.columns["lat"].kind, found.columns["lat"].unreadable) == ("string", 1)
    assert (found.columns["ts"].null, found.columns["ts"].unreadable) == (1, 1)
    assert found.pings == 1


def test_times_beyond_what_is_read(spark: SparkSession, small_config: Small) -> None:
    """Milliseconds that were stored as though they were seconds: the year 51980."""
    config = small_config()
    lat, lon = grid_of(config).box.centre
    stored = spark.sql(
        f"SELECT 'a' AS user_id, double({lat}) AS lat, double({lon}) AS lon, timestamp_seconds(1578400000000) AS ts"
    )
    stored.write.parquet(config.input.path or "")
    found = measure(spark, make_plan(config))
    assert (found.columns["ts"].null, found.columns["ts"].unreadable) == (0, 1)
    assert found.times is None


def test_several_regions(spark: SparkSession, small_config: Small) -> None:
    boxes = "{a: {south: 0, west: 0, north: 1, east: 1}, b: {south: 5, west: 5, north: 6, east: 6}}"
    config = small_config("region=null", "synth=null", f"regions={boxes}")
    times = moments(config, 1, 2, 3, 4)
    store(config, user_id=["u", "u", "v", "w"], lat=[0.5, 5.5, 5.5, 3.0], lon=[0.5, 5.5, 5.5, 3.0], ts=times)
    found = measure(spark, make_plan(config))
    assert (found.in_box, found.pings, found.by_region) == (3, 3, {"a": 1, "b": 2})
    assert found.per_user.kept(1) == 2


def test_n_is_what_an_estimate_counts(spark: SparkSession, small_config: Small) -> None:
    """With so large an epsilon that its noise is zero, `estimate_total` finds the N that a check tells."""
    privacy = (
        "privacy={epsilon: 1000000, accept_weak_promise: true, k: 5, estimate_total: {share: 1/2, max_per_user: 100}}"
    )
    config = small_config("synth=null", privacy)
    lat, lon = grid_of(config).box.centre
    rows = {"lat": [lat] * 9 + [0.0], "lon": [lon] * 10, "ts": moments(config, *range(8), -1, 3)}
    store(config, user_id=pd.Series(["a"] * 6 + ["b", None, "b", "b"], dtype="string"), **rows)
    found = measure(spark, make_plan(config))
    collect(spark, config)
    assert found.pings == draws_of(spark, config).find_total() == 7
    contents = draws_of(spark, config).cells.contents()
    assert contents is not None
    assert sum(contents.slice_sums) == found.per_user.kept(5) == 6


def test_mistakes_and_damaged_files_are_sentences(spark: SparkSession, small_config: Small) -> None:
    config = small_config()
    with pytest.raises(InvalidInput, match="there is nothing at"):
        measure(spark, make_plan(config))
    write_pings(config.input.path or "", grid_of(config), [(user, 7) for user in range(200)])
    file = Path(config.input.path or "") / "part.parquet"
    content = file.read_bytes()
    file.write_bytes(content[:50] + b"\xff" * 2000 + content[2050:])
    with pytest.raises(InvalidInput, match="Mend or remove it and run the same command again") as refusal:
        measure(spark, make_plan(config))
    assert "epsilon" not in str(refusal.value)
    assert refusal.value.__cause__ is None


@pytest.mark.parametrize(("share", "pings"), [(0.5, 1), (0.51, 3), (0.8, 3), (0.99, 50), (1.0, 50)])
def test_percentiles(share: float, pings: int) -> None:
    users = PingsPerUser(np.array([1, 3, 50]), np.array([50, 40, 10]))
    assert users.percentile(share) == pings
    assert (users.total_users, users.most, users.kept(2), users.kept(50)) == (100, 50, 150, 670)


def test_nobody() -> None:
    nobody = PingsPerUser(np.array([], dtype=np.int64), np.array([], dtype=np.int64))
    assert (nobody.percentile(0.5), nobody.most, nobody.kept(3), nobody.total_users) == (0, 0, 0, 0)
