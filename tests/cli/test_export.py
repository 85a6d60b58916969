"""`vdr export` writes a published release for other tools, without Spark, and says where the files are."""

import os
from pathlib import Path

import geopandas as gpd
import pytest

from tests.cli.test_app import call
from tests.cli.test_query import arguments as arguments
from tests.cli.test_query import heavy_modules
from vdr_spark import read_release


def test_the_file_holds_the_release_of_the_configuration(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cells.parquet"
    assert call("export", *arguments, "--format", "geoparquet", "--to", str(path), "--geometry", "centre") == 0
    printed = capsys.readouterr().out
    assert str(path) in printed
    assert "There are no deviations: temporal+fusion gives no error bars." in printed
    release = read_release(str(tmp_path / "out"))
    assert (gpd.read_parquet(path)["count"].to_numpy() == release.counts.ravel()).all()


def test_a_part_by_box_and_time_in_the_zone_of_the_release(arguments: list[str], tmp_path: Path) -> None:
    grid = read_release(str(tmp_path / "out")).grid
    middle = ",".join(str(edge) for edge in (*grid.box.centre, grid.box.north, grid.box.east))
    start = grid.slice_start(1).astimezone(read_release(str(tmp_path / "out")).zone).replace(tzinfo=None).isoformat()
    wish = ["--format", "geoparquet", "--to", str(tmp_path / "a.parquet"), "--box", middle, "--start", start]
    assert call("export", *arguments, *wish) == 0
    frame = gpd.read_parquet(tmp_path / "a.parquet")
    assert frame["slice"].min() == 1
    assert frame["y"].min() == frame["x"].min() == grid.cells_per_side // 2


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (["--format", "excel", "--to", "a.csv"], "format must be one of geoparquet, geotiff, zarr, csv, h3"),
        (["--format", "csv", "--to", "a.tif"], "the path must end in .csv or .csv.gz"),
        (["--format", "csv", "--to", "taken.csv"], "say --overwrite"),
        (["--format", "csv", "--to", "none/a.csv"], "must exist, and does not"),
        (["--format", "csv", "--to", "a.csv", "--box", "1,2,3"], "--box takes 4 numbers"),
        (["--format", "csv", "--to", "a.csv", "--box", "1,2,3,4"], "must lie inside the release's box"),
        (["--format", "csv", "--to", "a.csv", "--end", "noon"], "--end takes a time such as"),
        (["--format", "csv", "--to", "a.csv", "--release", "another"], "release another is not published"),
    ],
)
def test_a_mistake_is_a_sentence_and_writes_nothing(
    wish: list[str],
    words: str,
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "files").mkdir()
    monkeypatch.chdir(tmp_path / "files")
    Path("taken.csv").write_text("mine")
    assert call("export", *arguments, *wish) == 2
    assert words in capsys.readouterr().err
    assert os.listdir() == ["taken.csv"]
    assert Path("taken.csv").read_text() == "mine"


def test_it_starts_no_spark(arguments: list[str], tmp_path: Path) -> None:
    heavy = heavy_modules("export", *arguments, "--format", "csv", "--to", str(tmp_path / "a.csv")).split()
    assert not {"pyspark", "delta", "torch", "petastorm", "matplotlib"} & set(heavy)
