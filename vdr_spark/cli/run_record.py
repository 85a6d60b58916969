"""The run folder: what a run was asked, with which versions, how long its stages took, how it ended, what it said.

For the operator, never to be published: how long a stage over exact data takes depends on them (docs/privacy.md). So it
is readable by its owner only, where a disk knows owners. It holds log lines and settings, nothing else, and no run
fails for want of it.
"""

from __future__ import annotations

import logging
import os
import platform
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from vdr_spark.cli.logs import LOGGER, JsonLines
from vdr_spark.config.redact import redact_settings
from vdr_spark.storage.files import filesystem, write_json, write_text
from vdr_spark.storage.paths import file_path, is_local
from vdr_spark.storage.store_access import learn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from vdr_spark.plan import Plan

logger = logging.getLogger(__name__)

PACKAGES = ("vdr-spark", "pyspark", "delta-spark", "deltalake", "pyarrow", "numpy", "pandas", "petastorm", "torch")
_OWNER_ONLY = 0o700
_current: RunRecord | None = None


class RunRecord(logging.Handler):
    """A run's folder, as far as it can be written: a log handler that also notes stages and how the run ended."""

    def __init__(self, command: str, plan: Plan) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(JsonLines())
        began = datetime.now(UTC)
        self._places = plan.output.run(f"{began:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}")
        self._began, self._lines, self._given_up = time.monotonic(), list[str](), False
        self._facts: dict[str, Any] = {
            "command": command,  # without its arguments, which may hold what `redact_settings` takes out
            "began": began.isoformat(timespec="seconds"),
            "exit_code": None,  # stays so where the run is killed
            "draws": [draw.draw_id for draw in plan.draws],
            "releases": [plan.release_id(region) for region in plan.regions],
            "configuration": redact_settings(plan.config.model_dump(mode="json")),
            "versions": {"python": platform.python_version()} | _find_versions(),
            "machine": {"system": platform.platform(), "cores": os.cpu_count()},
            "stages": [],
        }

    @property
    def folder(self) -> str:
        return self._places.root

    def note_spark(self, spark: SparkSession) -> None:
        """Note which Spark it is, and write what is known so far."""
        from vdr_spark.spark.settings import read_setting

        self._facts["spark"] = {"version": spark.version, "master": read_setting(spark, "spark.master")}
        self.save()

    @contextmanager
    def stage(self, name: str) -> Iterator[dict[str, Any]]:
        """Time a stage; the block says in `outcome` what came of it, if it comes to its end."""
        noted: dict[str, Any] = {"stage": name, "outcome": "failed"}
        self._facts["stages"].append(noted)
        began = time.monotonic()
        try:
            yield noted
        finally:
            noted["seconds"] = round(time.monotonic() - began, 3)
            self.save()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a log line; on a disk it is written at once, so that a killed run has it too."""
        self._lines.append(self.format(record) + "\n")
        if is_local(self.folder) and os.path.isdir(file_path(self.folder)):
            with suppress(OSError), open(file_path(self._places.log), "a") as file:
                file.write(self._lines[-1])

    def finish(self, code: int, defect: str | None) -> None:
        """Note how the run ended, and write all of it."""
        self._facts |= {"exit_code": int(code), "seconds": round(time.monotonic() - self._began, 3)}
        if defect is not None:
            self._facts["error"] = defect
        self.save()

    def save(self) -> None:
        """Write what is known so far. That it cannot be written is said once, and the run goes on."""
        if self._given_up:
            return
        try:
            self._make_folder()
            write_json(self._places.facts, self._facts)
            write_text(self._places.log, "".join(self._lines))
        except Exception as problem:  # of whatever kind: every store has its own
            self._given_up = True
            logger.warning(
                "the run folder %s cannot be written (%s); the run goes on without it",
                self.folder,
                type(problem).__name__,
            )

    def _make_folder(self) -> None:
        fs, inside = filesystem(self.folder)
        fs.makedirs(inside, exist_ok=True)
        if is_local(self.folder):
            with suppress(OSError):  # a mounted store may know no owners
                os.chmod(file_path(self.folder), _OWNER_ONLY)


def begin_record(command: str, plan: Plan) -> RunRecord:
    """Begin the record of this process' run; log lines go into it from now on."""
    global _current
    learn(plan.config.spark.conf)  # the folder may be in a store, and its keys be said there; Spark comes later
    _current = RunRecord(command, plan)
    LOGGER.addHandler(_current)
    return _current


def end_record(code: int, defect: str | None = None) -> None:
    """End the record of this run, if there is one. `defect` is the name of an exception that nobody expected."""
    global _current
    if _current is not None:
        _current.finish(code, defect)
        LOGGER.removeHandler(_current)
        _current = None


def _find_versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found
