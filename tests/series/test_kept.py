"""Where the networks of a series are kept: per region, and for windows only."""

from __future__ import annotations

from pathlib import Path

from tests.series.configurations import weekly_series
from vdr_spark.config import ReleaseConfig
from vdr_spark.plan import make_plan
from vdr_spark.series.kept import find_kept


def test_each_region_keeps_its_own(tmp_path: Path) -> None:
    boxes = {"east": [29.76, -95.0], "west": [29.76, -96.0]}
    regions = {name: {"center": center, "side_m": 20000} for name, center in boxes.items()}
    config = ReleaseConfig(**weekly_series(tmp_path, window="2020-W03", region=None, regions=regions))
    east, west = (find_kept(release) for release in make_plan(config).releases(2000))
    assert east is not None
    assert west is not None
    assert east.folder != west.folder
    assert east.folder.startswith(str(tmp_path / "out/work/city.series"))
    assert (east.window, east.number, east.window_seconds) == ("2020-W03", 1, 604_800)
    assert east.period == ("2020-01-13T00:00:00+00:00", "2020-01-20T00:00:00+00:00")


def test_a_release_of_no_series_keeps_nothing(tmp_path: Path) -> None:
    settled = ReleaseConfig(**weekly_series(tmp_path, window="2020-W03")).model_dump()
    alone = ReleaseConfig(**settled | {"series": None, "window": None})
    assert find_kept(make_plan(alone).releases(2000)[0]) is None
