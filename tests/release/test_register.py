"""What is published, and withdrawing it: once, without Spark, whoever else does so at the same moment."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from deltalake import DeltaTable

from tests.release.hand_made import hand_made
from tests.release.published import write_tables
from tests.release.test_statement import statement
from vdr_spark import list_releases, read_release, withdraw_release
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import DamagedTable, InvalidWithdrawal, OtherVersion, StageMissing, Withdrawn
from vdr_spark.release.release import Release
from vdr_spark.storage.delta_files import read_rows
from vdr_spark.storage.schemas import VERSION_PROPERTY, WITHDRAWALS


@pytest.fixture
def release() -> Release:
    zone = {"exact": {"timezone": "America/Chicago"}}
    start = datetime(2020, 1, 7, 6, tzinfo=UTC)
    return hand_made(np.ones((8, 4, 4)), start=start, release_id="first-1", statement=zone)


@pytest.fixture
def output(tmp_path: Path, release: Release) -> str:
    """A folder with two releases, as they were before anything could be withdrawn."""
    later = replace(release, release_id="second-2", created=datetime(2021, 1, 1, tzinfo=UTC), region="dallas")
    write_tables(tmp_path / "out", release, later)
    return str(tmp_path / "out")


def marks(output: str) -> list[dict[str, object]]:
    return read_rows(f"{output}/tables/withdrawals", WITHDRAWALS)


def test_what_is_published_is_listed_newest_first(output: str) -> None:
    second, first = list_releases(output)
    assert (second.release_id, second.region, first.release_id, first.region) == ("second-2", "dallas", "first-1", None)
    assert first.period == "2020-01-07 to 2020-01-08"  # days, in its zone
    assert first.withdrawal is None
    assert json.loads(json.dumps(first.as_dict()))["epsilon"] == "6"
    with pytest.raises(StageMissing, match="nothing is published"):
        list_releases(f"{output}/nowhere")


def test_a_withdrawn_release_is_refused_and_the_other_is_the_only_one(output: str, release: Release) -> None:
    before = read_release(output, "first-1")
    withdrawal = withdraw_release(output, "first-1", "  the box\nwas wrong. ")
    assert withdrawal.reason == "the box was wrong."
    with pytest.raises(
        Withdrawn, match=r"first-1 in .* was withdrawn on 20\d\d-.* UTC: the box was wrong\. Do not use"
    ):
        read_release(output, "first-1")
    assert read_release(output).release_id == "second-2"
    steward = read_release(output, "first-1", allow_withdrawn=True)
    assert (steward.counts == release.counts).all()
    assert steward.withdrawal == withdrawal
    assert "WITHDRAWN on" in repr(steward)
    assert "WITHDRAWN on" in steward._repr_html_()
    assert steward.to_xarray().attrs["withdrawn"] == str(withdrawal)
    assert (before.counts == release.counts).all()  # opened earlier, it goes on
    assert [record.withdrawal for record in list_releases(output)] == [None, withdrawal]


def test_all_withdrawn_is_said_as_that(output: str) -> None:
    withdraw_release(output, "first-1", "one")
    withdraw_release(output, "second-2", "two")
    with pytest.raises(Withdrawn, match=r"all of them were withdrawn:\n  first-1: .* one\n  second-2: .* two"):
        read_release(output)
    with pytest.raises(Withdrawn, match="second-2"):
        read_release(output, region="dallas")
    with pytest.raises(StageMissing, match=r"release other-9 is not published .*: none"):
        read_release(output, "other-9")


def test_a_second_withdrawal_changes_nothing(output: str) -> None:
    first = withdraw_release(output, "first-1", "one")
    assert withdraw_release(output, "first-1", "another") == first
    (mark,) = marks(output)
    assert mark == vars(first)


@pytest.mark.parametrize("reason", ["", " \n\t", "\x1b[2J", "a\x00b"])
def test_a_reason_is_words(output: str, reason: str) -> None:
    with pytest.raises(InvalidWithdrawal, match="reason must"):
        withdraw_release(output, "first-1", reason)
    assert marks(output) == []


def test_what_is_not_published_is_not_withdrawn(output: str) -> None:
    with pytest.raises(StageMissing, match="release first is not published"):
        withdraw_release(output, "first", "why")
    assert not Path(output, "tables/withdrawals").exists()


def test_a_damaged_or_newer_table_of_withdrawals_lets_nothing_through(output: str) -> None:
    """In doubt nothing is read: it may be the one that was withdrawn."""
    withdraw_release(output, "first-1", "why")
    table = DeltaTable(f"{output}/tables/withdrawals")
    table.alter.set_table_properties({VERSION_PROPERTY: "2"}, raise_if_not_exists=False)
    with pytest.raises(OtherVersion, match=r"`withdrawals` of schema version 2, .* up to 1"):
        read_release(output, "second-2")
    table.alter.set_table_properties({VERSION_PROPERTY: "1"}, raise_if_not_exists=False)
    for file in Path(output, "tables/withdrawals").glob("*.parquet"):
        file.write_text("nonsense")
    with pytest.raises(DamagedTable, match="withdrawals must be a whole Delta table"):
        read_release(output, "second-2")


@pytest.mark.parametrize("table", ["releases", "cells"])
def test_a_newer_table_is_refused(output: str, table: str) -> None:
    DeltaTable(f"{output}/tables/{table}").alter.set_table_properties(
        {VERSION_PROPERTY: "7"}, raise_if_not_exists=False
    )
    with pytest.raises(OtherVersion, match=rf"a table `{table}` of schema version 7, and .* versions up to \d"):
        read_release(output, "first-1")


def test_withdrawals_that_are_gone_are_no_way_back(output: str) -> None:
    withdraw_release(output, "first-1", "why")
    shutil.rmtree(f"{output}/tables/withdrawals")
    assert read_release(output, "first-1").release_id == "first-1"  # an output from before looks like that
    releases = DeltaTable(f"{output}/tables/releases")
    releases.alter.set_table_properties({VERSION_PROPERTY: "2"}, raise_if_not_exists=False)
    for ask in (read_release, lambda *asked: withdraw_release(*asked, "why")):
        with pytest.raises(DamagedTable, match=r"withdrawals must be there, .* it was deleted, or you may not read it"):
            ask(output, "first-1")  # type: ignore[operator]


WITHDRAW = """
import sys, time
from pathlib import Path
from vdr_spark import withdraw_release

