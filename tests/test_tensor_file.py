"""A tensor survives the way to a file and back, with and without error bars, and is never seen half."""

from pathlib import Path

import numpy as np
import pytest

from vdr_spark.errors import StageMissing
from vdr_spark.tensor_file import Tensor, read_tensor, write_tensor

COUNTS = np.arange(3 * 5 * 5, dtype=np.float32).reshape(3, 5, 5)


@pytest.mark.parametrize("deviation", [None, COUNTS + 1])
def test_round_trip(tmp_path: Path, deviation: np.ndarray | None) -> None:
    path = str(tmp_path / "work" / "tensor.parquet")
    write_tensor(path, Tensor(COUNTS, deviation))
    back = read_tensor(path, 5)
    assert (back.counts == COUNTS).all()
    assert (back.deviation is None) == (deviation is None)
    if deviation is not None:
        assert (back.deviation == deviation).all()
    assert [file.name for file in (tmp_path / "work").iterdir()] == ["tensor.parquet"]


def test_scaled() -> None:
    scaled = Tensor(COUNTS, COUNTS).scaled(2.5)
    assert (scaled.counts == 2.5 * COUNTS).all()
    assert (scaled.deviation == 2.5 * COUNTS).all()


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(StageMissing, match="run the stage before"):
        read_tensor(str(tmp_path / "none.parquet"), 5)
