"""Delta's jars for a session of this machine: from Maven once, by Ivy, and from then on as files.

Ivy takes seconds at every start to find out what it fetched before. So beside it lies a small file for each Delta, with
the jars that a session had and their sizes. If all of them are there as they were, those that Spark itself has not are
put on its class path; in any doubt Ivy is asked, as the first time. Ivy itself looks at no more than that: what is in
its cache it takes. By `spark.jars`, as Ivy hands them over, Spark would copy all of them once more at every start.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from vdr_spark.config.settings import SparkSettings
from vdr_spark.errors import EnvironmentProblem
from vdr_spark.spark_versions import IVY, delta_package
from vdr_spark.storage.files import write_json
from vdr_spark.storage.locks import exclusive

_CLASS_PATH = "spark.driver.extraClassPath"


def jar_conf(settings: SparkSettings) -> dict[str, str]:
    """Return the settings by which Spark has Delta's jars."""
    if settings.delta_jars == "provided":
        return {}
    if settings.delta_jars == "maven":
        package = delta_package()
        if (lacking := find_lacking(settings)) is not None:
            return {_CLASS_PATH: os.pathsep.join(lacking)}
        jars = _recall(settings)
        return {"spark.jars.packages": package} if jars is None else {"spark.jars": ",".join(jars)}
    missing = [jar for jar in settings.delta_jars if not Path(jar).is_file()]
    if missing:
        raise EnvironmentProblem(f"spark.delta_jars: there is no file {missing[0]}; name Delta's jar files")
    return {"spark.jars": ",".join(settings.delta_jars)}


def find_lacking(settings: SparkSettings) -> list[str] | None:
    """Return the jars of the last session that Spark has not itself, older or newer; None where a path will not do.

    A class path takes what comes first, and these would come before Spark's own. It reaches this process only.
    """
    jars = _recall(settings)
    own = {_artifact(jar.name) for jar in list_own_jars()}
    if jars is None or not own or not _stays_here(settings) or any(os.pathsep in jar for jar in jars):
        return None
    return [jar for jar in jars if _artifact(Path(jar).name.partition("_")[2]) not in own]


def _recall(settings: SparkSettings) -> list[str] | None:
    return None if _names_jars(settings) else recall_jars(settings, delta_package())


def _stays_here(settings: SparkSettings) -> bool:
    """Whether Java's one process is all there is: executors of their own would not have what is on its class path."""
    return re.fullmatch(r"local(\[[^\]]*\])?", settings.conf.get("spark.master", "local")) is not None


def list_own_jars() -> Sequence[Path]:
    """Return Spark's own jars."""
    import pyspark

    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    return sorted((home / "jars").glob("*.jar"))


def _artifact(jar: str) -> str:
    """Return what a jar is called, without its version."""
    return re.sub(r"-[0-9][^/]*$", "", jar.removesuffix(".jar"))


def one_fetches_jars(conf: dict[str, str]) -> AbstractContextManager[None]:
    """Let processes that may fetch jars start one after the other.

    On a fresh machine two that start together would tear each other's downloads apart, and neither would have a JVM.
    """
    if "spark.jars.packages" not in conf:
        return nullcontext()
    return exclusive(str(Path(conf.get("spark.jars.ivy", IVY)).expanduser() / "vdr-spark.lock"))


def recall_jars(settings: SparkSettings, package: str) -> list[str] | None:
    """Return the jars of a package's last session; None where one of them is not as it was, or nothing is known."""
    ivy = ivy_folder(settings)
    try:
        sizes = json.loads(_memory(ivy, package).read_text())["jars"]
        whole = all(_is_inside(ivy, jar) and Path(jar).stat().st_size == size for jar, size in sizes.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return list(sizes) if sizes and whole else None


def remember_jars(settings: SparkSettings, jars: Iterable[str]) -> None:
    """Keep which jars a session has that Ivy was asked for, named as Spark names them.

    Where a person has settings of jars, or some are from elsewhere, nothing is kept.
    """
    ivy, paths = ivy_folder(settings), [unquote(urlsplit(jar).path) for jar in jars if jar]
    if settings.delta_jars != "maven" or _names_jars(settings) or not paths:
        return
    with suppress(OSError):  # a folder that cannot be written: Ivy is asked again
        if all(_is_inside(ivy, path) for path in paths):
            memory, sizes = _memory(ivy, delta_package()), {path: Path(path).stat().st_size for path in paths}
            if recall_jars(settings, delta_package()) != paths:
                write_json(str(memory), {"jars": sizes})


def _names_jars(settings: SparkSettings) -> bool:
    """Whether a person has settings of jars: then it is for Ivy to say what all of them come to."""
    return any(
        key == _CLASS_PATH or (key.startswith("spark.jars") and key != "spark.jars.ivy") for key in settings.conf
    )


def ivy_folder(settings: SparkSettings) -> Path:
    """Return where Spark keeps what it fetched."""
    return Path(settings.conf.get("spark.jars.ivy", IVY)).expanduser()


def _memory(ivy: Path, package: str) -> Path:
    return ivy / f"vdr-spark.{re.sub('[^A-Za-z0-9._-]', '_', package)}.json"


def _is_inside(ivy: Path, jar: str) -> bool:
    return Path(jar).resolve().is_relative_to(ivy.resolve())
