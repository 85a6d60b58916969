"""Every function in DuckDB, over tables on a disk, against the library."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.release.published import withdraw, write_pyramid, write_tables
from tests.sql.questions import (
    Ask,
    box_text,
    cells_box,
    check_edges_of_the_question,
    check_hotspots,
    check_hour_profile,
    check_range_counts,
    check_series,
    make_release,
    moment,
    plain_errors,
)
from vdr_spark.errors import InvalidQuery, Withdrawn
from vdr_spark.release.release import Release
from vdr_spark.release.sql_functions import register_duckdb
from vdr_spark.sql import subject


@pytest.fixture(scope="module")
def release() -> Release:
    return make_release()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, release: Release) -> Path:
    output = tmp_path_factory.mktemp("tables")
    write_tables(output, release)
    write_pyramid(output, release)
    return output


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute("SET TimeZone = 'Asia/Tokyo'")  # an answer must not depend on it
        yield opened


def asking(connection: duckdb.DuckDBPyConnection) -> Ask:
    def ask(question: str) -> list[dict[str, Any]]:
        cursor = connection.execute(f"SELECT * FROM {question}")
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    return ask


def register(connection: duckdb.DuckDBPyConnection, folder: Path, **chosen: Any) -> Ask:
    register_duckdb(connection, str(folder), **chosen)
    return asking(connection)


def test_range_counts(connection: duckdb.DuckDBPyConnection, folder: Path, release: Release) -> None:
    check_range_counts(release, register(connection, folder), 40, moment)


def test_any_levels_give_one_answer(
    connection: duckdb.DuckDBPyConnection, folder: Path, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a grid so large that squares of squares are used."""
    monkeypatch.setattr(subject, "_LEVELS", (2, 4, 16))
    monkeypatch.setattr(subject, "_MANY", 1)
    check_range_counts(release, register(connection, folder), 20, moment)
    check_series(release, register(connection, folder), cells_box(release, 3.25, 10, 71, 61.5))


def test_questions_at_the_edge(connection: duckdb.DuckDBPyConnection, folder: Path, release: Release) -> None:
    check_edges_of_the_question(release, register(connection, folder), duckdb.Error)


def test_series_hours_and_hot_spots(connection: duckdb.DuckDBPyConnection, folder: Path, release: Release) -> None:
    ask = register(connection, folder)
    for box in (cells_box(release, 3.25, 10, 71, 61.5), cells_box(release, 0, 0, 75, 75)):
        check_series(release, ask, box)
        check_hour_profile(release, ask, box)
    check_hotspots(release, ask, 150.0)


@pytest.mark.parametrize("kind", ["not scaled", "no clumps", "one size", "one number of slices"])
def test_errors_of_every_kind(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, release: Release, kind: str
) -> None:
    other = plain_errors(release, kind)
    write_tables(tmp_path, other)
    check_range_counts(other, register(connection, tmp_path), 8, moment)  # from its cells: it has no pyramid


def test_a_release_without_error_bars(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    release = make_release(deviations=False)
    write_tables(tmp_path, release)
    write_pyramid(tmp_path, release)
    ask = register(connection, tmp_path)
    check_range_counts(release, ask, 6, moment)
    check_hour_profile(release, ask, cells_box(release, 3, 3, 40, 40))
    check_hotspots(release, ask, 150.0)


def test_the_pyramid_is_what_is_read(connection: duckdb.DuckDBPyConnection, folder: Path, release: Release) -> None:
    """A sum that was changed shows in the answers about what holds it, and in no other."""
    ask = register(connection, folder)
    city = box_text(cells_box(release, 0, 0, 75, 75))
    before = ask(f"range_count({city})")[0]["count"]
    changed = "SELECT * REPLACE (count + CASE WHEN factor = 16 AND slices = 1 AND slice = 0 THEN 1 ELSE 0 END AS count)"
    connection.execute(f"CREATE TEMPORARY TABLE other AS {changed} FROM pyramid")
    connection.execute("CREATE OR REPLACE TEMPORARY VIEW pyramid AS SELECT * FROM other")
    assert ask(f"range_count({city})")[0]["count"] == before + 25  # 5 x 5 squares
    small = cells_box(release, 5, 5, 30, 30)
    assert ask(f"range_count({box_text(small)})")[0]["count"] == release.range_count(small).count


def test_a_withdrawn_release_is_not_answered(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, release: Release
) -> None:
    write_tables(tmp_path, release, replace(release, release_id="other-2"))
    ask = register(connection, tmp_path, release_id="city-1")
    questions = (f"range_count({box_text(release.grid.box)})", f"series({box_text(release.grid.box)})", "hotspots(150)")
    assert all(ask(question) for question in questions)
    with pytest.raises(InvalidQuery, match="holds 2 releases"):
        register(connection, tmp_path)
    # As an engine sees it whose tables are always those of now.
    connection.execute("CREATE OR REPLACE TEMPORARY VIEW withdrawals AS SELECT 'city-1' AS release_id")
    assert not any(ask(question) for question in (*questions, "release_in_force", "release_cells"))
    assert {row["release_id"] for row in ask("(SELECT DISTINCT release_id FROM released_cells)")} == {"other-2"}
    withdraw(tmp_path, "city-1")
    with pytest.raises(Withdrawn, match="a test"):
        register(connection, tmp_path, release_id="city-1")
    ask = register(connection, tmp_path)  # the only one that is left
    assert ask("release_in_force")[0]["release_id"] == "other-2"


@pytest.mark.parametrize("name", ["it's", 'a"b', "x; DROP TABLE cells; --", "1e3"])
def test_odd_names_stay_names(connection: duckdb.DuckDBPyConnection, tmp_path: Path, name: str) -> None:
    release = make_release(release_id=name)
    write_tables(tmp_path, release)
    assert register_duckdb(connection, str(tmp_path), prefix=name)[0] == '"' + name.replace('"', '""') + 'range_count"'
    question = "".join(('"', name.replace('"', '""'), 'range_count"(', box_text(release.grid.box), ")"))
    assert asking(connection)(question)[0]["count"] == release.range_count(release.grid.box).count
