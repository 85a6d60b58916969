"""Whole processes, killed before they can clean up: what lies about then holds nobody's id, place or number."""

import json
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, small_overrides, write_pings
from tests.plans import grid_of
from vdr_spark.config import load_config

CONF = str(ROOT / "conf/demo.yaml")
CANARY = "canary-anna-1f2e3d"
PINGS = 104_729
# A release by the command line; then Python, its workers and Java die at once, as by the kernel's hand.
COLLECT_AND_DIE = f"""
import os, signal, sys
from vdr_spark.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    if end.code == 0:
        os.killpg(0, {int(signal.SIGKILL)})
    raise
"""


def killed_release(folder: Path, encryption: bool, delta_jars: str) -> tuple[dict[str, bytes], list[bytes]]:
    """What a killed `vdr release` leaves in all its folders and said, and what must not be found there."""
    scratch, temporary = folder / "scratch", folder / "temporary"
    for made in (scratch, temporary):
        made.mkdir()
    readable = {
        "spark.local.dir": str(scratch),
        "spark.shuffle.compress": "false",
        "spark.cleaner.referenceTracking": "false",  # or what the garbage collector reaches in time is not looked at
    }
    settings = json.dumps({"encryption": encryption, "conf": readable, "driver_memory": "1g"})
    overrides = [*small_overrides(folder), f"spark={settings}", delta_jars]
    config = load_config(CONF, overrides)
    write_pings(config.input.path, grid_of(config), [(CANARY, 7)] * PINGS + [(f"{CANARY}-{n}", n) for n in range(500)])
    arguments = [part for text in overrides for part in ("--set", text)]
    environment = os.environ | {"TMPDIR": str(temporary)}
    environment.pop("SPARK_LOCAL_DIRS", None)
    done = subprocess.run(
        [sys.executable, "-c", COLLECT_AND_DIE, "collect", CONF, *arguments],
        capture_output=True,
        timeout=600,
        check=False,
        env=environment,
        start_new_session=True,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()[-3000:]
    left = {str(file): file.read_bytes() for top in (scratch, temporary, folder / "out") for file in files_in(top)}
    assert any("shuffle_" in name and len(content) > 1000 for name, content in left.items())
    lat, lon = grid_of(config).latitudes()[0], grid_of(config).longitudes()[7]
    secrets = [CANARY.encode(), str(PINGS).encode(), str(PINGS + 500).encode()]
    secrets += [form for degrees in (lat, lon) for form in (repr(float(degrees)).encode(), struct.pack("<d", degrees))]
    return left | {"what it said": done.stdout + done.stderr}, secrets


def files_in(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


@pytest.mark.faults
@pytest.mark.parametrize("encryption", [True, False])
def test_what_a_killed_run_leaves_behind(tmp_path: Path, delta_jars: str, encryption: bool) -> None:
    left, secrets = killed_release(tmp_path, encryption, delta_jars)
    assert not [name for name in left if "vdr-spark-" in name]  # Spark's log may quote rows
    found = {(secret, name) for name, content in left.items() for secret in secrets if secret in content}
    if encryption:
        assert not found
        assert b"not encrypted" not in left["what it said"]
    else:  # so this is able to find something
        assert {secret for secret, _ in found} == {CANARY.encode()}
        assert all("shuffle_" in name for _, name in found)
        assert b"shuffle files are not encrypted" in left["what it said"]
