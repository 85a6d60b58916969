"""Files that mean harm: how one person's look never changes how the others' are read."""

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tests.hostile.pings import NO_NOISE, Small, counted, places
from vdr_spark.config import ReleaseConfig
from vdr_spark.data.readers import read_pings
from vdr_spark.errors import InvalidInput

HEADER = "user_id,lat,lon,ts"


def lines(config: ReleaseConfig, user: str, cells: list[int]) -> list[str]:
    """Pings of a user in the middle of flat cells, as lines of text."""
    where = places(config.domain, cells)
    columns = (where[name].to_pylist() for name in ("lat", "lon", "ts"))
    return [f"{user},{lat},{lon},{ts.isoformat()}" for lat, lon, ts in zip(*columns, strict=True)]


def write_text(config: ReleaseConfig, name: str, content: list[str]) -> Path:
    folder = Path(config.input.path)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(line + "\n" for line in content))
    return folder / name


@pytest.mark.parametrize("name", ["a.csv", "z.csv"])
@pytest.mark.parametrize("header", ["user_id,lon,lat,ts", "lat,user_id,lon,ts", "anna,29.7604,-95.3698,2020-01-07"])
def test_a_header_that_differs_is_refused(spark: SparkSession, small_config: Small, name: str, header: str) -> None:
    """Whichever file Spark takes the names from: with this one's, the others' hundred pings would lie elsewhere."""
    config = small_config(*NO_NOISE, "privacy.k=1", "input.format=csv")
    others = [line for user in range(100) for line in lines(config, f"u{user}", [user])]
    write_text(config, "m.csv", [HEADER, *others])
    np.testing.assert_array_equal(counted(spark, config)[:101], [1] * 100 + [0])
    write_text(config, name, [header])
    with pytest.raises(InvalidInput, match="must begin with the same line") as refusal:
        read_pings(spark, config.input)
    for part in ("anna", "29.7", name):
        assert part not in str(refusal.value)


def test_the_same_header_in_every_file_is_read_once(spark: SparkSession, small_config: Small) -> None:
    """After blank lines too, and after the mark that some programs put before UTF-8."""
    config = small_config(*NO_NOISE, "input.format=csv")
    for user, header in enumerate((HEADER, f"\n \n{HEADER}", f"\ufeff{HEADER}", f"{HEADER}\r")):
        write_text(config, f"{user}.csv", [header, *lines(config, f"u{user}", [user])])
    write_text(config, "empty.csv", [])
    np.testing.assert_array_equal(counted(spark, config)[:5], [1, 1, 1, 1, 0])
    assert read_pings(spark, config.input).count() == 4
