"""A series over a table that grows, by a stream that is killed in every window: each is drawn and paid for once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from tests.conftest import QUICK
from tests.faults.points import COMMITTED, DRAW_NOISE, LEDGER, AtCall
from tests.faults.victim import faulty
from tests.plans import ledger_of
from tests.series.configurations import write_conf, write_weeks
from vdr_spark.config import load_config
from vdr_spark.privacy.entries import State
from vdr_spark.release.record import ReleaseRecord
from vdr_spark.release.register import list_releases

WEEK = 604_800
KILLS = (
    AtCall("half of the slices have noise", "after", DRAW_NOISE, call=14),
    AtCall("reserved, nothing drawn", "after", f"{LEDGER}.reserve"),
    AtCall("noise committed, not booked as spent", COMMITTED.when, COMMITTED.function, about=COMMITTED.about),
)


def append_week(folder: Path, week: int, rows: slice = slice(None)) -> None:
    """Append the pings of one week to the table, as Delta; `rows` are some of them, as of a file that comes late."""
    pings = pq.read_table(folder / "pings" / "weeks.parquet")
    mine = pa.compute.equal(pa.compute.divide(pa.compute.cast(offset(pings), pa.int64()), WEEK * 1_000_000), week)
    write_deltalake(str(folder / "table"), pings.filter(mine)[rows], mode="append")


def offset(pings: pa.Table) -> pa.ChunkedArray:
    first = pa.scalar(1_578_268_800_000_000, pa.int64())  # 2020-01-06, microseconds
    return pa.compute.subtract(pa.compute.cast(pings["ts"].cast(pa.timestamp("us", "UTC")), pa.int64()), first)


@pytest.mark.faults
@pytest.mark.timeout(1800)
def test_a_stream_that_is_killed_in_each_of_three_windows_draws_each_once(
    spark: SparkSession, delta_jars: str, tmp_path: Path
) -> None:
    write_weeks(tmp_path, 3)
    conf = write_conf(tmp_path, input={"path": str(tmp_path / "table"), "format": "delta"})
    session = ["--set", delta_jars, "--set", "spark.driver_memory=1g", "--set", f"spark.conf={json.dumps(QUICK)}"]
    vdr = str(Path(sys.executable).parent / "vdr")
    tensors: dict[str, str] = {}
    for week, (name, until, kill) in enumerate(
        zip(("2020-W02", "2020-W03", "2020-W04"), ("2020-01-15", "2020-01-22", "2020-01-29"), KILLS, strict=True)
    ):
        append_week(tmp_path, week)
        if week == 1:
            append_week(tmp_path, 0, slice(0, 50))  # a late file, of a window that is published
        command = [vdr, "series", "stream", conf, "--until", until, *session]
        marks = tmp_path / f"marks{week}"
        marks.mkdir()
        killed = subprocess.run(
            command, env=faulty((kill,), marks), capture_output=True, text=True, start_new_session=True, check=False
        )
        assert (marks / kill.name).exists(), killed.stdout + killed.stderr
        assert len(list_releases_or_none(tmp_path)) == week
        again = subprocess.run(command, env=faulty((), marks), capture_output=True, text=True, check=False)
        assert again.returncode == 0, again.stdout + again.stderr
        releases = list_releases_or_none(tmp_path)
        assert len(releases) == week + 1
        assert f"city-{name.lower()}-" in releases[0].release_id
        config = load_config(conf, [f"window={name}", session[1]])
        for one in ledger_of(spark, config).entries():
            if one.state is State.SPENT:
                assert tensors.setdefault(one.draw_id, one.tensor_sha256) == one.tensor_sha256
    states = [entry.state for entry in ledger_of(spark, config).entries()]
    assert states == [State.GRANTED, *[State.RESERVED, State.SPENT] * 3]
    idle = subprocess.run(command, env=faulty((), marks), capture_output=True, text=True, check=False)
    assert idle.returncode == 0, idle.stdout + idle.stderr
    assert "nothing is due that is not published" in idle.stdout
    assert len(list_releases_or_none(tmp_path)) == 3


def list_releases_or_none(folder: Path) -> list[ReleaseRecord]:
    return list_releases(str(folder / "out")) if (folder / "out/tables/releases").exists() else []
