"""Places and times that mean harm: what lies outside is left out, whatever it is, and the edges are where they are."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from tests.adversarial_input.pings import NO_NOISE, READERS, Small, counted, places, write
from tests.plans import collect, grid_of
from vdr_spark.errors import InvalidInput
from vdr_spark.grid import Grid

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FAR = 2**63 - 1
YEARS = (datetime(1, 1, 1), datetime(1582, 10, 4), datetime(1899, 12, 31), datetime(9999, 12, 31, 23, 59, 59, 999999))


def microseconds(moment: datetime) -> int:
    return (moment.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)


def edges(grid: Grid) -> list[int]:
    """Microseconds since 1970: of the period, of a slice, of what calendars and numbers can hold."""
    start, slice_us = microseconds(grid.start), grid.slice_seconds * 1_000_000
    end = start + grid.slices * slice_us
    near = [start - 1, start, start + 1, start + slice_us - 1, start + slice_us, end - slice_us, end - 1, end, end + 1]
    return [*near, 0, 1, -1, *map(microseconds, YEARS), FAR - 1, FAR, -FAR, -FAR - 1]


def a_slice(grid: Grid, moments: list[int]) -> NDArray[np.float64]:
    """How many moments lie in each slice, by Python's own numbers."""
    counts = np.zeros(grid.slices)
    for us in moments:
        number = (us - microseconds(grid.start)) // (grid.slice_seconds * 1_000_000)
        if 0 <= number < grid.slices:
            counts[number] += 1
    return counts


def in_middle(grid: Grid, ts: pa.Array) -> dict[str, pa.Array]:
    """Pings in the middle of the box, one a user."""
    box, rows = grid.box, len(ts)
    lat, lon = (box.south + box.north) / 2, (box.west + box.east) / 2
    return {"user_id": pa.array(range(rows)), "lat": pa.array([lat] * rows), "lon": pa.array([lon] * rows), "ts": ts}


@pytest.mark.parametrize("reader", READERS)
def test_times_at_the_edges(spark: SparkSession, small_config: Small, reader: str) -> None:
    config = small_config(*NO_NOISE, f"input.reader={reader}")
    grid = grid_of(config)
    moments = edges(grid)
    write(config, **in_middle(grid, pa.array(moments).cast(pa.timestamp("us", "UTC"))))
    found = counted(spark, config).reshape(grid.slices, -1).sum(axis=1)
    np.testing.assert_array_equal(found, a_slice(grid, moments))
    assert found.tolist() == [3, 1, 0, 0, 0, 0, 0, 2]


