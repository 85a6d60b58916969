"""Every format: the promise inside, whole or not at all, nothing overwritten, and sentences for what cannot be."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import rasterio
import xarray as xr

from tests.disks import fill, tiny_disk
from tests.export.releases import BOX, STATEMENT, files_of_at_most, numbered
from tests.release.hand_made import hand_made
from tests.test_packages import run_without
from vdr_spark.errors import DiskFull, InvalidExport, InvalidQuery
from vdr_spark.export import FORMATS
from vdr_spark.grid import Box
from vdr_spark.progress import NullProgress, Update

FILES = {"geoparquet": "a.parquet", "geotiff": "a.tif", "zarr": "a.zarr", "csv": "a.csv", "h3": "a.csv.gz"}
# Sides of 13 km: hexagons of resolution 3 are larger.
OPTIONS: dict[str, dict[str, int]] = {"h3": {"resolution": 3}}
each_format = pytest.mark.parametrize("format", FORMATS)


def labels(format: str, path: Path) -> dict[str, object]:
    """What a file says of itself, by a reader of its format."""
    if format == "geoparquet":
        return {key.decode(): value.decode() for key, value in pq.read_metadata(path).metadata.items()}
    if format == "geotiff":
        with rasterio.open(path) as file:
            return dict(file.tags())
    if format == "zarr":
        return dict(xr.open_zarr(path, chunks=None).attrs)
    said: dict[str, object] = json.loads((path.parent / "a.statement.json").read_text())
    return said


@each_format
def test_the_promise_is_inside(format: str, tmp_path: Path) -> None:
    numbered().export(tmp_path / FILES[format], format, **OPTIONS.get(format, {}))  # type: ignore[arg-type]
    said = labels(format, tmp_path / FILES[format])
    assert (said["release_id"], said["epsilon"], said["dataset"]) == ("hand-made", "1/3", "nobody")
    assert (said["zone"], said["created"]) == ("America/Chicago", "2020-02-01T12:00:00+00:00")
    assert said["protected"] in ("true", True, 1)
    assert said["cells"] == "slices 0 to 2 of 3, rows 0 to 4 of 5, columns 0 to 4 of 5"
    statement = said["statement"]
    assert (json.loads(statement) if isinstance(statement, str) else statement) == STATEMENT
    assert "epsilon = 1/3" in str(said["promise"])


@each_format
def test_what_protects_nobody_says_so(format: str, tmp_path: Path) -> None:
    release = numbered(deviation=False, protected=False)
    release.export(tmp_path / FILES[format], format, **OPTIONS.get(format, {}))  # type: ignore[arg-type]
    said = labels(format, tmp_path / FILES[format])
    assert said["protected"] in ("false", False, 0)
    assert str(said["promise"]).startswith("UNPROTECTED")


@each_format
def test_nothing_is_overwritten_unasked(format: str, tmp_path: Path) -> None:
    path, options = tmp_path / FILES[format], OPTIONS.get(format, {})
    numbered().export(path, format, **options)  # type: ignore[arg-type]
    before = {name: os.stat(tmp_path / name).st_mtime_ns for name in os.listdir(tmp_path)}
    with pytest.raises(InvalidExport, match=r"exists, and nothing is overwritten unasked.*--overwrite"):
        numbered(release_id="another").export(path, format, **options)  # type: ignore[arg-type]
    assert {name: os.stat(tmp_path / name).st_mtime_ns for name in os.listdir(tmp_path)} == before
    numbered(release_id="another").export(path, format, overwrite=True, **options)  # type: ignore[arg-type]
    assert labels(format, path)["release_id"] == "another"
    assert set(os.listdir(tmp_path)) == set(before)


@each_format
@pytest.mark.parametrize("size", [300, 5_000])
def test_a_full_disk_is_a_sentence_and_leaves_what_was_there(format: str, size: int, tmp_path: Path) -> None:
    path = tmp_path / FILES[format]
    options = {"h3": {"resolution": 6}}.get(format, {})
    counts = np.random.default_rng(0).gamma(1, 9, size=(3, 60, 60))  # which compress badly
    numbered(3, 60).export(path, format, **options)  # type: ignore[arg-type]
    before = labels(format, path), sorted(os.listdir(tmp_path))
    with files_of_at_most(size), pytest.raises(InvalidExport, match=r"could not be written: .*nothing is left of it"):
        hand_made(counts, box=BOX).export(path, format, overwrite=True, **options)  # type: ignore[arg-type]
    assert (labels(format, path), sorted(os.listdir(tmp_path))) == before


def test_a_disk_that_is_full_can_be_mended(tmp_path: Path) -> None:
    with tiny_disk(tmp_path / "disk", 1) as disk:
        fill(disk, leave=20_000)
        before = sorted(os.listdir(disk))
        counts = np.random.default_rng(0).gamma(1, 9, size=(3, 60, 60))
        with pytest.raises(DiskFull, match=r"No space left on device; nothing is left of it"):
            hand_made(counts, box=BOX).export(disk / "cells.csv", "csv")
        assert sorted(os.listdir(disk)) == before


@each_format
def test_an_interruption_leaves_nothing(format: str, tmp_path: Path) -> None:
    class Interrupted(NullProgress):
        @contextmanager
        def task(self, _title: str, _total: float | None) -> Iterator[Update]:
            def update(_done: float, _note: str) -> None:
                raise KeyboardInterrupt

            yield update

    options = OPTIONS.get(format, {})
    with pytest.raises(KeyboardInterrupt):
        numbered().export(tmp_path / FILES[format], format, progress=Interrupted(), **options)  # type: ignore[arg-type]
    assert not os.listdir(tmp_path)


@each_format
def test_progress_rises_to_all_cells(format: str, tmp_path: Path) -> None:
    told: list[float] = []

    class Told(NullProgress):
        @contextmanager
        def task(self, _title: str, total: float | None) -> Iterator[Update]:
            yield lambda done, _note: told.append(done / (total or 1))

    numbered(9).export(tmp_path / FILES[format], format, progress=Told(), **OPTIONS.get(format, {}))  # type: ignore[arg-type]
    assert told == sorted(told)
    assert len(told) > 1
    assert told[-1] == 1


@pytest.mark.parametrize(
    ("path", "format", "options", "words"),
    [
        ("a.shp", "shapefile", {}, "format must be one of geoparquet, geotiff, zarr, csv, h3, not 'shapefile'"),
        ("a.csv", "geotiff", {}, "must end in .tif or .tiff for this format, not .*a.csv"),
        ("no/a.csv", "csv", {}, "folder .*no must exist"),
        ("a.csv", "csv", {"geometry": "cell"}, "geometry goes with the format geoparquet, not with csv"),
        ("a.tif", "geotiff", {"resolution": 8}, "resolution goes with the format h3, not with geotiff"),
        ("a.parquet", "geoparquet", {"geometry": "outline"}, "geometry must be one of cell, centre, not 'outline'"),
        ("a.csv", "h3", {"resolution": 16}, "0 .coarse. to 15 .fine., not 16"),
        ("a.csv", "h3", {"resolution": 6}, "larger than a cell of .* choose a smaller number"),
    ],
)
def test_what_cannot_be_is_a_sentence(
    path: str, format: str, options: dict[str, object], words: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidExport, match=words):
        numbered().export(tmp_path / path, format, **options)  # type: ignore[arg-type]
    assert not os.listdir(tmp_path)


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidExport, match=r"/proc/a\.csv could not be written"):
        numbered().export("/proc/a.csv", "csv")  # which only the attempt tells, whoever asks
    monkeypatch.setattr(os, "access", lambda *_: False)  # whoever runs this may write everywhere
    with pytest.raises(InvalidExport, match="must be one that you may write into"):
        numbered().export(tmp_path / "a.csv", "csv")


def test_object_stores_are_refused() -> None:
    with pytest.raises(InvalidExport, match="must be on this machine, not s3:"):
        numbered().export("s3://bucket/a.csv", "csv")


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"box": Box(29.0, -95.5, 29.8, -95.1)}, "south must lie inside"),
        ({"box": Box(29.8, -95.5, 29.6, -95.1)}, "south must be less than north"),
        ({"start": datetime(2021, 1, 1, tzinfo=UTC)}, "start must lie in the release's period"),
    ],
)
def test_a_part_that_is_not_there_is_refused(part: dict[str, object], words: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidQuery, match=words):
        numbered().export(tmp_path / "a.csv", "csv", **part)  # type: ignore[arg-type]
    assert not os.listdir(tmp_path)


def test_a_missing_library_is_named_and_csv_and_geoparquet_need_none(tmp_path: Path) -> None:
    check = "from vdr_spark.export.export import check_export; check_export('a.{}', '{}')"
    wishes = [("tif", "geotiff"), ("zarr", "zarr"), ("csv", "h3"), ("csv", "csv"), ("parquet", "geoparquet")]
    raised, _ = run_without(("rasterio", "zarr", "h3", "xarray"), [check.format(*wish) for wish in wishes], tmp_path)
    for words, package in zip(raised, ("rasterio", "zarr", "h3"), strict=False):
        assert words.startswith("EnvironmentProblem")
        assert f"the package {package} is not installed" in words
        assert "pip install vdr-spark[export]" in words
    assert raised[3:] == ["", ""]
