"""A release read back is the release that was made, wherever it is read, and without Spark."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.release.hand_made import hand_made
from tests.release.published import release_row, write, write_tables
from vdr_spark.errors import DamagedTable, InvalidQuery, StageMissing
from vdr_spark.release.cell_source import EVERYTHING, CellsInMemory
from vdr_spark.release.read import open_cells, read_release
from vdr_spark.release.release import Release
from vdr_spark.release.views import register_views, select_cells
from vdr_spark.spark_versions import to_arrow
from vdr_spark.storage.places import OutputFolder
from vdr_spark.storage.schemas import CELLS, RELEASES
from vdr_spark.storage.tables import append_once, create_if_missing

FOLDERS = ["plain", "a b", "100% %25 %41", "#d ?e", "ü 東", "back\\slash", "'q' \"c\" [bold] {h,i} $j ;--"]


@pytest.fixture
def release() -> Release:
    rng = np.random.default_rng(1)
    counts, deviation = rng.normal(5, 3, size=(3, 5, 5)), rng.gamma(2, 1, size=(3, 5, 5))
    return hand_made(counts, deviation, release_id="first-1", epsilon=Fraction(1, 3))


def assert_same(read: Release, made: Release) -> None:
    np.testing.assert_array_equal(read.counts, made.counts)
    assert read.counts.dtype == np.float32
    if made.deviation is None:
        assert read.deviation is None
    else:
        np.testing.assert_array_equal(read.deviation, made.deviation)
    names = ("release_id", "grid", "protected", "epsilon", "k", "dataset", "created", "model", "statement")
    assert [getattr(read, name) for name in names] == [getattr(made, name) for name in names]


@pytest.fixture
def _in_chicago(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "America/Chicago")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_in_chicago")
def test_slices_begin_when_they_began_whatever_the_machines_clock_shows(tmp_path: Path, release: Release) -> None:
    write_tables(tmp_path, release)
    assert read_release(str(tmp_path)).grid == release.grid


def test_the_only_one_or_the_one_asked_for(tmp_path: Path, release: Release) -> None:
    write_tables(tmp_path, release)
    assert_same(read_release(str(tmp_path)), release)
    assert read_release(str(tmp_path)).output == str(tmp_path)
    newer = replace(
        release,
        release_id="second-2",
        created=datetime(2021, 1, 1, tzinfo=UTC),
        cells=CellsInMemory(release.counts + 1, release.deviation),
    )
    older = replace(
        release, release_id="third-3", created=datetime(2019, 1, 1, tzinfo=UTC), cells=CellsInMemory(release.counts)
    )
    write_tables(tmp_path, newer, older)
    for one in (release, newer, older):
        assert_same(read_release(str(tmp_path), one.release_id), one)
    with pytest.raises(InvalidQuery, match=r"holds 3 releases, and nothing says which is meant:\n  second-2: created"):
        read_release(str(tmp_path))


def test_the_one_of_a_region(tmp_path: Path, release: Release) -> None:
    houston, dallas = (replace(release, release_id=f"{name}-1", region=name) for name in ("houston", "dallas"))
    write_tables(tmp_path, houston, dallas)
    assert_same(read_release(str(tmp_path), region="dallas"), dallas)
    with pytest.raises(InvalidQuery, match="or by its region"):
        read_release(str(tmp_path))


@pytest.mark.parametrize("folder", FOLDERS)
def test_any_name_of_a_folder(tmp_path: Path, release: Release, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tables(tmp_path / "plain", release)
    (tmp_path / "plain").rename(tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    for output in (folder, f"{tmp_path}/{folder}", f"file://{tmp_path}/{folder}"):
        assert_same(read_release(output), release)
    assert [path.name for path in tmp_path.iterdir()] == [folder]


@pytest.mark.parametrize("folder", ["out", "100% %41"])
def test_nothing_published_is_a_sentence(tmp_path: Path, folder: str) -> None:
    with pytest.raises(StageMissing, match=r"nothing is published in .* yet; run `vdr release` first"):
        read_release(f"{tmp_path}/{folder}")
    (tmp_path / folder / "tables/releases/_delta_log").mkdir(parents=True)
    with pytest.raises(StageMissing, match="nothing is published"):
        read_release(f"{tmp_path}/{folder}")


def test_an_unknown_release_is_a_sentence_with_those_there_are(tmp_path: Path, release: Release) -> None:
    write_tables(tmp_path, release)
    with pytest.raises(StageMissing, match=r"release other-9 is not published .* there .*:\n  first-1: created"):
        read_release(str(tmp_path), "other-9")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize(
    ("pattern", "damage"),
    [
        ("cells/release_id=first-1/*.parquet", cut),
        ("cells/release_id=first-1/*.parquet", Path.unlink),
        ("cells/_delta_log/*0.json", cut),
        ("cells/_delta_log/*0.json", Path.unlink),
        ("releases/*.parquet", cut),
        ("releases/*.parquet", Path.unlink),
        ("releases/_delta_log/*0.json", cut),
        ("releases/*.parquet", lambda path: path.write_text("nonsense")),
    ],
)
def test_a_damaged_table_is_a_sentence(tmp_path: Path, release: Release, pattern: str, damage) -> None:
    write_tables(tmp_path, release)
    (file,) = (tmp_path / "tables").glob(pattern)
    damage(file)
    with pytest.raises(DamagedTable, match=r"cannot be read .*must be restored|restore its files") as caught:
        _ = read_release(str(tmp_path)).counts
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert str(tmp_path / "tables" / pattern.split("/")[0]) in str(caught.value)


@pytest.mark.parametrize("change", ["missing", "twice", "outside", "negative", "null"])
def test_cells_that_are_not_the_grids_are_refused(tmp_path: Path, release: Release, change: str) -> None:
    cells = release.to_pandas().assign(release_id="first-1")
    changed = {
        "missing": cells.iloc[1:],
        "twice": cells.iloc[[0, *range(len(cells) - 1)]],
        "outside": cells.assign(x=cells["x"].replace(4, 5)),
        "negative": cells.assign(slice=cells["slice"].replace(2, -1)),
        "null": cells.assign(count=cells["count"].where(cells["y"] > 0)),
    }[change]
    write(tmp_path, "cells", pa.Table.from_pandas(changed, preserve_index=False), partition_by=["release_id"])
    with pytest.raises(DamagedTable, match="must hold each of the 75 cells of release first-1 once"):
        open_cells(str(tmp_path), "first-1", release.grid).read(EVERYTHING)


@pytest.mark.parametrize("change", [{"epsilon": "much"}, {"statement": "{"}, {"k": None}, {"slices": None}])
def test_a_row_that_promises_nothing_is_refused(tmp_path: Path, release: Release, change: dict[str, object]) -> None:
    row = {name: value for name, value in (release_row(release) | change).items() if value is not None}
    write(tmp_path, "releases", pa.Table.from_pylist([row]))
    with pytest.raises(DamagedTable, match="must say what was promised"):
        read_release(str(tmp_path))


def test_a_table_from_before_some_columns_is_read_without_them(tmp_path: Path, release: Release) -> None:
    row = {name: value for name, value in release_row(release).items() if name not in RELEASES.later_than(1)}
    write(tmp_path, "releases", pa.Table.from_pylist([row]))
    errors = read_release(str(tmp_path)).sum_errors
    assert errors is not None
    assert (errors.total, errors.sum_deviation) == (None, 0.0)


def test_other_releases_are_not_even_opened(tmp_path: Path, release: Release) -> None:
    other = replace(release, release_id="broken-2", created=datetime(2019, 1, 1, tzinfo=UTC))
    write_tables(tmp_path, release, other)
    for file in (tmp_path / "tables/cells/release_id=broken-2").glob("*.parquet"):
        file.write_text("nonsense")
    assert_same(read_release(str(tmp_path), release.release_id), release)


@pytest.mark.parametrize("folder", ["out", "100% %41 #"])
def test_the_same_to_the_bit_as_by_spark(spark: SparkSession, tmp_path: Path, release: Release, folder: str) -> None:
    output = f"{tmp_path}/{folder}"
    frame = release.to_pandas().assign(release_id=release.release_id, protected=True)
    other = frame.assign(release_id="other-2", count=0.0)
    for number, rows in enumerate((frame, other)):
        cells = spark.createDataFrame(rows[[name for name, _, _ in CELLS.columns]])
        cells = cells.select(*(F.col(name).cast(kind) for name, kind, _ in CELLS.columns)).repartition(3)
        create_if_missing(spark, f"{output}/tables/{CELLS.name}", CELLS)
        append_once(cells, f"{output}/tables/{CELLS.name}", CELLS, f"test:{number}")
    counts, deviation = open_cells(output, release.release_id, release.grid).read(EVERYTHING)
    table = to_arrow(select_cells(spark, OutputFolder.at(output), release.release_id).orderBy("slice", "y", "x"))
    assert counts.tobytes() == table.column("count").to_numpy().astype(np.float32).tobytes()
    assert deviation is not None
    assert deviation.tobytes() == table.column("deviation").to_numpy().astype(np.float32).tobytes()
    assert counts.tobytes() == release.counts.tobytes()
    write(tmp_path, "releases", pa.Table.from_pylist([release_row(release)]))
    (tmp_path / "tables/releases").rename(f"{output}/tables/releases")
    read = read_release(output)
    assert_same(read, release)
    assert read.to_spark(spark).count() == release.grid.size
    register_views(spark, output)
    assert spark.sql("SELECT count(*) FROM cells").head()[0] == release.grid.size  # type: ignore[index]
    with pytest.raises(StageMissing, match="release other-2 is not published"):
        register_views(spark, output, "other-2")
    with pytest.raises(StageMissing, match="nothing is published"):
        register_views(spark, f"{tmp_path}/nowhere")
