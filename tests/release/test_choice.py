"""Which release is meant: said, or the only one; never a guess."""

from datetime import UTC, datetime, timedelta

import pytest

from vdr_spark.errors import InvalidQuery, StageMissing, Withdrawn
from vdr_spark.release.choice import Row, choose_release, no_release_yet
from vdr_spark.release.withdrawals import Withdrawal


def row(release_id: str, age_days: int = 0, region: str | None = None, protected: bool = True) -> Row:
    return {
        "release_id": release_id,
        "created": datetime(2026, 1, 31, 9, 30, tzinfo=UTC) - timedelta(days=age_days),
        "epsilon": "1/3",
        "k": 55,
        "model": "ridge+fusion",
        "region": region,
        "protected": protected,
    }


OLD, NEW = row("old-1", age_days=30), row("new-2")
HOUSTON, DALLAS = row("a-1", region="houston"), row("a-2", region="dallas")


def test_the_only_one_needs_no_name() -> None:
    assert choose_release([OLD], "out") is OLD


def test_one_that_is_named_is_that_one() -> None:
    assert choose_release([OLD, NEW], "out", "old-1") is OLD
    assert choose_release([HOUSTON, DALLAS], "out", region="dallas") is DALLAS
    assert choose_release([HOUSTON, DALLAS], "out", "a-1", "houston") is HOUSTON


def test_of_several_none_is_guessed_and_all_are_listed() -> None:
    with pytest.raises(InvalidQuery) as refusal:
        choose_release([OLD, NEW, row("seeded-3", age_days=60, protected=False)], "out")
    first, *listed, remedy = str(refusal.value).splitlines()
    assert first == "release_id: out holds 3 releases, and nothing says which is meant:"
    assert listed == [
        "  new-2: created 2026-01-31 09:30 UTC, epsilon 1/3, k 55, ridge+fusion",
        "  old-1: created 2026-01-01 09:30 UTC, epsilon 1/3, k 55, ridge+fusion",
        "  seeded-3: created 2025-12-02 09:30 UTC, epsilon 1/3, k 55, ridge+fusion, UNPROTECTED: from a test seed",
    ]
    assert 'release_id="' in remedy
    assert "Publisher.from_yaml(CONF).read()" in remedy
    assert "region" not in remedy


def test_a_region_that_was_released_twice_does_not_say_which() -> None:
    twice = row("b-2", region="dallas")
    with pytest.raises(InvalidQuery, match="holds 2 releases"):
        choose_release([HOUSTON, DALLAS, twice], "out", region="dallas")
    with pytest.raises(InvalidQuery, match="or by its region"):
        choose_release([HOUSTON, DALLAS], "out")


@pytest.mark.parametrize(
    ("release_id", "region", "words"),
    [
        ("x-9", None, "release x-9 is not published in out"),
        (None, "austin", "a release of region austin is not published"),
        ("a-1", "dallas", "release a-1 of region dallas is not published"),
    ],
)
def test_one_that_is_not_there_is_told_with_those_that_are(
    release_id: str | None, region: str | None, words: str
) -> None:
    with pytest.raises(StageMissing, match=words) as refusal:
        choose_release([HOUSTON, DALLAS], "out", release_id, region)
    assert "\n  a-2: created 2026-01-31 09:30 UTC, epsilon 1/3, k 55, ridge+fusion, region dallas" in str(refusal.value)


GONE = {"old-1": Withdrawal("old-1", datetime(2026, 2, 1, 8, tzinfo=UTC), "a wrong box.", "1")}


def test_what_was_withdrawn_is_not_there() -> None:
    assert choose_release([OLD, NEW], "out", withdrawals=GONE) is NEW
    with pytest.raises(StageMissing) as refusal:
        choose_release([OLD, NEW], "out", "x-9", withdrawals=GONE)
    assert "old-1" not in str(refusal.value)


def test_asked_for_by_its_id_it_is_said_when_and_why() -> None:
    with pytest.raises(
        Withdrawn, match=r"old-1 in out was withdrawn on 2026-02-01 08:00 UTC: a wrong box\. Do not use"
    ):
        choose_release([OLD, NEW], "out", "old-1", withdrawals=GONE)
    assert choose_release([OLD, NEW], "out", "old-1", withdrawals=None) is OLD


def test_a_long_list_is_cut_and_an_empty_one_said() -> None:
    with pytest.raises(InvalidQuery, match=r"\.\.\. and 5 more"):
        choose_release([row(f"r-{number}", number) for number in range(25)], "out")
    with pytest.raises(StageMissing, match=": none"):
        choose_release([], "out")
    assert "nothing is published in out yet" in str(no_release_yet("out"))
