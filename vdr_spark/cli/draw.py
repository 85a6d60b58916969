"""`vdr draw`: maps of a published release, from its tables alone."""

from __future__ import annotations

from vdr_spark.cli.console import console
from vdr_spark.cli.options import open_release
from vdr_spark.config import ReleaseConfig
from vdr_spark.plan import make_plan
from vdr_spark.report import draw_release
from vdr_spark.report.animation import animate_day
from vdr_spark.report.release_maps import find_busiest_day


def run(config: ReleaseConfig, region: str | None, release_id: str | None, withdrawn_too: bool, moving: bool) -> None:
    """Draw the release of a configuration, or one of its output folder by its id, and say where the pictures are."""
    plan = make_plan(config)
    release = open_release(config, region, release_id, withdrawn_too)
    with console.status("drawing ..."):
        paths = draw_release(release, plan.output.picture(release.release_id))
    if moving:
        with console.status("drawing a day that moves ..."):
            paths.append(plan.output.picture(f"{release.release_id}/day.webp"))
            animate_day(release, find_busiest_day(release), paths[-1])
    for path in paths:
        console.print(path, markup=False)
    if release.deviation is None:
        console.print(f"There is no map of the error: {release.model} gives no error bars.", markup=False)