output, go, name = sys.argv[1:]
Path(go + name).touch()
while not Path(go).exists():
    time.sleep(0.001)
for release_id in ("first-1", "second-2"):
    print(withdraw_release(output, release_id, name).reason)
"""


def test_of_two_processes_at_once_one_withdraws(output: str, tmp_path: Path) -> None:
    go = tmp_path / "go"
    both = [
        subprocess.Popen(
            [sys.executable, "-c", WITHDRAW, output, str(go), name], stdout=subprocess.PIPE, text=True, cwd=tmp_path
        )
        for name in ("anna", "berta")
    ]
    while not all(Path(f"{go}{name}").exists() for name in ("anna", "berta")):
        assert all(process.poll() is None for process in both)
    go.touch()
    told = [process.communicate(timeout=60)[0].split() for process in both]
    assert told[0] == told[1]  # each is told which one counts
    assert sorted(mark["release_id"] for mark in marks(output)) == ["first-1", "second-2"]  # type: ignore[type-var]


def test_the_page_of_the_statement_says_it(
    tmp_path: Path, release: Release, small_config: Callable[..., ReleaseConfig]
) -> None:
    output = str(tmp_path / "out")
    write_tables(output, replace(release, statement=statement(small_config())))
    withdraw_release(output, "first-1", "a <b>wrong</b> box")
    page = Path(output, "statements/first-1.html").read_text()
    assert "a &lt;b&gt;wrong&lt;/b&gt; box. Do not use this release any more" in page
    assert page.index("WITHDRAWN on") < page.index('class="promise"')
    Path(output, "statements/first-1.html").unlink()
    withdraw_release(output, "first-1", "again")  # as after a run that was killed before the page
    assert Path(output, "statements/first-1.html").read_text() == page
