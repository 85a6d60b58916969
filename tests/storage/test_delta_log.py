"""What is left of a table that never was is removed; a commit never is."""

from pathlib import Path

import pytest

from vdr_spark.storage import delta_log
from vdr_spark.storage.delta_log import list_commits, remove_log_without_commit

HALF_A_COMMIT = "_delta_log/.00000000000000000000.json.7b1d.tmp"
COMMITS = ["_delta_log/00000000000000000004.json", "_delta_log/4.checkpoint.parquet", "_delta_log/_staged/0.json"]


def leave(table: Path, left: str) -> None:
    """A file with half a line in it, or a folder where the name ends in a slash."""
    if left.endswith("/"):
        (table / left).mkdir(parents=True)
    else:
        (table / left).parent.mkdir(parents=True, exist_ok=True)
        (table / left).write_text('{"commitInfo"')


def test_a_log_without_commits_is_removed(tmp_path: Path) -> None:
    for left in (HALF_A_COMMIT, "_delta_log/_staged/", "data.parquet"):
        leave(tmp_path / "table", left)
    remove_log_without_commit(str(tmp_path / "table"))
    assert [path.name for path in (tmp_path / "table").iterdir()] == ["data.parquet"]
    remove_log_without_commit(str(tmp_path / "nowhere"))


@pytest.mark.parametrize("commit", COMMITS)
def test_a_log_with_commits_is_left_as_it_is(tmp_path: Path, commit: str) -> None:
    """Of a ledger that lost its beginning, the rest may say what was spent."""
    for left in (commit, HALF_A_COMMIT):
        leave(tmp_path / "table", left)
    remove_log_without_commit(str(tmp_path / "table"))
    assert (tmp_path / "table" / commit).exists()
    assert (tmp_path / "table" / HALF_A_COMMIT).exists()


@pytest.mark.parametrize("commit", COMMITS)
def test_a_commit_that_comes_while_we_look_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commit: str
) -> None:
    """Another process commits just after we saw that there is none: its file stays, and so does its folder."""
    leave(tmp_path / "table", HALF_A_COMMIT)

    def look(path: str) -> list[str]:
        seen = list_commits(path)
        leave(tmp_path / "table", commit)
        return seen

    monkeypatch.setattr(delta_log, "list_commits", look)
    remove_log_without_commit(str(tmp_path / "table"))
    assert (tmp_path / "table" / commit).read_text() == '{"commitInfo"'


def test_a_commit_that_is_replaced_is_another_one(tmp_path: Path) -> None:
    assert list_commits(str(tmp_path)) == []
    leave(tmp_path, COMMITS[0])
    before = list_commits(str(tmp_path))
    assert len(before) == 1
    (tmp_path / COMMITS[0]).write_text("other")
    assert list_commits(str(tmp_path)) != before
