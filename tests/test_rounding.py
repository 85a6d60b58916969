"""Released numbers: few digits, sums that stay what they were, and one sum in every engine."""

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from vdr_spark.refine import round_as_told
from vdr_spark.rounding import QUANTUM
from vdr_spark.storage.tensor_file import Tensor


def test_released_numbers_have_the_digits_that_mean_something_and_sums_stay() -> None:
    rng = np.random.default_rng(0)
    counts = np.exp(rng.normal(-3, 4, (2, 300, 300))).astype(np.float32)  # from far below a ping to thousands
    counts[0, 0, :3] = (0.0, -1.2345678, 1e-30)  # a release without denoising has numbers below zero
    told = round_as_told(Tensor(counts, np.abs(counts)))
    assert told.deviation is not None
    np.testing.assert_allclose(told.counts, counts, rtol=2.0**-11, atol=QUANTUM)
    np.testing.assert_allclose(told.deviation, np.abs(counts), rtol=2.0**-8)
    assert told.counts.dtype == told.deviation.dtype == np.float32
    # So few digits that the rest of a number's bits are zero.
    assert not (told.counts.view(np.int32) & (2**13 - 1)).any()
    assert not (told.deviation.view(np.int32) & (2**16 - 1)).any()
    assert told.counts.sum(dtype=np.float64) == pytest.approx(counts.sum(dtype=np.float64), rel=1e-4)
    assert round_as_told(Tensor(counts)).deviation is None


def test_sums_of_released_counts_are_exact_in_any_order() -> None:
    rng = np.random.default_rng(1)
    counts = np.exp(rng.normal(-3, 5, (2, 400, 400))).astype(np.float32)
    told = round_as_told(Tensor(counts)).counts.ravel()
    exact = sum(int(quanta) for quanta in told.astype(np.float64) / QUANTUM) * QUANTUM  # of Python's integers
    assert exact / QUANTUM < 2**53
    for _ in range(5):
        rng.shuffle(told)
        assert float(np.cumsum(told, dtype=np.float64)[-1]) == exact  # one by one, from left to right
    assert (float(told.sum(dtype=np.float32)), float(np.float32(exact))) != (exact, exact)  # a float could not hold it


def test_engines_give_one_sum_to_the_last_digit(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    told = round_as_told(Tensor(np.exp(rng.normal(-3, 5, (2, 400, 400))).astype(np.float32))).counts
    file = f"{tmp_path}/cells.parquet"
    pq.write_table(pa.table({"count": told.ravel()}), file, row_group_size=1000)
    exact = float(told.sum(dtype=np.float64))
    column = pq.read_table(file).column("count")
    assert pc.sum(column.cast(pa.float64())).as_py() == exact
    sums = f"SELECT sum(CAST(count AS DOUBLE)), sum(count) FROM '{file}'"
    assert duckdb.execute(sums).fetchone() == (exact, exact)  # it adds floats up as doubles
    polars = pytest.importorskip("polars")
    assert polars.scan_parquet(file).select(polars.col("count").cast(polars.Float64).sum()).collect().item() == exact


@pytest.mark.parametrize("tiny", [1e-6, 3e-6, 9e-6])
def test_millions_of_next_to_nothing_add_up_to_what_they_were(tiny: float) -> None:
    counts = np.full((2, 500, 500), tiny, np.float32)
    told = round_as_told(Tensor(counts)).counts
    assert set(np.unique(told)) == {0, QUANTUM}
    for part in (told[0], told[1, :100], told[1, 300:310]):  # where they were, too
        assert part.sum(dtype=np.float64) == pytest.approx(part.size * tiny, rel=2e-3)
