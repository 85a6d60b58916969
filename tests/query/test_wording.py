"""Moments are told with the name and offset of their zone, so that nobody has to guess."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from vdr_spark.query.wording import format_moment

NOON = datetime(2020, 1, 7, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        (NOON, "2020-01-07 12:00 UTC"),
        (NOON.astimezone(ZoneInfo("UTC")), "2020-01-07 12:00 UTC"),
        (NOON.astimezone(ZoneInfo("America/Chicago")), "2020-01-07 06:00 America/Chicago (UTC-06:00)"),
        (datetime(2020, 7, 7, tzinfo=ZoneInfo("America/Chicago")), "2020-07-07 00:00 America/Chicago (UTC-05:00)"),
        (NOON.astimezone(ZoneInfo("Asia/Kolkata")), "2020-01-07 17:30 Asia/Kolkata (UTC+05:30)"),
        (NOON.astimezone(timezone(timedelta(hours=2))), "2020-01-07 14:00 UTC+02:00"),
    ],
)
def test_a_moment_in_its_own_zone(moment: datetime, words: str) -> None:
    assert format_moment(moment) == words


def test_a_moment_in_another_zone() -> None:
    assert format_moment(NOON, ZoneInfo("Asia/Tokyo")) == "2020-01-07 21:00 Asia/Tokyo (UTC+09:00)"
