"""A series from the command line: backfill in order, a second start, a correction, views, an audit; and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from tests.cli.test_app import call
from tests.plans import release_id_of
from tests.series.configurations import weekly_series, write_conf, write_weeks
from vdr_spark import Publisher, register_duckdb, register_series
from vdr_spark.config import load_config
from vdr_spark.errors import InvalidConfig
from vdr_spark.release.read import read_release
from vdr_spark.release.register import list_releases, withdraw_release
from vdr_spark.release.views import register_views
from vdr_spark.series.past import find_past

SERIES = weekly_series(Path())["series"] | {"correction_share": "1/4"}


def status(conf: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    capsys.readouterr()
    assert call("series", "status", conf, "--json") == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_windows_are_backfilled_in_order_once(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_weeks(tmp_path, 3)
    conf = write_conf(tmp_path, series=SERIES)
    until = "2020-01-22"  # two weeks are due
    assert call("release", conf, "--until", until) == 0
    found = status(conf, capsys)
    assert [one["state"] for one in found["windows"][:3]] == ["published", "published", "due"]  # type: ignore[index]
    assert found["spent_by_series"] == "57/20"  # three quarters of 2 and of 9/5
    names = sorted(record.release_id[:13] for record in list_releases(str(tmp_path / "out")))
    assert names == ["city-2020-w02", "city-2020-w03"]

    assert call("release", conf, "--until", until) == 0  # a second start
    assert "nothing is due that is not published" in capsys.readouterr().out
    assert status(conf, capsys)["spent"] == found["spent"]

    # Stage by stage the order is kept, too.
    late = load_config(conf, ["window=2020-W05"])
    with pytest.raises(InvalidConfig, match="windows are released in order, and before 2020-W05 2020-W04 is"):
        Publisher(late, spark).release()

    # The third week will have the two before it as evidence.
    third = load_config(conf, ["window=2020-W04"])
    ((first, second),) = find_past(spark, third)
    assert [window.release.config.window for window in (first, second)] == ["2020-W02", "2020-W03"]
    assert all("draw_id=city-2020-w03" in file for file in second.files)

    # What the promise means over the series stands in every statement, and the audit passes.
    own = release_id_of(load_config(conf, ["window=2020-W03"]))
    statement = read_release(str(tmp_path / "out"), own).statement
    assert statement["exact"]["series"]["window"] == "2020-W03"
    assert "however many there will ever be" in statement["exact"]["series"]["meaning"]
    assert "of the series city" in (tmp_path / "out/statements" / f"{own}.html").read_text()
    assert call("audit", conf, "--set", "window=2020-W03") == 0

    # A correction supersedes, and what it superseded stays.
    assert call("release", conf, "--window", "2020-W03", "--correct", "a phone came late") == 0
    assert len(list_releases(str(tmp_path / "out"))) == 3
    corrected = status(conf, capsys)["windows"][1]  # type: ignore[index]
    assert (corrected["state"], corrected["correction"], corrected["spent"]) == ("published", "published", "9/5")
    assert call("release", conf, "--window", "2020-W03", "--correct", "again") == 2
    assert "was corrected already" in capsys.readouterr().err

    check_views(spark, tmp_path / "out", own)

    # What was withdrawn is no evidence, however the windows after it are denoised.
    withdraw_release(str(tmp_path / "out"), release_id_of(load_config(conf, ["window=2020-W02"])), "wrong phones")
    ((left,),) = find_past(spark, load_config(conf, ["window=2020-W04", "denoise.model=ridge"]))
    assert left.release.config.window == "2020-W03"


def check_views(spark: SparkSession, output: Path, release_id: str) -> None:
    """All windows are read as one series, each once: by Spark and by DuckDB, before and after a withdrawal."""
    query = (
        "SELECT w.window_name, w.is_correction, count(*), round(sum(c.count)) FROM series_cells c "
        "JOIN windows w ON w.release_id = c.release_id GROUP BY ALL ORDER BY 1"
    )
    cells = 28 * 64

    def ask() -> list[tuple[object, ...]]:
        register_views(spark, str(output), release_id)
        connection = duckdb.connect()
        register_duckdb(connection, str(output), release_id)
        by_duckdb = connection.execute(query).fetchall()
        assert [tuple(row) for row in spark.sql(query).collect()] == by_duckdb
        register_series(spark, str(output))  # the same, without a release that is chosen
        assert [tuple(row) for row in spark.sql(query).collect()] == by_duckdb
        return by_duckdb

    assert [row[:3] for row in ask()] == [("2020-W02", False, cells), ("2020-W03", True, cells)]
    correction = next(r.release_id for r in list_releases(str(output)) if "w03-c-" in r.release_id)
    withdraw_release(str(output), correction, "it was wrong, too")
    assert [row[:2] for row in ask()][1] == ("2020-W03", False)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--window", "2020-W01"], 2, "must not lie before the first of the series, 2020-W02"),
        (["--window", "2199-W05"], 2, "must be one whose time has passed"),
        (["--window", "2020-W04"], 2, "windows are released in order"),
        (["--window", "2020-W02", "--window", "2020-W03"], 2, "for several windows say --until"),
        (["--window", "2020-W02", "--next"], 2, "give one of --window"),
        (["--until", "2199-01-01"], 2, "must not lie in the future"),
        (["--until", "2020-02-05", "--set", "privacy.budget=3"], 3, "ends within the windows asked for"),
        (["--next", "--correct", "late"], 2, "name it with --window"),
        (["--window", "2020-W02", "--correct", "late"], 2, "2020-W02 is due; release it"),
        ([], 2, "window is missing"),
        (["--next", "--set", "window=2020-W03"], 2, "window is set to 2020-W03, in the configuration or by --set"),
        (["--window", "2020-W02", "--set", "window=2020-W03"], 2, "window is set to 2020-W03"),
        (["--until", "2020-W05"], 2, "--until takes today, or a day such as 2020-02-03, not '2020-W05'"),
    ],
)
def test_what_is_refused_leaves_nothing_behind(
    arguments: list[str], code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = write_conf(tmp_path, series=SERIES)
    assert call("release", conf, *arguments) == code
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_dry_run_of_a_window_reserves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_weeks(tmp_path, 1)
    assert call("release", write_conf(tmp_path), "--next", "--dry-run") == 0
    assert "would reserve epsilon 2" in capsys.readouterr().out
    assert not (tmp_path / "out/tables").exists()


def test_a_dry_run_of_several_windows_says_what_all_of_them_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_weeks(tmp_path, 2)
    assert call("release", write_conf(tmp_path), "--until", "2020-01-22", "--dry-run") == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "epsilon 19/5 is to be spent for all of them, and 81/5 is left then" in told
    assert "window 2020-W03 of series city (2 of 2)" in told


def test_a_day_on_which_nothing_was_due_yet_is_told_as_that(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("release", write_conf(tmp_path), "--until", "2020-01-08") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "nothing is due that is not published, as of that day. Window 2020-W02 is due on 2020-01-15" in told


def test_a_series_whose_first_window_is_skipped_is_a_series(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf = write_conf(tmp_path, series=SERIES | {"skip": ["2020-W02"]})
    found = status(conf, capsys)
    assert [one["state"] for one in found["windows"][:2]] == ["skipped", "due"]  # type: ignore[index]
    assert call("explain", conf) == 0
    assert "Window 2020-W03, number 2 of series city" in capsys.readouterr().out


@pytest.mark.parametrize("engine", ["spark", "duckdb", "trino"])
def test_the_views_as_text(engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        call("series", "sql", write_conf(tmp_path), "--engine", engine, "--schema", "main.city", "--prefix", "x_") == 0
    )
    told = capsys.readouterr().out
    mark = "`" if engine == "spark" else '"'
    assert told.count("CREATE OR REPLACE VIEW") == 2
    assert f"{mark}main{mark}.{mark}city{mark}.{mark}x_series_cells{mark}" in told


def test_explain_says_when_the_budget_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    privacy = weekly_series(tmp_path)["privacy"] | {"budget": 5}
    assert call("explain", write_conf(tmp_path, privacy=privacy)) == 0
    told = capsys.readouterr().out
    assert "epsilon 5, pays for 2 further windows, until 2020-W03" in told
    assert "All windows of the series together, however many there will ever be, cost at most epsilon 20" in told
    assert "what comes later, or is corrected later, is left out for ever" in told
