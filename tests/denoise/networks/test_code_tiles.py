"""Codes are decoded from the checkpoint of a training, the emptiest first."""

from pathlib import Path

import numpy as np
import pytest

from tests.denoise.networks.small_training import CONTINUOUS, SMALL, slices, train
from vdr_spark.denoise.networks.code_tiles import read_code_tiles
from vdr_spark.report_page.codes_section import codes_section

pytestmark = pytest.mark.usefixtures("one_thread")


def test_every_code_has_a_tile_and_a_share(tmp_path: Path) -> None:
    train(slices(), SMALL, tmp_path)
    codes = read_code_tiles(str(tmp_path))
    assert codes is not None
    assert codes.tiles.shape == (SMALL.codebook_size, 12, 12)
    assert codes.shares.sum() == pytest.approx(1)
    means = codes.tiles.mean(axis=(1, 2))
    assert (np.diff(means) >= 0).all()
    page = codes_section(codes)
    assert page.count("data:image/png") == (codes.shares >= 1e-4).sum() > 1
    assert f"an alphabet of {SMALL.codebook_size} codes" in page


def test_without_a_codebook_there_are_none(tmp_path: Path) -> None:
    assert read_code_tiles(str(tmp_path)) is None
    train(slices(), CONTINUOUS, tmp_path)
    assert read_code_tiles(str(tmp_path)) is None
