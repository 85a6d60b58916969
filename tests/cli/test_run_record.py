"""The run folder: settings without secrets, versions, timings, log lines, the exit code; and no run fails for it."""

import json
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from vdr_spark.cli.console import run
from vdr_spark.cli.logs import LOGGER
from vdr_spark.cli.run_record import RunRecord, begin_record, end_record
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import BudgetExceeded
from vdr_spark.plan import make_plan
from vdr_spark.storage.store_access import forget, rust_options

Small = Callable[..., ReleaseConfig]


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    yield
    end_record(0)
    LOGGER.setLevel(logging.NOTSET)


def read(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    (only,) = (folder / "runs").iterdir()
    lines = (only / "log.jsonl").read_text().splitlines()
    return json.loads((only / "run.json").read_text()), [json.loads(line) for line in lines]


def command(config: ReleaseConfig, end: Callable[[RunRecord], None]) -> Callable[[list[str]], object]:
    return lambda _: end(begin_record("release", make_plan(config)))


def test_a_run_that_ends_well(small_config: Small, tmp_path: Path) -> None:
    def work(record: RunRecord) -> None:
        with record.stage("collect") as noted:
            logging.getLogger("vdr_spark.pipeline").warning("a caution")
            noted["outcome"] = "done"

    assert run(command(small_config(), work), []) == 0
    facts, lines = read(tmp_path / "out")
    assert (facts["command"], facts["exit_code"]) == ("release", 0)
    assert facts["configuration"]["privacy"]["k"] == 20
    assert facts["versions"].keys() >= {"vdr-spark", "python", "pyspark", "delta-spark", "pyarrow", "numpy", "torch"}
    (stage,) = facts["stages"]
    assert (stage["stage"], stage["outcome"]) == ("collect", "done")
    assert 0 <= stage["seconds"] <= facts["seconds"]
    assert [line["message"] for line in lines] == ["a caution"]


def test_what_stopped_it_is_in_its_log(small_config: Small, tmp_path: Path) -> None:
    def work(record: RunRecord) -> None:
        with record.stage("collect"):
            raise BudgetExceeded("short by 2")

    assert run(command(small_config(), work), []) == 3
    facts, lines = read(tmp_path / "out")
    assert facts["exit_code"] == 3
    assert facts["stages"][0]["outcome"] == "failed"
    assert (lines[-1]["message"], lines[-1]["error"]) == ("short by 2", "BudgetExceeded")


def test_of_a_defect_only_its_kind_is_kept(small_config: Small, tmp_path: Path) -> None:
    """Its words may quote a row."""

    def work(_: RunRecord) -> None:
        raise ValueError("anna")

    with pytest.raises(ValueError, match="anna"):
        run(command(small_config(), work), [])
    facts, _ = read(tmp_path / "out")
    assert (facts["exit_code"], facts["error"]) == (1, "ValueError")
    assert "anna" not in "".join(path.read_text() for path in (tmp_path / "out").rglob("*.json*"))


def test_a_killed_run_leaves_its_lines_and_no_exit_code(small_config: Small, tmp_path: Path) -> None:
    record = begin_record("collect", make_plan(small_config()))
    record.save()
    LOGGER.setLevel(logging.INFO)
    logging.getLogger("vdr_spark.stage_log").info("collect: begins", extra={"stage": "collect"})
    facts, lines = read(tmp_path / "out")  # as it lies there now
    assert facts["exit_code"] is None
    assert [(line["message"], line["stage"]) for line in lines] == [("collect: begins", "collect")]


def test_only_its_owner_may_look(small_config: Small, tmp_path: Path) -> None:
    run(command(small_config(), lambda _: None), [])
    (folder,) = (tmp_path / "out/runs").iterdir()
    assert folder.stat().st_mode & 0o077 == 0


def test_secrets_are_not_kept(small_config: Small, tmp_path: Path) -> None:
    secret = "spark.conf={spark.hadoop.fs.s3a.secret.key: CANARY, spark.executor.memory: 2g}"
    run(command(small_config(secret), lambda _: None), ["--verbose"])
    facts, _ = read(tmp_path / "out")
    assert facts["configuration"]["spark"]["conf"]["spark.executor.memory"] == "2g"
    assert "CANARY" not in "".join(path.read_text() for path in (tmp_path / "out").rglob("*.json*"))


def test_a_folder_that_cannot_be_written_stops_nothing_and_is_told_once(
    small_config: Small, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/runs").write_text("no folder")

    def work(record: RunRecord) -> None:
        for name in ("collect", "denoise"):
            with record.stage(name):
                pass

    assert run(command(small_config(), work), []) == 0
    assert capsys.readouterr().err.count("cannot be written") == 1


def test_in_a_store_it_is_written_too(small_config: Small) -> None:
    import fsspec

    config = small_config("output=memory://runs-of-a-test/out")
    run(command(config, lambda _: logging.getLogger("vdr_spark").info("said")), [])
    fs = fsspec.filesystem("memory")
    files = {os.path.basename(path): fs.cat_file(path) for path in fs.find("/runs-of-a-test/out/runs")}
    assert json.loads(files["run.json"])["exit_code"] == 0
    assert b"said" in files["log.jsonl"]


def test_keys_of_a_store_that_the_configuration_names_are_known_before_spark_is(small_config: Small) -> None:
    conf = {"spark.hadoop.fs.s3a.access.key": "me", "spark.hadoop.fs.s3a.secret.key": "hush"}
    try:
        begin_record("collect", make_plan(small_config(f"spark.conf={json.dumps(conf)}")))
        assert rust_options("s3a://bucket/out")["aws_access_key_id"] == "me"
    finally:
        forget()