def test_milliseconds_beyond_what_microseconds_hold_lie_outside(spark: SparkSession, small_config: Small) -> None:
    config = small_config(*NO_NOISE)
    grid = grid_of(config)
    start = microseconds(grid.start) // 1000
    far = [FAR, -FAR - 1, FAR // 1000, FAR // 1000 + 1, -FAR // 1000, start + 2**61]  # the last would wrap into it
    write(config, **in_middle(grid, pa.array([start, *far]).cast(pa.timestamp("ms", "UTC"))))
    assert counted(spark, config).sum() == 1
    through_spark = small_config(*NO_NOISE, "input.reader=spark")
    with pytest.raises(InvalidInput, match="cannot be read"):  # Spark reads no row of such a file
        collect(spark, through_spark)


def test_numbers_as_times(spark: SparkSession, small_config: Small) -> None:
    """A number says its unit by its size; the extremes of any are outside and stop nothing."""
    config = small_config(*NO_NOISE)
    grid = grid_of(config)
    start = microseconds(grid.start)
    units = [start // 1_000_000, start // 1000, start, start * 1000]
    write(config, **in_middle(grid, pa.array([*units, 0, -1, FAR, -FAR - 1, 10**11, 10**14, 10**17, None])))
    np.testing.assert_array_equal(counted(spark, config).reshape(grid.slices, -1).sum(axis=1)[:2], [4, 0])
    floats = [float(start), np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0]
    write(config, **in_middle(grid, pa.array(floats)))
    assert counted(spark, config).sum() == 1


def test_words_as_times(spark: SparkSession, small_config: Small) -> None:
    config = small_config(*NO_NOISE, "input.timezone=America/Chicago")
    grid = grid_of(config)
    good = ["2020-01-07 00:00:00", "2020-01-07T06:00:00Z", "2020-01-07T06:00:00.000000000Z", "1578376800"]
    bad = [
        *("now", "today", "epoch", "infinity", "", " ", "\0", "NaN", "2020-13-45", "2020-02-30T00:00:00Z", "24:00:00"),
        *("0001-01-01", "9999-12-31T23:59:59.999999Z", "+294247-01-10T04:00:54.775807Z", "-290308-12-21T19:59:05Z"),
        *("9" * 400, "-" + "9" * 400, "1e308", "2020-01-07T06:00:00+99:00", "'; DROP TABLE cells; --"),
    ]
    write(config, **in_middle(grid, pa.array([*good, *bad])))
    np.testing.assert_array_equal(counted(spark, config).reshape(grid.slices, -1).sum(axis=1)[:2], [len(good), 0])


def test_the_hour_that_a_clock_skips_or_shows_twice(spark: SparkSession, small_config: Small) -> None:
    """Slices are lengths of time, not of a clock's face: 23 hours in March, 25 in November."""
    for day, after, hours, shift in (("2020-03-08", "2020-03-09", 23, 8), ("2020-11-01", "2020-11-02", 25, 7)):
        period = f"period={{start: {day}, end: {after}, slice: 1h, timezone: America/Chicago}}"
        config = small_config(*NO_NOISE, period, f"input.path={small_config().input.path}/{day}")
        grid = grid_of(config)
        assert grid.slices == hours
        change = microseconds(datetime.fromisoformat(f"{day}T{shift:02d}:00:00"))
        moments = [change - 1, change, change + 3_600_000_000]
        write(config, **in_middle(grid, pa.array(moments).cast(pa.timestamp("us", "UTC"))))
        found = counted(spark, config).reshape(grid.slices, -1).sum(axis=1)
        np.testing.assert_array_equal(found, a_slice(grid, moments))
        assert found.sum() == 3


def test_nanoseconds(spark: SparkSession, small_config: Small) -> None:
    config = small_config(*NO_NOISE)
    grid = grid_of(config)
    start, end = (microseconds(moment) * 1000 for moment in (grid.start, grid.end))
    write(config, **in_middle(grid, pa.array([start, start + 1, end - 1, end]).cast(pa.timestamp("ns", "UTC"))))
    assert counted(spark, config).sum() == 3


@pytest.mark.parametrize("reader", READERS)
def test_places_at_the_edges(spark: SparkSession, small_config: Small, reader: str) -> None:
    """Every strange latitude with every strange longitude, in a box around 0, 0."""
    box = "region={south: -1, west: -1, north: 1, east: 1}"
    config = small_config(*NO_NOISE, box, f"input.reader={reader}")
    grid = grid_of(config)
    inside = [-1.0, np.nextafter(-1, 0), -0.0, 0.0, 5e-324, -5e-324, np.nextafter(1, 0), -2.3e-308]
    outside = [np.nan, -np.nan, np.inf, -np.inf, 1e308, -1e308, 1.0, np.nextafter(-1, -2), 90.0, -180.0, 1e19, 2**63]
    lat, lon = (axis.ravel() for axis in np.meshgrid([*inside, *outside], [*inside, *outside]))
    times = places(grid, np.zeros(len(lat), dtype=np.int64))["ts"]
    write(config, user_id=pa.array(range(len(lat))), lat=pa.array(lat), lon=pa.array(lon), ts=times)
    expected = np.zeros((grid.cells_per_side, grid.cells_per_side))
    rows = [min(int((place + 1) * 8), 15) for place in inside]
    for y in rows:
        for x in rows:
            expected[y, x] += 1
    np.testing.assert_array_equal(counted(spark, config).reshape(grid.shape)[0], expected)


@pytest.mark.parametrize("reader", READERS)
def test_single_precision_at_the_edges(spark: SparkSession, small_config: Small, reader: str) -> None:
    config = small_config(*NO_NOISE, "region={south: -1, west: -1, north: 1, east: 1}", f"input.reader={reader}")
    lat = pa.array([-1, 1, np.nan, np.inf, 3e38, 1e-45, -0.0, np.nextafter(np.float32(1), np.float32(0))], pa.float32())
    times = places(grid_of(config), [0] * len(lat))["ts"]
    write(config, user_id=pa.array(range(len(lat))), lat=lat, lon=pa.array([0.0] * len(lat)), ts=times)
    assert counted(spark, config).sum() == 4


def test_words_as_degrees(spark: SparkSession, small_config: Small) -> None:
    config = small_config(*NO_NOISE, "region={south: -1, west: -1, north: 1, east: 1}")
    lat = [
        "0",
        "-0.0",
        " 0 ",
        "5e-324",
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "0,5",
        "",
        "0x0",
        "0'; DROP TABLE x",
        "９0",
    ]
    times = places(grid_of(config), [0] * len(lat))["ts"]
    write(config, user_id=pa.array(range(len(lat))), lat=pa.array(lat), lon=pa.array([0.0] * len(lat)), ts=times)
    assert counted(spark, config).sum() == 4
