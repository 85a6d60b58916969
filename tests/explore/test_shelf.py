from datetime import UTC, datetime

import pytest

from tests.explore.cities import city
from vdr_spark.errors import EnvironmentProblem, StageMissing, Withdrawn
from vdr_spark.explore.shelf import NamedRelease, Standing, shelf_of
from vdr_spark.release.withdrawals import Withdrawal

GONE = {"a-city": Withdrawal("a-city", datetime(2020, 3, 1, tzinfo=UTC), "a wrong box", "1")}


class Tables:
    """Tables of a catalog, as they are asked by name."""

    def __init__(self) -> None:
        self.now, self.asked = 0.0, 0
        self.standing: Standing = ([{"release_id": "a-city"}], {})

    def read(self) -> Standing:
        self.asked += 1
        return self.standing

    def shelf(self, withdrawn_too: bool = False) -> NamedRelease:
        return NamedRelease(city(tables="main.vdr"), self.read, withdrawn_too, lambda: self.now)


def test_tables_with_names_are_asked_now_and_then_whether_a_release_is_in_force() -> None:
    tables = Tables()
    shelf = tables.shelf()
    for _ in range(30):
        assert shelf.open("a-city").withdrawal is None
    assert tables.asked == 1
    tables.standing, tables.now = (tables.standing[0], GONE), 10.0
    with pytest.raises(Withdrawn, match="a wrong box"):
        shelf.open("a-city")
    assert [entry.withdrawn for entry in shelf.entries()] == [True]


def test_a_steward_sees_that_it_was_withdrawn_in_mid_look() -> None:
    tables = Tables()
    shelf = tables.shelf(withdrawn_too=True)
    assert shelf.open("a-city").withdrawal is None
    tables.standing, tables.now = (tables.standing[0], GONE), 10.0
    assert shelf.open("a-city").withdrawal == GONE["a-city"]


def test_a_row_that_is_gone_is_told() -> None:
    tables = Tables()
    tables.standing = ([], {})
    with pytest.raises(StageMissing, match=r"not in main\.vdr any more"):
        tables.shelf().open("a-city")


def test_without_a_session_nobody_knows_whether_it_is_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    with pytest.raises(EnvironmentProblem, match="no Spark session is there to ask"):
        shelf_of(city(output="out/demo", tables="main.vdr"))
