"""A look at the input without Spark: is it there, and does it say of itself what we expect? No row is read."""

import gzip
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vdr_spark.config.settings import InputSettings
from vdr_spark.pings.preview import preview_input

NOW = pd.Timestamp("2020-01-07 06:00", tz="UTC")
FITTING: dict[str, Any] = {"user_id": ["a"], "lat": [29.7], "lon": [-95.3], "ts": [NOW]}
Store = Callable[..., InputSettings]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Writes one Parquet file, in a folder of its own below the input, and returns the settings that name it."""

    def write(table: dict[str, Any], folder: str = "day=1", **settings: Any) -> InputSettings:
        place = tmp_path / "pings" / folder
        place.mkdir(parents=True)
        (tmp_path / "pings/_SUCCESS").touch()
        pq.write_table(pa.table(table), place / "anna.parquet")
        return InputSettings(path=str(tmp_path / "pings"), **settings)

    return write


def test_pings_that_fit(store: Store, tmp_path: Path) -> None:
    assert preview_input(store(FITTING)) == []
    assert preview_input(InputSettings(path=f"file://{tmp_path}/pings/day=1/anna.parquet")) == []


def test_nothing_there(tmp_path: Path) -> None:
    settings = InputSettings(path=f"{tmp_path}/nowhere")
    assert preview_input(settings) == [
        f"input.path: there is nothing at {tmp_path}/nowhere; name a file or a folder that exists."
    ]
    assert "`vdr synth` generates the pings" in preview_input(settings, is_to_be_generated=True)[0]
    (tmp_path / "empty").mkdir()
    assert "holds no files" in preview_input(InputSettings(path=f"{tmp_path}/empty"))[0]


def test_what_only_spark_can_look_at() -> None:
    assert preview_input(InputSettings(table="main.pings")) == []
    assert preview_input(InputSettings(dataframe="pings")) == []


@pytest.mark.parametrize("path", ["nosuchstore://bucket/pings", "memory://nowhere"])
def test_a_store_that_cannot_be_reached_is_a_sentence(path: str) -> None:
    (sentence,) = preview_input(InputSettings(path=path))
    assert sentence.startswith("input.path: ")
    assert "cannot be looked at from here" in sentence or "there is nothing" in sentence


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("ts", ["2020-01-07"], "column `ts` (ts) holds text, read row by row"),
        ("ts", [1578400000], "holds numbers, taken for seconds"),
        ("ts", [NOW.tz_localize(None)], "times without a zone, and input.timezone is not set: they are read in UTC"),
        ("ts", [date(2020, 1, 7)], "is kept as date32[day], and must be timestamps"),
        ("lat", [29], "holds whole numbers; degrees have decimals"),
        ("lon", ["-95,3"], "column `lon` (lon) holds text, read row by row"),
        ("lat", [NOW], "is kept as instant, and must be numbers"),
        ("user_id", [1.5], "column `user_id` (user_id) is kept as number, and must be text or whole numbers"),
    ],
)
def test_types_that_one_should_know_of(store: Store, column: str, values: list[Any], words: str) -> None:
    (sentence,) = preview_input(store(FITTING | {column: values}))
    assert words in sentence


def test_a_zone_that_is_given_is_no_matter(store: Store) -> None:
    local = FITTING | {"ts": [NOW.tz_localize(None)]}
    assert preview_input(store(local, timezone="America/Chicago")) == []


def test_decimals_are_numbers(store: Store) -> None:
    assert preview_input(store(FITTING | {"lat": pa.array([Decimal("29.7")], pa.decimal128(9, 6))})) == []


def test_columns_that_are_missing_are_named(store: Store) -> None:
    (sentence,) = preview_input(store({**FITTING, "id": [1]}, columns={"user_id": "device"}))
    assert "no column `device` for `user_id`" in sentence
    assert "found `user_id`, `lat`, `lon`, `ts`, `id`" in sentence
    assert "anna" not in sentence  # files may be named after people


def test_a_column_may_come_from_the_names_of_folders(store: Store) -> None:
    columns = {name: values for name, values in FITTING.items() if name != "user_id"}
    assert preview_input(store(columns, folder="user_id=anna")) == []


def test_formats(store: Store, tmp_path: Path) -> None:
    settings = store(FITTING)
    as_delta = settings.model_copy(update={"format": "delta"})
    assert "is no Delta table" in preview_input(as_delta)[0]
    (tmp_path / "pings/_delta_log").mkdir()
    assert preview_input(as_delta) == []
    assert "is a Delta table; set input.format: delta" in preview_input(settings)[0]
    text = tmp_path / "pings.txt"
    text.write_text("no Parquet")
    assert "is no Parquet file" in preview_input(InputSettings(path=str(text)))[0]


@pytest.mark.parametrize(
    ("content", "settings", "missing"),
    [
        ("user_id,lat,lon,ts\n1,2,3,4", {}, []),
        ('"USER_ID";"Lat";lon;ts', {"separator": ";"}, []),
        ("user_id,lat,lon,ts", {"separator": ";"}, ["user_id", "lat", "lon", "ts"]),
        ("anna,29.7,-95.3,2020-01-07", {}, ["user_id", "lat", "lon", "ts"]),
        ("anna,29.7,-95.3,2020-01-07", {"header": False}, []),
        ("device,lat,lon,ts", {"columns": {"user_id": "device"}}, []),
        ("anna\tb", {"layout": "gowalla"}, []),
    ],
)
def test_headers(tmp_path: Path, content: str, settings: dict[str, Any], missing: list[str]) -> None:
    (tmp_path / "pings.csv").write_text(content)
    given = {"format": "csv"} | settings
    found = preview_input(InputSettings(path=str(tmp_path / "pings.csv"), **given))
    assert len(found) == len(missing)
    for ours, sentence in zip(missing, found, strict=True):
        assert f"no column `{ours}` for `{ours}`" in sentence
        assert "anna,29" not in sentence


def test_packed_text_is_left_to_the_reader(tmp_path: Path) -> None:
    (tmp_path / "pings.csv.gz").write_bytes(gzip.compress(b"a,b"))
    assert preview_input(InputSettings(path=str(tmp_path / "pings.csv.gz"), format="csv")) == []
