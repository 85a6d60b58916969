"""A small city, and a way to look at what was plotted."""

import io
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pytest
from PIL import Image

from tests.release.hand_made import hand_made
from vdr_spark.grid import Box
from vdr_spark.release.release import Release
from vdr_spark.storage.files import filesystem


@pytest.fixture
def city() -> Release:
    """Three days of a city with one centre in the north-west and a daily rhythm, published as protected."""
    y, x = np.mgrid[0:24, 0:24]
    centre = 200 * np.exp(-np.hypot(y - 18, x - 5) / 4)
    rhythm = np.tile([0.2, 0.1, 0.5, 1, 1.2, 1.3, 1, 0.6], 3)
    start, box = datetime(2020, 1, 7, 6, tzinfo=UTC), Box.around(29.76, -95.37, 20_000)
    return hand_made(rhythm[:, None, None] * centre, start=start, box=box)


@pytest.fixture
def look() -> Callable[[str], np.ndarray]:
    """Decodes a picture: (height, width, 3) of 0..255."""

    def decode(path: str) -> np.ndarray:
        fs, inside = filesystem(path)
        with Image.open(io.BytesIO(fs.cat_file(inside))) as image:
            assert image.format == "PNG"
            return np.asarray(image.convert("RGB")).astype(int)

    return decode
