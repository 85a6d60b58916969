"""`make matrix`, its second half: a release, the tests that the promise rests on and a kill, under several Sparks.

Each row is a small environment with the product's wheel and no PyTorch, made anew in a temporary folder. In each of
them `vdr` makes, audits and asks a whole release; then the tests of reading, of bounding and noise, of the ledger's
races run, and one release is killed while it draws noise. Name versions of Spark to run only these:
`python -m tests.matrix.under_spark 3.5.0`. Exit code 0 if every row that was run came out right.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import SMALL
from tests.matrix.environments import NEWEST, ROOT, find_python, make_environment

SECONDS = 3600.0  # of one step
FOR_TESTS = ["pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "opendp", "duckdb", "mpmath<1.4"]
# What extras of ours bring that these tests use: object stores, prices in rho.
FOR_TESTS += ["obstore", "dp-accounting"]
TESTS = [
    *("tests/pings", "tests/collect", "tests/statistical"),
    *("tests/test_spark_versions.py", "tests/privacy/test_ledger.py"),
]
KILL = "tests/faults/test_chain.py::test_a_release_that_is_killed_while_it_draws_noise_draws_and_pays_once"


@dataclass(frozen=True)
class Row:
    """An environment, by the version of each package; an empty one means the newest."""

    python: str
    pyspark: str
    delta: str
    pyarrow: str
    numpy: str
    pandas: str

    @property
    def pins(self) -> list[str]:
        versions = {
            "pyspark": self.pyspark,
            "delta-spark": self.delta,
            "pyarrow": self.pyarrow,
            "numpy": self.numpy,
            "pandas": self.pandas,
        }
        return [f"{name}=={version}" if version else name for name, version in versions.items()]


ROWS = [
    Row("3.11", "3.5.0", "3.2.0", "14.0.1", "1.23.5", "1.5.3"),  # Databricks Runtime 15.4
    Row("3.12", "4.0.0", "4.0.1", "19.0.1", "2.1.3", "2.2.3"),  # 17.3; PyPI's delta-spark 4.0.0 lacks delta.exceptions
    # The newest Spark that the newest Delta is built for. Of delta-spark 4.4.1 Maven has no jars.
    Row("3.13", "4.2.0", "4.4.0", NEWEST, NEWEST, NEWEST),
]


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run words in an environment, from the repository, with nothing of ours on the path but what is there."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{folder}/bin{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def release(folder: Path, work: Path) -> str:
    """Make a release, audit it and ask it; return what went wrong, if anything did."""
    places = (f"output={work}/out", f"input.path={work}/pings", "denoise.model=ridge")
    settings = [word for text in (*SMALL, *places) for word in ("--set", text)]
    for command in (["synth"], ["release"], ["audit"], ["query", "range"]):
        done = run([str(folder / "bin" / "vdr"), *command, "conf/demo.yaml", *settings], folder)
        if done.returncode:
            return f"WRONG: vdr {' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    return "right"


def test(folder: Path, *words: str) -> str:
    """Run tests; return how many passed, or what they say."""
    python = [str(folder / "bin" / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=0"]
    done = run([*python, "--durations-min=60", "--tb=short", *words], folder)
    counted = re.findall(r"\d+ (?:passed|skipped|failed|errors?)", done.stdout)
    return ", ".join(counted) if not done.returncode else f"WRONG: {', '.join(counted)}\n{done.stdout}{done.stderr}"


def run_row(row: Row, work: Path) -> list[str]:
    """Return a row of the table: the environment, and what came of a release, of the tests and of a kill."""
    python = find_python(row.python)
    versions = [row.python, row.pyspark, row.delta, row.pyarrow, row.numpy, row.pandas]
    if python is None:
        return [*versions, "skipped: no such Python", "", ""]
    folder = work / "environment"
    make_environment(folder, python, [*row.pins, *FOR_TESTS, str(ROOT)])
    asked = "from importlib.metadata import version as v; print(v('pyarrow'), v('numpy'), v('pandas'))"
    versions[3:] = run([str(folder / "bin" / "python"), "-c", asked], folder).stdout.split()
    steps = {
        "a release": lambda: release(folder, work),
        "tests": lambda: test(folder, *TESTS),
        "a kill": lambda: test(folder, "-m", "faults", KILL),
    }
    found = []
    for name, step in steps.items():  # each takes minutes, and the table has whole rows
        found.append(step())
        print(f"Spark {row.pyspark}, {name}: {found[-1].splitlines()[0]}", file=sys.stderr, flush=True)
    return [*versions, *found]


def main() -> int:
    chosen = [row for row in ROWS if row.pyspark in sys.argv[1:]] or ROWS
    print("| Python | Spark | Delta | pyarrow | NumPy | pandas | a release | tests | a kill |\n" + "| --- " * 9 + "|")
    failed = False
    for row in chosen:
        work = Path(tempfile.mkdtemp(prefix="vdr-matrix-"))
        cells = run_row(row, work)
        failed |= any(cell.startswith("WRONG") for cell in cells)
        print("| " + " | ".join(cell.split("\n")[0] for cell in cells) + " |", flush=True)
        for wrong in (cell for cell in cells if cell.startswith("WRONG")):
            print(wrong, file=sys.stderr, flush=True)
        shutil.rmtree(work, ignore_errors=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
