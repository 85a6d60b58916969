"""A tensor survives the way to a file and back, with and without error bars, and is never seen half."""

from pathlib import Path

import numpy as np
import pytest

from vdr_spark.errors import StageMissing
from vdr_spark.storage.tensor_file import Tensor, read_tensor, write_tensor

COUNTS = np.arange(3 * 5 * 5, dtype=np.float32).reshape(3, 5, 5)


@pytest.mark.parametrize("more", [[], [COUNTS + 1], [COUNTS + 1, COUNTS + 2, COUNTS + 3]], ids=len)
def test_round_trip(tmp_path: Path, more: list[np.ndarray]) -> None:
    path = str(tmp_path / "work" / "tensor.parquet")
    write_tensor(path, Tensor(COUNTS, *more))
    back = read_tensor(path, 5)
    layers = [back.counts, back.deviation, back.prior, back.prior_deviation]
    for layer, expected in zip(layers, [COUNTS, *more, None, None, None], strict=False):
        assert layer is None if expected is None else (layer == expected).all()
    assert [file.name for file in (tmp_path / "work").iterdir()] == ["tensor.parquet"]


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(StageMissing, match="run the stage before"):
        read_tensor(str(tmp_path / "none.parquet"), 5)
