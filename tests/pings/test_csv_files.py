"""Text with columns of one's own, with a header and without; a first line that may be a person is not repeated."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.pings.reading import NOON_S, SECRET, refusal, rows, settings
from vdr_spark.pings.readers import read_pings


def test_csv_with_columns_of_ones_own(any_zone: SparkSession, tmp_path: Path) -> None:
    for name, user in [("a.csv", "u"), ("b.csv", "v")]:
        lines = ["when;who;y pos;x.pos", f"2020-01-07 06:00:00;{user};29.5;-95.5"]
        (tmp_path / name).write_text("\n".join([*lines, f"2020-01-07T12:00:00+00:00;{user};1;2", ""]))
    columns = {"user_id": "who", "lat": "y pos", "lon": "x.pos", "ts": "when"}
    given = settings(tmp_path, format="csv", separator=";", columns=columns, timezone="America/Chicago")
    assert rows(read_pings(any_zone, given)) == [
        ("u", 1.0, 2.0, NOON_S),
        ("u", 29.5, -95.5, NOON_S),
        ("v", 1.0, 2.0, NOON_S),
        ("v", 29.5, -95.5, NOON_S),
    ]


def test_csv_without_header(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{NOON_S},u,29.5,-95.5,more\n")
    columns = {"user_id": "_c1", "lat": "_c2", "lon": "_c3", "ts": "_c0"}
    given = settings(tmp_path, format="csv", header=False, columns=columns)
    assert rows(read_pings(spark, given)) == [("u", 29.5, -95.5, NOON_S)]
    (tmp_path / "a.csv").write_text(f"u,29.5,-95.5,{NOON_S}\n")
    assert rows(read_pings(spark, settings(tmp_path, format="csv", header=False))) == [("u", 29.5, -95.5, NOON_S)]
    said = refusal(spark, settings(tmp_path, format="csv", header=False, columns={"ts": "_c3"}))
    assert "_c0" in said


def test_a_row_taken_for_a_header_is_not_repeated(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{SECRET},29.7604,-95.3698,2020-01-07 06:00:00\n" * 2)
    said = refusal(spark, settings(tmp_path, format="csv"))
    assert "header: false" in said
    assert SECRET not in said
    assert "29.7" not in said


@pytest.mark.parametrize("first", [f"{SECRET} 29.7612 95.3711 2020-01-07 13:00:05", f"{SECRET},Main Street,x,y"])
def test_a_first_line_that_might_be_a_person_is_never_repeated(spark: SparkSession, tmp_path: Path, first: str) -> None:
    (tmp_path / "a.csv").write_text(first + "\n")
    said = refusal(spark, settings(tmp_path, format="csv"))
    assert "none of that name" in said
    for part in (SECRET, "29.7612", "Main Street"):
        assert part not in said
