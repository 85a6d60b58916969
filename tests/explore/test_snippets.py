"""What the page gives to copy is run here, and must say what the page says."""

import duckdb
import pytest

from tests.explore.cities import city, publish
from vdr_spark import register_duckdb
from vdr_spark.explore.answers import count_box, find_hotspot
from vdr_spark.explore.snippets import show_box, show_hotspot, show_slice
from vdr_spark.grid import Box
from vdr_spark.release.read import read_release
from vdr_spark.release.release import Release

AREA = Box(29.651, -95.449, 29.757, -95.351)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    from tests.release.published import write_pyramid

    folder = tmp_path_factory.mktemp("copied")
    publish(folder, city(), city("b-city", seed=4))
    write_pyramid(folder, city())
    return read_release(str(folder), "a-city")


def test_the_python_of_a_box_prints_what_the_page_says(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    exec(show_box(release, AREA, 5)["python"], {})
    assert capsys.readouterr().out.strip() == count_box(release, AREA, 5)["sentence"]


def test_the_python_of_a_hot_spot_prints_what_the_page_says(
    release: Release, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(show_hotspot(release, 29.65, -95.45, 3, 120.0)["python"], {})
    assert capsys.readouterr().out.strip() == find_hotspot(release, 29.65, -95.45, 3, 120.0)["sentence"]


def test_the_python_of_a_slice_gives_its_cells(release: Release) -> None:
    names: dict[str, object] = {}
    exec(show_slice(release, 5)["python"], names)
    assert (names["counts"] == release.counts[5:6]).all()  # type: ignore[attr-defined]


def test_the_sql_of_a_box_counts_what_the_page_says(release: Release) -> None:
    connection = duckdb.connect()
    register_duckdb(connection, str(release.output), "a-city")
    row = connection.execute(show_box(release, AREA, 5)["sql"]).fetchone()
    assert row is not None
    assert row[0] == pytest.approx(count_box(release, AREA, 5)["count"], rel=1e-9)
    assert connection.execute(show_slice(release, 5)["sql"]).fetchall()
    connection.execute(show_hotspot(release, 29.65, -95.45, 3, 120.0)["sql"])


def test_a_release_in_memory_has_no_folder_to_name() -> None:
    assert "as you have it" in show_box(city(), AREA, 0)["python"]
