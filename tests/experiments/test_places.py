"""Which pings an experiment is on."""

from pathlib import Path

import pytest

from vdr_spark.errors import InvalidConfig
from vdr_spark.experiments.places import Place


def test_a_place_changes_its_preset() -> None:
    place = Place.of({"preset": "houston", "cells": 48, "slices": 576}, None)
    assert place.grid.shape == (576, 48, 48)
    assert place.grid.slice_seconds == 1800
    assert Place.of({"preset": "demo", "days": 2}, None).grid.slices == 16
    assert "48 x 48 x 576 cells" in place.describe()


def test_numbers_may_be_written_as_the_help_has_them() -> None:
    """YAML takes 1e6 for a word."""
    assert Place.of({"preset": "demo", "pings": "1e6"}, None).pings == 1_000_000


def test_what_only_generated_pings_have_is_left_out_with_a_file(tmp_path: Path) -> None:
    place = Place.of({"preset": "tdrive", "pings": 5}, str(tmp_path / "t.parquet"))
    assert place.pings is None
    assert "t.parquet" in place.describe()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"preset": "nowhere"}, "must be one of"),
        ({"preset": "tdrive"}, "of a real file"),
        ({"preset": "demo", "slices": 37}, "whole number of slices"),
        ({"preset": "demo", "share": 2.0}, "at most 1"),
        ({"preset": "demo", "speed": 3}, "data.speed: unknown"),
        ({"preset": "demo", "cells": 0}, "data.cells: must be a whole number, at least 2, not 0"),
        ({"preset": "demo", "days": "x"}, "data.days: must be a whole number, at least 1, not 'x'"),
        ({"preset": "demo", "days": 0}, "data.days: .*, not 0"),
        ({"preset": "demo", "pings": -5}, "data.pings: .*, not -5"),
        ({"preset": "demo", "sigma_cells": "wide"}, "data.sigma_cells: must be a positive number, not 'wide'"),
    ],
)
def test_what_cannot_be_had_is_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidConfig, match=words):
        Place.of(settings, None)


def test_a_file_is_told_by_its_content_not_by_its_folder(tmp_path: Path) -> None:
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "pings.parquet").write_bytes(b"12345")
    one, other = (Place.of({"preset": "tdrive"}, str(tmp_path / of / "pings.parquet")) for of in ("one", "other"))
    assert one.identify()["path"][0][:2] == other.identify()["path"][0][:2] == ["pings.parquet", 5]
