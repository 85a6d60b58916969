import numpy as np
import pytest

from vdr_spark.query.coverage import cover


@pytest.mark.parametrize(
    ("start", "end", "first", "shares"),
    [
        (0.0, 4.0, 0, [1, 1, 1, 1]),
        (1.0, 2.0, 1, [1]),
        (0.25, 0.75, 0, [0.5]),
        (0.5, 2.25, 0, [0.5, 1, 0.25]),
        (3.5, 4.0, 3, [0.5]),
    ],
)
def test_shares_of_cut_cells(start: float, end: float, first: int, shares: list[float]) -> None:
    covered = cover(start, end, cells=4)
    assert covered.first == first
    np.testing.assert_allclose(covered.shares, shares)


def test_rounding_adds_no_sliver_of_a_neighbouring_cell() -> None:
    covered = cover(1 - 1e-12, 2 + 1e-12, cells=4)
    assert (covered.first, covered.shares.tolist()) == (1, [1.0])


def test_rounding_over_the_edge_stays_in_the_grid() -> None:
    covered = cover(-1e-12, 4 + 1e-12, cells=4)
    assert (covered.first, covered.shares.tolist()) == (0, [1.0] * 4)


def test_nothing_at_the_very_edge_is_one_cell_of_share_zero() -> None:
    covered = cover(4 - 1e-12, 4.0, cells=4)
    assert (covered.first, covered.shares.tolist()) == (3, [0.0])
