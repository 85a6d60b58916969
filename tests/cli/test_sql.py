"""`vdr sql show` prints what an engine runs as it is; `vdr sql install` refuses in sentences what cannot be done."""

import re
from pathlib import Path

import duckdb
import pytest

from tests.cli.test_app import call
from tests.cli.test_query import arguments as arguments
from tests.cli.test_query import heavy_modules
from tests.release.published import withdraw
from tests.sql.questions import box_text
from vdr_spark import Publisher, read_release
from vdr_spark.release.sql_functions import register_duckdb


def shown(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    assert call("sql", "show", *command) == 0
    return capsys.readouterr().out


def test_an_engine_runs_what_is_printed(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = str(tmp_path / "out")
    script = shown(capsys, *arguments, "--engine", "duckdb", "--prefix", "my_")
    assert script == shown(capsys, output, "--engine", "duckdb", "--prefix", "my_")
    release = read_release(output)
    assert script.startswith(f"-- Release {release.release_id}: views and functions over its tables, for duckdb.")
    assert "-- It has no pyramid: everything is answered from its cells." in script
    with duckdb.connect() as connection:
        register_duckdb(connection, output)  # what a person does who has the tables under these names
        connection.execute(script)
        answer = connection.execute(f"SELECT count FROM my_range_count({box_text(release.grid.box)})").fetchone()
        assert answer == (release.counts.sum(dtype=float),)
        assert connection.execute("SELECT count(*) FROM my_released_cells").fetchone() == (release.counts.size,)


def test_a_template_is_filled_in_and_needs_no_views(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = str(tmp_path / "out")
    release = read_release(output)
    queries = shown(capsys, *arguments, "--engine", "duckdb", "--template").split(";\n")
    values = dict(zip((":south", ":west", ":north", ":east"), map(repr, vars(release.grid.box).values()), strict=True))
    values |= {":from_time": "NULL", ":to_time": "NULL", ":nu": "200"}
    filled = [re.sub(r":(?=[a-z])\w+", lambda found: values[found.group()], query) for query in queries[:4]]
    with duckdb.connect() as connection:
        register_duckdb(connection, output)
        connection.execute("DROP VIEW release_in_force")
        found = [connection.execute(query).fetchall() for query in filled]
    assert found[0][0][0] == release.counts.sum(dtype=float)
    assert [len(rows) for rows in found] == [1, release.grid.slices, 8, int((release.counts >= 200).sum())]


def test_trino_gets_templates_in_its_own_words(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = read_release(str(tmp_path / "out"))
    script = shown(capsys, *arguments, "--engine", "trino")
    assert script.count("WITH release_in_force AS (") == 4
    assert "CREATE" not in script
    assert "`" not in script
    assert f"r.release_id = '{release.release_id}'" in script
    assert "to_unixtime(CAST(:from_time AS TIMESTAMP(6) WITH TIME ZONE))" in script
    assert set(re.findall(r":[a-z]\w+", script)) == {
        *(":south", ":west", ":north", ":east"),
        *(":from_time", ":to_time", ":nu"),
    }


def test_spark_gets_the_tables_at_their_paths(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = shown(capsys, *arguments, "--engine", "databricks", "--schema", "main.it`s")
    assert f"FROM delta.`{tmp_path}/out/tables/cells` c" in script
    assert "CREATE OR REPLACE FUNCTION `main`.`it``s`.`range_count`(south DOUBLE COMMENT 'southern edge" in script
    assert "WHERE 1 = 0" in script  # these tables know no withdrawals yet
    withdraw(tmp_path / "out", "another")
    again = shown(capsys, *arguments, "--engine", "spark")
    assert f"FROM delta.`{tmp_path}/out/tables/withdrawals` w" in again
    overrides = arguments[2::2]
    assert again.rstrip() == Publisher.from_yaml(arguments[0], *overrides).sql().rstrip()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["show", "--engine", "oracle"], "engine must be one of spark, databricks, duckdb, trino, not 'oracle'"),
        (["show", "--release", "other"], "release other is not published"),
        (["install"], "schema must name where views and functions shall stay"),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    arguments: list[str], command: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("sql", command[0], *arguments, *command[1:]) != 0
    assert words in " ".join(capsys.readouterr().err.split())


def test_a_folder_without_tables_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("sql", "show", str(tmp_path / "none")) != 0
    assert "nothing is published in" in " ".join(capsys.readouterr().err.split())


def test_show_loads_nothing_heavy(arguments: list[str]) -> None:
    assert heavy_modules("sql", "--help") == "heavy:"
    assert heavy_modules("sql", "show", *arguments) == "heavy:"
