"""`vdr release` as a process group of its own, killed at a point or left to finish."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.conftest import ROOT, SMALL
from tests.faults.points import AtCall, AtFile, Point
from vdr_spark.config import ReleaseConfig, load_config

CONF = str(ROOT / "conf/demo.yaml")
INJECT = Path(__file__).parent / "inject"
_LOOK_EVERY = 0.002  # seconds
_AT_MOST = 600.0


@dataclass(frozen=True)
class Command:
    """`vdr release CONF --set ...`, the same words every time it is started."""

    overrides: tuple[str, ...]

    @classmethod
    def of(cls, pings: str, output: Path, spark_conf: dict[str, str], delta_jars: str) -> Command:
        places = (f"input.path={pings}", f"output={output}", delta_jars)
        return cls((*SMALL, *places, "spark.driver_memory=1g", f"spark.conf={json.dumps(spark_conf)}"))

    @property
    def config(self) -> ReleaseConfig:
        return load_config(CONF, self.overrides)

    def finished(self) -> subprocess.CompletedProcess[str]:
        """Run it to its end, with nothing in its way."""
        return self._run(_environment(ROOT))

    def finished_after(self, fault: AtCall, marks: Path) -> subprocess.CompletedProcess[str]:
        """Run it to its end; on its way it must have come by the fault, and survived."""
        marks.mkdir()
        done = self._run(faulty((fault,), marks))
        assert (marks / fault.name).exists(), f"`{fault.name}` was never reached:\n{done.stdout}{done.stderr}"
        return done

    def _run(self, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        words = self._words()
        return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=_AT_MOST, check=False)

    def killed_at(self, point: Point, marks: Path, *, after: tuple[AtCall, ...] = ()) -> None:
        """Run it until the point is reached, and see its whole process group die there by SIGKILL.

        `after` are faults that it must have come by, and survived, on its way there. Those that were reached leave a
        file of their name in the folder `marks`.
        """
        marks.mkdir()
        faults = (*after, point) if isinstance(point, AtCall) else after
        reached = _sight(point, Path(self.config.output))
        began = time.monotonic()
        with (marks / "said").open("wb") as said:
            process = subprocess.Popen(
                self._words(),
                env=faulty(faults, marks),
                start_new_session=True,
                stdout=said,
                stderr=subprocess.STDOUT,
            )
        try:
            while process.poll() is None and not reached(time.monotonic() - began):
                assert time.monotonic() - began < _AT_MOST, f"`{point.name}` was not reached"
                time.sleep(_LOOK_EVERY)
        finally:
            _kill_all(process)
        where = f"`{point.name}` was never reached:\n{(marks / 'said').read_text()}"
        assert process.returncode == -signal.SIGKILL, where
        for fault in faults:
            assert (marks / fault.name).exists(), where

    def _words(self) -> list[str]:
        vdr = str(Path(sys.executable).parent / "vdr")
        return [vdr, "release", CONF, *(word for text in self.overrides for word in ("--set", text))]


def _environment(*path: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}


def faulty(faults: tuple[AtCall, ...], marks: Path) -> dict[str, str]:
    """The environment of a process, and of all that it starts, in which the faults happen."""
    armed = {"VDR_FAULTS": json.dumps([asdict(fault) for fault in faults]), "VDR_FAULT_MARKS": str(marks)}
    return _environment(INJECT, ROOT) | armed


def _sight(point: Point, output: Path) -> Callable[[float], bool]:
    """Whether a point that is watched from outside is reached, given the seconds since the start."""
    if isinstance(point, AtCall):
        return lambda _: False  # the process kills itself
    if not isinstance(point, AtFile):
        return lambda seconds: seconds >= point.seconds
    old = _find(output, point.pattern)  # what an earlier victim left

    def seen(_: float) -> bool:
        if len(_find(output, point.pattern) - old) < point.count:
            return False
        time.sleep(point.delay)
        return True

    return seen


def _find(output: Path, pattern: str) -> set[Path]:
    try:
        return set(output.glob(pattern))
    except FileNotFoundError:  # a folder that was removed while it was looked into
        return set()


def _kill_all(leader: subprocess.Popen[bytes]) -> None:
    """Until nobody is left of the group, Java neither: what is looked at afterwards changes no more."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.killpg(leader.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        leader.wait()
        time.sleep(_LOOK_EVERY)
    raise AssertionError("a process survived kill -9")
