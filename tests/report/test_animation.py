"""A day as a moving picture has the released slices, begins anew, and is marked where it must be."""

import io
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vdr_spark.errors import InvalidQuery
from vdr_spark.release.release import Release
from vdr_spark.report import animation
from vdr_spark.report.animation import animate_day


@pytest.fixture(autouse=True)
def _two_pictures_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(animation, "_STEPS", 2)


def frames(path: Path) -> list[np.ndarray]:
    with Image.open(io.BytesIO(path.read_bytes())) as image:
        assert image.format == "WEBP"
        found = []
        for number in range(image.n_frames):  # type: ignore[attr-defined]
            image.seek(number)
            found.append(np.asarray(image.convert("RGB")).astype(int))
    return found


def test_it_is_bright_when_the_city_is_busy(city: Release, tmp_path: Path) -> None:
    animate_day(city, date(2020, 1, 8), str(tmp_path / "day.webp"))
    pictures = frames(tmp_path / "day.webp")
    assert len(pictures) == 8 * 2
    light = [picture[120:400].mean() for picture in pictures]
    quiet, busy = 6, 14  # 09:00 and 21:00 in UTC
    assert light[busy] > 1.5 * light[quiet]


def test_what_protects_nobody_is_marked(city: Release, tmp_path: Path) -> None:
    def red(release: Release) -> int:
        animate_day(release, date(2020, 1, 8), str(tmp_path / "day.webp"))
        (first, *_) = frames(tmp_path / "day.webp")
        return int((np.abs(first - [193, 18, 31]).sum(axis=2) < 60).sum())

    assert red(city) < 50
    assert red(replace(city, protected=False)) > 500


def test_a_day_of_one_slice_does_not_move(city: Release, tmp_path: Path) -> None:
    long = replace(city, grid=replace(city.grid, slice_seconds=10 * 86_400))
    with pytest.raises(InvalidQuery, match="needs a day of several slices"):
        animate_day(long, date(2020, 1, 9), str(tmp_path))
