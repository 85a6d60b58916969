"""What a person reads of a series: many windows that stand alike are folded, what is wrong is named."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tests.series.configurations import weekly_series
from tests.series.test_status import NOW, book, publish, series
from vdr_spark.series.status import look
from vdr_spark.series.table import describe_status, list_rows


def test_a_year_of_windows_fits_a_screen_and_a_missing_one_is_seen(tmp_path: Path) -> None:
    config = series(tmp_path)
    names = [f"2020-W{week:02}" for week in range(2, 53) if week != 20]
    entries, records = book(config, *names), [publish(config, name) for name in names]
    found = look(config, entries, records, datetime(2021, 1, 1, tzinfo=UTC))
    rows = [*list_rows(found)]
    assert len(rows) == 16
    assert [row[3] for row in rows[6:9]] == ["published", "missing", "published"]
    assert rows[3][0] == "12 more"
    spent = sum(window.spent for window in found.windows[3:15])
    assert rows[3][1:] == ("2020-01-27", "2020-04-20", "published", str(spent))
    assert "Missing, though later ones were released: 2020-W20." in describe_status(found)


def test_a_few_windows_are_told_one_by_one(tmp_path: Path) -> None:
    config = series(tmp_path)
    found = look(config, book(config, "2020-W02"), [], NOW)
    assert [row[0] for row in list_rows(found)] == ["2020-W02", "2020-W03", "2020-W04", "2020-W05", "2020-W06"]
    told = describe_status(found)
    assert told[0].endswith("0 windows are published, 4 are due and not; 2020-W06 is due on 2020-02-12 00:00 (UTC).")
    skip = weekly_series(tmp_path)["series"] | {"skip": ["2020-W06"]}
    after = look(series(tmp_path, series=skip), [], [], NOW)
    assert describe_status(after)[0].endswith("2020-W07 is due on 2020-02-19 00:00 (UTC).")
    assert "Begun and not finished, which costs nothing more: 2020-W02." in told
