"""A lock excludes, is let go of by the kernel, and is refused with a sentence where it cannot be."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from vdr_spark.errors import Busy, EnvironmentProblem
from vdr_spark.storage.locks import exclusive

HOLD = """
import sys, time
from vdr_spark.storage.locks import exclusive
with exclusive(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


def holder(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_lock_that_is_held_is_busy_or_waited_for_and_the_kernel_lets_go_of_it(tmp_path: Path) -> None:
    path = tmp_path / "made/when/needed/a.lock"
    other, held = holder(path), threading.Event()

    def wait_for_it() -> None:
        with exclusive(str(path)):
            held.set()

    waiting = threading.Thread(target=wait_for_it, daemon=True)
    try:
        with pytest.raises(Busy, match="somebody is at it"), exclusive(str(path), busy="somebody is at it"):
            pytest.fail("two processes hold one lock")
        waiting.start()
        assert not held.wait(0.3)
    finally:
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
    assert held.wait(30)
    waiting.join(30)
    with exclusive(str(path), busy="somebody is at it"):
        pass


def test_a_lock_excludes_within_a_process_too_and_is_given_back_after_an_error(tmp_path: Path) -> None:
    path = str(tmp_path / "a.lock")
    with exclusive(path), pytest.raises(Busy), exclusive(path, busy="held"):
        pytest.fail("held twice")
    with pytest.raises(ZeroDivisionError), exclusive(path):
        raise ZeroDivisionError
    with exclusive(path, busy="held"):
        pass


def test_other_paths_are_other_locks(tmp_path: Path) -> None:
    with exclusive(str(tmp_path / "a.lock"), busy="a"), exclusive(str(tmp_path / "b.lock"), busy="b"):
        pass


def test_a_folder_that_cannot_be_written_to_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / "file/below/a.lock"
    with pytest.raises(EnvironmentProblem, match="cannot be written to: Not a directory"), exclusive(str(path)):
        pytest.fail("held")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_of_somebody_else_is_a_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(EnvironmentProblem, match="cannot be written to"), exclusive(str(tmp_path / "a.lock")):
        pytest.fail("held")


def test_a_file_system_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not replaced by a file that nobody removes when its owner is killed."""

    def missing(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", missing)
    with pytest.raises(EnvironmentProblem), exclusive(str(tmp_path / "a.lock")):
        pytest.fail("held")


def test_object_stores_are_not_locked() -> None:
    with exclusive("hdfs://name/a.lock"), exclusive("hdfs://name/a.lock", busy="held"):
        pass
