"""How long small things take from a cold start: a question to the ledger, and a whole collect of 100,000 pings.

    python benchmarks/small_jobs.py

Each is a process of its own, as a person starts it: `vdr budget show`, `vdr collect` into an empty folder, and beside
them, by turns, what nobody can be faster than: a Python that does nothing, and a local Spark session with Delta that is
started, asked for one row and ended. Least and median over the repeats. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import yaml

BARE_SPARK = """
from vdr_spark import spark_session
spark = spark_session(small=True)
spark.range(1).count()
spark.stop()
"""


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="vdr-small-") as folder:
        conf = _prepare(Path(folder), arguments.pings)
        _vdr("synth", conf)
        _vdr("collect", conf)  # the ledger that is asked, and what was not in memory yet
        jobs: dict[str, Callable[[], object]] = {
            "python": lambda: _python("pass"),
            "budget_show": lambda: _vdr("budget", "show", conf),
            "bare_spark": lambda: _python(BARE_SPARK),
            "collect": lambda: _collect_anew(Path(folder), conf),
        }
        seconds: dict[str, list[float]] = {name: [] for name in jobs}
        for _ in range(arguments.repeats):
            for name, job in jobs.items():
                seconds[name].append(_time(job))
    for name, found in seconds.items():
        print(f"{name:12} least {min(found):6.2f} s, median {statistics.median(found):6.2f} s")
    least = {f"{name}_s": round(min(found), 3) for name, found in seconds.items()}
    print(json.dumps(least | {"collect_to_bare_spark": round(least["collect_s"] / least["bare_spark_s"], 2)}))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pings", type=int, default=100_000, help="of the made-up city (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="of each job, by turns (default: %(default)s)")
    return parser.parse_args()


def _prepare(folder: Path, pings: int) -> str:
    settings = {
        "name": "small",
        "dataset": "nobody",
        "output": str(folder / "out"),
        "input": {"path": str(folder / "pings")},
        "synth": {"kind": "city", "pings": pings, "seed": 1},
        "region": {"center": [29.7604, -95.3698], "side_m": 20_000},
        "grid": {"cells_per_side": 64},
        "period": {"start": "2020-01-07", "end": "2020-01-14", "slice": "3h", "timezone": "America/Chicago"},
        "privacy": {"epsilon": 1, "k": 16, "total_pings": pings, "budget": 1},
    }
    conf = folder / "conf.yaml"
    conf.write_text(yaml.safe_dump(settings))
    return str(conf)


def _collect_anew(folder: Path, conf: str) -> None:
    shutil.rmtree(folder / "out")
    _vdr("collect", conf)


def _vdr(*words: str) -> None:
    _run([str(Path(sys.executable).with_name("vdr")), *words])


def _python(code: str) -> None:
    _run([sys.executable, "-c", code])


def _run(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def _time(job: Callable[[], object]) -> float:
    began = time.perf_counter()
    job()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
