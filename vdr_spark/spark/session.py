"""The one place where a Spark session comes from.

Three situations, told apart by what is there:

* a session exists (Databricks, a notebook, a test): it is used as it is;
* the process was started by `spark-submit`: the cluster's settings stand, Delta is switched on;
* neither: a local session that fits this machine, with Delta's jars fetched from Maven once, or taken from
  where `spark.delta_jars` says (`provided`, or a list of files, for machines without a way out).

A local JVM writes its log to a file, so that a person sees our lines and not Ivy's.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.resources import as_file, files
from pathlib import Path
from weakref import WeakSet

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from vdr_spark.config.settings import SparkSettings
from vdr_spark.errors import EnvironmentProblem, InvalidConfig
from vdr_spark.spark_versions import IVY, OLDEST_JAVA, delta_package, delta_version
from vdr_spark.storage.locks import exclusive
from vdr_spark.storage.paths import is_local

logger = logging.getLogger(__name__)
_DELTA_CLASS = "io.delta.sql.DeltaSparkSessionExtension"
_DELTA_CONF = {
    "spark.sql.extensions": _DELTA_CLASS,
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}

_warned: WeakSet[SparkSession] = WeakSet()


def spark_session(settings: SparkSettings | None = None, app_name: str = "vdr") -> SparkSession:
    """Return a session with Delta switched on; an existing one is taken, whatever the settings say."""
    settings = settings or SparkSettings()
    active = SparkSession.getActiveSession()
    spark = active or (_submitted(settings, app_name) if _under_spark_submit() else _local(settings, app_name))
    _require_delta(spark)
    return spark


def _under_spark_submit() -> bool:
    # spark-submit starts the JVM first and tells Python where it listens.
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _submitted(settings: SparkSettings, app_name: str) -> SparkSession:
    builder = SparkSession.builder.appName(app_name)
    SparkContext._ensure_initialized()  # so that the cluster's settings can be looked at
    conf = _common_conf(settings) | _wire_conf(settings, SparkConf()) | settings.conf
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    # A cluster's INFO lines bury ours by the thousand, and tell the sizes of shuffle blocks.
    spark.sparkContext.setLogLevel("WARN")
    return spark


def _local(settings: SparkSettings, app_name: str) -> SparkSession:
    _require_java()
    # Python workers must be this interpreter; without it they may be another one on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with as_file(files("vdr_spark.resources") / "log4j2.properties") as log4j:
        conf = _common_conf(settings) | _machine_conf(settings, log4j) | _jar_conf(settings) | settings.conf
        builder = SparkSession.builder.appName(app_name)
        for key, value in conf.items():
            builder = builder.config(key, value)
        log = Path(tempfile.mkstemp(prefix="vdr-spark-", suffix=".log")[1])  # readable by its owner only
        try:
            with _one_fetches_jars(settings), _output_to(log):
                session = builder.getOrCreate()
        except PySparkRuntimeError as problem:
            raise EnvironmentProblem(_why_no_jvm(log)) from problem
        # From here on the log may quote rows. It has no name any more, so that nothing of it is left, however we end.
        log.unlink()
        return session


def _common_conf(settings: SparkSettings) -> dict[str, str]:
    return _DELTA_CONF | {
        "spark.sql.session.timeZone": "UTC",
        # Shuffle files hold exact data. Under a key that lives in memory, what a killed process leaves is unreadable.
        "spark.io.encryption.enabled": str(settings.encryption).lower(),
        # Nanosecond timestamps, which pandas writes, come as numbers that the readers understand.
        "spark.sql.legacy.parquet.nanosAsLong": "true",
    }


def _wire_conf(settings: SparkSettings, cluster: SparkConf) -> dict[str, str]:
    """Encryption between executors, where they prove who they are; elsewhere Spark refuses to start with it."""
    authenticated = cluster.get("spark.authenticate", "false") == "true"
    return {"spark.network.crypto.enabled": "true"} if settings.encryption and authenticated else {}


def _machine_conf(settings: SparkSettings, log4j: Path) -> dict[str, str]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {
        "spark.master": f"local[{cores}]",
        "spark.driver.memory": settings.driver_memory or _share_of_memory(),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log4j.as_uri()}",
        "spark.sql.shuffle.partitions": str(max(8, 4 * cores)),
        # Delta replays a log in 50 partitions by default; ours are short.
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "vdr-warehouse"),
    }


def _share_of_memory() -> str:
    """Return a third of this machine, 1 to 16 GiB: Python workers and PyTorch need theirs."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        total = 6 << 30
    return f"{max(1, min(16, total // 3 >> 30))}g"


def _jar_conf(settings: SparkSettings) -> dict[str, str]:
    if settings.delta_jars == "provided":
        return {}
    if settings.delta_jars == "maven":
        return {"spark.jars.packages": delta_package()}
    missing = [jar for jar in settings.delta_jars if not Path(jar).is_file()]
    if missing:
        raise EnvironmentProblem(f"spark.delta_jars: there is no file {missing[0]}; name Delta's jar files")
    return {"spark.jars": ",".join(settings.delta_jars)}


