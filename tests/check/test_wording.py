"""Figures as a person reads them."""

from vdr_spark.check.wording import describe_difference, percent, round_total


def test_figures_in_words() -> None:
    assert [round_total(n) for n in (0, 7, 99, 5527, 8_049_999)] == [0, 7, 99, 5500, 8_000_000]
    assert describe_difference(110, 100) == "10.0 % more than the pings"
    assert [percent(share) for share in (0, 0.00034, 0.5)] == ["0.0 %", "0.034 %", "50.0 %"]
