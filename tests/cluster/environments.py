"""Pythons for clusters, made in `build/clusters`: the packed one of docs/platforms/yarn.md, and poor ones of nodes.

The packed one is made by the page's own lines. Nodes have one of the others: nothing in it, NumPy and pyarrow, or these
and another vdr_spark.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pyspark

from tests.conftest import ROOT
from tests.engines.downloads import NotToBeHad
from vdr_spark.spark_versions import delta_package, delta_version

CACHE = ROOT / "build" / "clusters"
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = _PROJECT["version"]
WHEEL = f"dist/vdr_spark-{VERSION}-py3-none-any.whl"
SPARK = Path(pyspark.__path__[0])
_PAGE = ROOT / "docs/platforms/yarn.md"
_UV = str(Path(sys.executable).with_name("uv"))
_OF_OURS = ("PYTHON", "PYSPARK", "SPARK", "HADOOP", "YARN", "VIRTUAL_ENV", "VDR")


def clean_environment() -> dict[str, str]:
    """Return this process's environment, with Spark, and without what says where something of ours lies."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OF_OURS)}
    python = Path(sys.base_prefix) / "bin"  # which has a python3.11, as the page asks for
    path = os.pathsep.join((str(SPARK / "bin"), str(python), kept["PATH"]))
    return kept | {"PATH": path, "SPARK_HOME": str(SPARK)}


def block_of(heading: str, number: int = 0) -> str:
    """Return a block of commands that stands under a heading of the page, for the Spark and the Delta that are here."""
    section = _PAGE.read_text().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    found: list[str] = re.findall(r"```bash\n(.*?)```", section, re.DOTALL)
    ours = re.sub(r"io\.delta:delta-spark_[\d._]+:[\d.]+", delta_package(), found[number])
    return re.sub(r"delta-spark==[\d.]+", f"delta-spark=={delta_version()}", ours)


def workbench() -> Path:
    """Return a folder like a checkout, in which step 1 of the page was followed: with a wheel and a packed environment.

    Where only our code has changed since, no more than the wheel is installed again.
    """
    step = block_of("1. Pack the environment")
    asked_for = repr(_PROJECT["dependencies"]).encode()
    lock = (ROOT / "requirements.lock").read_bytes()
    folder = CACHE / f"checkout-{_digest(step.encode(), asked_for, lock)}"
    mark, code = folder / "ready", _digest(*(file.read_bytes() for file in sorted((ROOT / "vdr_spark").rglob("*.py"))))
    if mark.exists() and mark.read_text() == code:
        return folder
    print("clusters: packing an environment (1 to 3 minutes)", file=sys.__stderr__, flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("jobs", "requirements.lock"):
        if not (folder / name).exists():
            (folder / name).symlink_to(ROOT / name)
    lines = step.replace("make wheel\n", f"{_UV} build --quiet --wheel --out-dir dist {ROOT}\n")  # which it does
    if mark.exists():
        build, *_, pack = lines.strip().splitlines()
        lines = f"{build}\nvdr-env/bin/pip install --no-deps --force-reinstall {WHEEL}\nrm vdr-env.tar.gz\n{pack}"
    _run(["bash", "-ec", lines], folder)
    mark.write_text(code)
    return folder


def bare_python() -> Path:
    """Return an interpreter that has no packages at all."""
    return _python("bare")


def poor_python() -> Path:
    """Return an interpreter with NumPy and pyarrow, those of the lock, and nothing else."""
    return _python("poor", *_pins("numpy", "pyarrow"))


def other_python() -> Path:
    """Return the same with a vdr_spark that is older: another version, and one line of the code that bounds."""
    python = _python("other", *_pins("numpy", "pyarrow"))
    packages = next((python.parents[1] / "lib").glob("python3*/site-packages"))
    if not (packages / "vdr_spark").exists():
        with zipfile.ZipFile(workbench() / WHEEL) as wheel:
            wheel.extractall(packages)
        changed = packages / "vdr_spark/collect/bounding.py"
        changed.write_text(changed.read_text() + "\n# As it was before.\n")
        now = next(packages.glob("vdr_spark-*.dist-info"))
        told = now / "METADATA"
        told.write_text(re.sub(r"(?m)^Version: .*$", "Version: 0.0.9", told.read_text()))
        now.rename(now.with_name("vdr_spark-0.0.9.dist-info"))
    return python


def _python(name: str, *packages: str) -> Path:
    folder = CACHE / f"python-{name}"
    if not (folder / "ready").exists():
        _run([_UV, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)], ROOT)
        if packages:
            _run([_UV, "pip", "install", "--quiet", "--python", str(folder), *packages], ROOT)
        (folder / "ready").touch()
    return folder / "bin" / "python"


def _pins(*names: str) -> list[str]:
    lock = (ROOT / "requirements.lock").read_text().splitlines()
    return [line for line in lock if line.split("==")[0] in names]


def _digest(*parts: bytes) -> str:
    return hashlib.sha1(b"".join(parts)).hexdigest()[:10]


def _run(words: list[str], folder: Path) -> None:
    done = subprocess.run(words, cwd=folder, env=clean_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotToBeHad(f"an environment cannot be made with packages from PyPI ({done.stderr.strip()[-500:]})")