def _one_fetches_jars(settings: SparkSettings) -> AbstractContextManager[None]:
    """Let processes that may fetch jars start one after the other.

    On a fresh machine two that start together would tear each other's downloads apart, and neither would have a JVM.
    """
    if settings.delta_jars != "maven":
        return nullcontext()
    return exclusive(str(Path(settings.conf.get("spark.jars.ivy", IVY)).expanduser() / "vdr-spark.lock"))


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    advice = f"Install a JDK of version {OLDEST_JAVA} or newer, or point JAVA_HOME at one."
    if java is None or not Path(java).exists():
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "there is no `java` on the PATH"
        raise EnvironmentProblem(f"Spark needs Java {OLDEST_JAVA} or newer, but {where}. {advice}")
    try:
        text = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError as problem:
        raise EnvironmentProblem(f"{java} is no Java that runs ({problem.strerror}). {advice}") from None
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    if found is None or int(found[1]) < OLDEST_JAVA:
        what = f"is version {found[1]}" if found else "does not name its version"
        raise EnvironmentProblem(f"Spark needs Java {OLDEST_JAVA} or newer, but {java} {what}. {advice}")


@contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """Send what the JVM says to a file, while it starts and for as long as it lives.

    Its standard output too: Ivy of Spark 3.5 writes there, where our results belong.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    kept = {stream: os.dup(stream) for stream in (1, 2)}
    with log.open("ab") as file:
        for stream in kept:
            os.dup2(file.fileno(), stream)
    try:
        yield
    finally:
        for stream, copy in kept.items():
            os.dup2(copy, stream)
            os.close(copy)


def _why_no_jvm(log: Path) -> str:
    text = log.read_text(errors="replace") if log.exists() else ""
    if any(words in text for words in ("unresolved dependency", "UNRESOLVED DEPENDENCIES", "FAILED DOWNLOADS")):
        return (
            f"Delta's jars (delta-spark {delta_version()}) could not be fetched from Maven. Without a way "
            f"out, set spark.delta_jars to a list of jar files or to `provided`. Ivy's words are in {log}"
        )
    return f"Spark's Java process did not start; what it said is in {log}"


def warn_about_side_channels(spark: SparkSession) -> None:
    """Log, once per session, what it keeps or writes beside the tables: before pings are read, in notebooks too."""
    if spark not in _warned:
        _warned.add(spark)
        for caution in side_channel_cautions(spark):
            logger.warning(caution)


def side_channel_cautions(spark: SparkSession) -> list[str]:
    """Return what a session that others set up keeps or writes beside the tables, in sentences for the operator."""
    found = []
    if spark.conf.get("spark.eventLog.enabled", "false") == "true":
        found.append("Spark keeps an event log here. It counts rows, exactly: let nobody but the operator read it.")
    if spark.conf.get("spark.io.encryption.enabled", "false") != "true":
        found.append(
            "Spark's shuffle files are not encrypted here, and they hold exact data: set spark.io.encryption.enabled, "
            "or let nobody but the operator read Spark's local folders."
        )
    return found


def require_local_paths(spark: SparkSession, *paths: str) -> None:
    """Refuse paths without a scheme where Spark would look for them elsewhere than we do, as on a cluster with HDFS.

    Locks, the ledger's head and what a killed attempt left are looked for on this machine's disk.
    """
    context = getattr(spark, "_jsc", None)  # Spark Connect has none, and says no more
    default = context.hadoopConfiguration().get("fs.defaultFS", "file:///") if context is not None else "file:///"
    plain = [path for path in paths if is_local(path)]
    if plain and not str(default).startswith("file:") and not _on_databricks():
        raise InvalidConfig(
            f"output, ledger: {plain[0]} is a path without a store, which Spark takes for one in {default} and we for "
            f"one of this machine; write it in full, as {str(default).rstrip('/')}/..., or set fs.defaultFS to file:///"
        )


@contextmanager
def settings_of_spark(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    """Change runtime settings of a session, for as long as a job needs them."""
    before = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


def _advise_delta() -> str:
    return (
        f"Start Spark with --packages {delta_package()} "
        f"--conf spark.sql.extensions={_DELTA_CLASS} "
        f"--conf spark.sql.catalog.spark_catalog={_DELTA_CONF['spark.sql.catalog.spark_catalog']}"
    )


def _require_delta(spark: SparkSession) -> None:
    if _DELTA_CLASS not in (spark.conf.get("spark.sql.extensions", "") or "") and not _on_databricks():
        raise EnvironmentProblem(f"the Spark session that exists has Delta switched off. {_advise_delta()}")
    jvm = getattr(spark, "_jvm", None)
    if jvm is not None and not _on_databricks():
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        try:
            loader.loadClass(_DELTA_CLASS)
        except Exception as problem:
            raise EnvironmentProblem(f"Delta's jars are not on Spark's class path. {_advise_delta()}") from problem


def _on_databricks() -> bool:
    return "DATABRICKS_RUNTIME_VERSION" in os.environ
