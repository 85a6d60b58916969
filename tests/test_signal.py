"""A release says when its noise drowns it, and when its noisy total contradicts N."""

import pytest

from tests.denoise.laplace import laplace_noise
from vdr_spark.signal import Signal

NOISE = laplace_noise(5.0)  # deviation 7.07


def signal(*slice_sums: float, total_pings: int = 10_000) -> Signal:
    return Signal.of(slice_sums, 100, NOISE, total_pings)  # a slice's noise has deviation 70.7


def test_its_deviation_is_that_of_all_cells() -> None:
    assert signal(0, 0, 0, 0).deviation == pytest.approx(NOISE.deviation * 20, rel=1e-6)


def test_enough_pings_are_no_reason_to_warn() -> None:
    found = signal(900, 800, 1000, 950)
    assert not found.warnings()
    assert (found.slices_told, found.slices) == (4, 4)
    assert "3,650 kept pings with a deviation of 141, and 4 of 4 slices" in found.sentence()


def test_what_drowns_is_said_to_drown() -> None:
    (warning,) = signal(100, -50, 200, 30).warnings()
    assert "No count of this release can be told from zero" in warning
    (warning,) = signal(200, 150, 190, 250).warnings()  # the total stands out, no slice but one does
    assert warning.startswith("most slices drown")


def test_more_kept_than_there_are_contradicts_n() -> None:
    assert not signal(900, 900, 900, 900, total_pings=3300).warnings()  # noise may do that
    (warning,) = signal(900, 900, 900, 900, total_pings=3000).warnings()
    assert "N says that there are 3,000 pings" in warning
    assert not signal(900, 900, 900, 900, total_pings=1_000_000).warnings()  # bounding keeps few


def test_without_noise_everything_stands_out() -> None:
    assert not Signal(5.0, 0.0, 1, 1, 10).drowns
