"""Pieces of SQL, as DuckDB computes them, beside NumPy and SciPy."""

import duckdb
import numpy as np
import pytest
from scipy.stats import norm

from vdr_spark.sql.expressions import clip, interpolate, number, snap, upper_tail


def values_of(expression: str, x: np.ndarray) -> np.ndarray:
    rows = ", ".join(f"({number(value)})" for value in x)
    return np.array(duckdb.execute(f"SELECT {expression} FROM (VALUES {rows}) AS given(x)").fetchall(), float)[:, 0]


@pytest.mark.parametrize("value", [0.0, 1.0, -95.6, 1e-30, 1 / 3, 1.5834636e15, -1e-300])
def test_a_number_is_a_double_and_exact(value: float) -> None:
    assert duckdb.execute(f"SELECT {number(value)}, typeof({number(value)})").fetchone() == (value, "DOUBLE")


def test_lines_between_knots_are_numpys() -> None:
    knots = [(-1.0, 3.0), (0.0, 1.0), (2.5, 7.0), (3.0, 7.5)]
    x = np.linspace(-2, 4, 101)
    np.testing.assert_allclose(
        values_of(interpolate("x", knots), x), np.interp(x, *zip(*knots, strict=True)), rtol=1e-14
    )
    assert (values_of(interpolate("x", knots[:1]), x) == 3.0).all()


def test_tails_of_the_normal_distribution() -> None:
    z = np.concatenate([np.linspace(0, 12, 241), [7.07106781186547, 36.9, 37.1, 40]])
    np.testing.assert_allclose(values_of(upper_tail("x"), z), norm.sf(z), rtol=1e-7, atol=1e-15)


def test_positions_snap_to_edges_and_stay_inside() -> None:
    x = np.array([2.99999999, 3.00000001, 3.0001, 3.5, -4.0, 12.0])
    assert values_of(snap("x", 1e-7), x).tolist() == [3, 3, 3.0001, 3.5, -4, 12]
    assert values_of(clip("x", 0, 10), x[3:]).tolist() == [3.5, 0, 10]
