"""What `vdr sql` prints, run by servers that are not ours: the library's answers and error bars."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.engines.engines import Engine, Published
from vdr_spark.grid import Box
from vdr_spark.release.sql_functions import describe_subject
from vdr_spark.sql.dialects import DIALECTS
from vdr_spark.sql.script import Script
from vdr_spark.sql.views import Sources

pytestmark = pytest.mark.engines
NU = 20.0


def script_for(engine: Engine, published: Published, dialect: str, schema: str | None = None) -> Script:
    names = {table: engine.table(published, table) for table in ("cells", "pyramid", "releases", "withdrawals")}
    return Script(describe_subject(published.release, pyramid=True), DIALECTS[dialect], Sources(**names), schema)


def boxes(published: Published) -> list[tuple[Box, datetime, datetime]]:
    """A few cells, cut, for some hours; most of the grid for more than a day: squares, days and a rim."""
    grid, box = published.release.grid, published.release.grid.box
    lat, lon = (box.north - box.south) / grid.cells_per_side, (box.east - box.west) / grid.cells_per_side
    small = Box(
        south=box.south + 3.3 * lat, west=box.west + 4.1 * lon, north=box.south + 6.8 * lat, east=box.west + 9 * lon
    )
    large = Box(south=box.south + lat, west=box.west + 2.5 * lon, north=box.north - 3 * lat, east=box.east - lon)
    last = grid.slice_start(grid.slices - 1) + timedelta(seconds=grid.slice_seconds)
    return [(small, grid.slice_start(1), grid.slice_start(2)), (large, grid.slice_start(1), last)]


def same(row: list[Any], answer: Any) -> None:
    count, deviation, low, high, inside = row[:5]
    assert count == pytest.approx(answer.count, rel=1e-9)
    assert deviation == pytest.approx(answer.deviation, rel=1e-6)
    assert (low, high) == pytest.approx(
        (max(0.0, answer.count - 1.6449 * answer.deviation), answer.count + 1.6449 * answer.deviation), rel=1e-4
    )
    assert inside == pytest.approx(1)


def test_templates_in_trino(trino: Engine, published: Published) -> None:
    script = script_for(trino, published, "trino")
    count, series, profile, hotspots = script.templates()
    for box, start, end in boxes(published):
        filled = fill(count, box, from_time=trino.at(start), to_time=trino.at(end))
        same(trino.ask(filled)[0], published.release.range_count(box, start, end))
    box = boxes(published)[0][0]
    assert len(trino.ask(fill(series, box))) == published.release.grid.slices
    assert trino.ask(fill(profile, box))
    found = trino.ask(hotspots.replace(":nu", f"{NU}"))
    assert len(found) == int((published.release.counts >= NU).sum())


def test_functions_in_the_thrift_server(spark_thrift: Engine, published: Published) -> None:
    script = script_for(spark_thrift, published, "spark", published.schema)
    for statement in script.views() + script.functions():
        spark_thrift.ask(statement)
    spark_thrift.ask(f"USE {published.schema}")
    for box, start, end in boxes(published):
        numbers = ", ".join(f"{edge!r}D" for edge in (box.south, box.west, box.north, box.east))
        moments = f"{spark_thrift.at(start)}, {spark_thrift.at(end)}"
        rows = spark_thrift.ask(f"SELECT * FROM range_count({numbers}, {moments})")
        same(rows[0], published.release.range_count(box, start, end))
    assert spark_thrift.ask(f"SELECT count(*) FROM hotspots({NU})") == [[int((published.release.counts >= NU).sum())]]


def fill(template: str, box: Box, **more: str) -> str:
    """Fill in the places of a template, as a person or a BI tool does."""
    edges = {name: f"{getattr(box, name)!r}" for name in ("south", "west", "north", "east")}
    for name, value in (edges | more).items():
        template = template.replace(f":{name}", value)
    return template
