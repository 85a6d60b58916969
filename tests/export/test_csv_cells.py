"""CSV, as the standard library and pandas read it."""

import csv
import json
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.export.releases import STATEMENT, numbered


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_pandas_reads_the_same_numbers(name: str, tmp_path: Path) -> None:
    release = numbered()
    paths = release.export(tmp_path / name, "csv")
    assert [path.name for path in paths] == [name, "a.statement.json"]
    types = {"count": np.float32, "deviation": np.float32, "slice": np.int32, "y": np.int32, "x": np.int32}
    frame = pd.read_csv(paths[0], dtype=types, parse_dates=["slice_start"], float_precision="round_trip")
    expected = release.to_pandas()
    assert frame.columns.tolist() == expected.columns.tolist()
    for column in expected.columns:
        assert (frame[column] == expected[column]).all(), column
    assert (tmp_path / name).read_bytes()[:2] == (b"\x1f\x8b" if name.endswith("gz") else b"sl")


def test_a_row_reads_plainly(tmp_path: Path) -> None:
    numbered(deviation=False).export(tmp_path / "a.csv", "csv")
    with open(tmp_path / "a.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 75
    row = rows[-1]
    assert (row["slice"], row["slice_start"], row["y"], row["x"]) == ("2", "2020-01-07T06:00:00Z", "4", "4")
    assert datetime.fromisoformat(row["slice_start"]).utcoffset() is not None
    assert np.float32(row["count"]) == np.float32(74) / np.float32(7)
    assert row["deviation"] == ""


def test_the_statement_beside_it_is_json(tmp_path: Path) -> None:
    numbered().export(tmp_path / "a.csv", "csv")
    said = json.loads((tmp_path / "a.statement.json").read_text())
    assert said["statement"] == STATEMENT
    assert (said["protected"], said["k"]) == (True, 160)
