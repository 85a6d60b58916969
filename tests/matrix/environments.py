"""`make matrix`: Petastorm's reading in one small environment per row, each in several fresh processes.

An environment has what reading needs and no more: no Spark and no PyTorch. It is made anew in a temporary folder, with
Pythons from the PATH or from pyenv; a row whose Python is not there is skipped, and says so. Several
processes, because the end of an epoch in Petastorm is a race. Exit code 0 if every row that was run came out right.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from vdr_spark.denoise.petastorm_compat import VERSION

ROOT = Path(__file__).parents[2]
PROCESSES = 6
SECONDS = 120.0  # a process that takes longer hangs
# What the reader and Petastorm import beside pyarrow, NumPy and pandas; of Petastorm's own list not pyspark.
BESIDE = ["fsspec", "six", "future", "dill", "diskcache", "packaging", "psutil", "pyzmq"]
BESIDE += ["pydantic", "pyyaml", "scipy", "tzdata", "filelock"]
NEWEST = ""
# Python, pyarrow, NumPy, pandas. pyarrow 14 and 15 were compiled against NumPy 1, and pandas 1.5 for Python up to 3.11.
ROWS = [
    ("3.11", "14.0.1", "1.23.5", "1.5.3"),  # Databricks Runtime ML 15.4
    ("3.11", "14.0.2", "1.26.4", "2.2.3"),  # requirements.lock
    ("3.11", "15.0.2", "1.26.4", "1.5.3"),
    ("3.12", "15.0.2", "1.26.4", "2.2.3"),  # 16.4, but for pandas
    ("3.12", "16.1.0", "1.26.4", "2.2.3"),
    ("3.12", "17.0.0", "2.1.3", "2.2.3"),
    ("3.12", "18.1.0", "2.1.3", "2.2.3"),
    ("3.12", "19.0.1", "2.1.3", "2.2.3"),  # 17.3
    ("3.12", "20.0.0", "2.1.3", "2.2.3"),
    ("3.12", "21.0.0", "2.2.6", "2.3.3"),
    ("3.13", "22.0.0", "2.3.5", "2.3.3"),
    ("3.13", "23.0.1", "2.3.5", "2.3.3"),
    ("3.13", "24.0.0", "2.4.6", "3.0.6"),
    ("3.13", "25.0.1", "2.4.6", "3.0.6"),
    ("3.12", NEWEST, NEWEST, NEWEST),
    ("3.13", NEWEST, NEWEST, NEWEST),
]


def find_python(minor: str) -> str | None:
    """Return an interpreter of this version, from the PATH or from pyenv."""
    versions = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    candidates = [shutil.which(f"python{minor}"), *map(str, sorted(versions.glob(f"{minor}.*/bin/python")))]
    probe = "import sys; print('%d.%d' % sys.version_info[:2])"
    for candidate in filter(None, candidates):  # pyenv's shims are on the PATH and may refuse to be anything
        said = subprocess.run([candidate, "-c", probe], capture_output=True, text=True, check=False)
        if said.stdout.strip() == minor:
            return candidate
    return None


def make_environment(folder: Path, python: str, pins: list[str]) -> None:
    uv = [str(Path(sys.executable).with_name("uv"))]
    install = [*uv, "pip", "install", "--quiet", "--python", str(folder)]
    subprocess.run([*uv, "venv", "--quiet", "--python", python, str(folder)], check=True)
    subprocess.run([*install, *BESIDE, *pins], check=True)
    subprocess.run([*install, "--no-deps", f"petastorm=={VERSION}"], check=True)


def read_once(folder: Path) -> tuple[str, str]:
    """Read in a fresh process; return the versions it ran with, and what went wrong, if anything did."""
    command = [str(folder / "bin" / "python"), "-m", "tests.matrix.read_by_petastorm"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    try:
        said = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "", f"hung for {SECONDS:.0f} s"
    if said.returncode:
        return "", (said.stderr.strip().splitlines() or [f"exit code {said.returncode}"])[-1]
    return said.stdout.strip(), ""


def run_row(folder: Path, minor: str, *versions: str) -> tuple[str, str]:
    """Return the versions of a row, and its result: `right`, `skipped`, or what went wrong."""
    python = find_python(minor)
    if python is None:
        return " ".join((minor, *versions)), "skipped: no such Python"
    names = ("pyarrow", "numpy", "pandas")
    pins = [f"{name}=={version}" if version else name for name, version in zip(names, versions, strict=True)]
    make_environment(folder, python, pins)
    readings = [read_once(folder) for _ in range(PROCESSES)]
    wrong = [problem for _, problem in readings if problem]
    if wrong:
        return " ".join((minor, *versions)), f"WRONG in {len(wrong)} of {PROCESSES}: {wrong[0]}"
    return readings[0][0], f"right, {PROCESSES} of {PROCESSES}"


def main() -> int:
    print("| Python | pyarrow | NumPy | pandas | petastorm " + VERSION + " |\n| --- | --- | --- | --- | --- |")
    failed = False
    with tempfile.TemporaryDirectory(prefix="vdr-matrix-") as folder:
        for number, row in enumerate(ROWS):
            ran, result = run_row(Path(folder) / str(number), *row)
            failed |= not result.startswith(("right", "skipped"))
            print("| " + " | ".join([*ran.split(), result]) + " |", flush=True)
            shutil.rmtree(Path(folder) / str(number), ignore_errors=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
