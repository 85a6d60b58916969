"""The one place where a Spark session comes from.

Four situations, told apart by what is there:

* a session exists (Databricks, a notebook, a test), of this process or a remote one: it is used as it is;
* the environment names a server of Spark Connect (SPARK_REMOTE): a session there, with the server's settings;
* the process was started by `spark-submit`: the cluster's settings stand, Delta is switched on;
* none of these: a local session that fits this machine, with Delta's jars fetched from Maven once, or taken from
  where `spark.delta_jars` says (`provided`, or a list of files, for machines without a way out).

A local JVM writes its log to a file, so that a person sees our lines and not Ivy's.
"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.metadata import version
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, PySparkRuntimeError
from pyspark.sql import SparkSession

from vdr_spark.config.settings import SparkSettings
from vdr_spark.errors import EnvironmentProblem, InvalidConfig
from vdr_spark.spark.class_archive import archive_options
from vdr_spark.spark.jars import find_lacking, ivy_folder, jar_conf, list_own_jars, one_fetches_jars, remember_jars
from vdr_spark.spark.java import explain_no_jvm, output_to, require_java, share_of_memory
from vdr_spark.spark.meanwhile import load_meanwhile
from vdr_spark.spark.remote import is_remote, names_a_server, require_same_disk
from vdr_spark.spark_errors import SPARK_ERRORS
from vdr_spark.spark_versions import LOADED_AT_FIRST_CALL, condition_of, delta_package
from vdr_spark.storage.paths import is_local, is_same_for_spark, on_databricks

if TYPE_CHECKING:
    from pyspark import SparkConf

_DELTA_CLASS = "io.delta.sql.DeltaSparkSessionExtension"
_DELTA_CONF = {
    "spark.sql.extensions": _DELTA_CLASS,
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}

# Where there is little to do, compiling costs more than it gains: Java's second compiler, and code that Spark writes.
_QUICK_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=256m")
_QUICK_CONF = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
}


def spark_session(settings: SparkSettings | None = None, app_name: str = "vdr", small: bool = False) -> SparkSession:
    """Return a session with Delta switched on; an existing one is taken, whatever the settings say.

    `small` says that there is little to do: a session that is started here then compiles less.
    """
    settings = settings or SparkSettings()
    spark = SparkSession.getActiveSession() or _start(settings, app_name, small)
    _require_delta(spark)
    return spark


def _start(settings: SparkSettings, app_name: str, small: bool) -> SparkSession:
    if names_a_server():
        return _connected(settings, app_name)
    if _under_spark_submit():
        return _submitted(settings, app_name)
    # Serverless compute has a session, which a thread of its own does not see as active.
    return _connected(settings, app_name) if on_databricks() else _local(settings, app_name, small)


def starts_here() -> bool:
    """Whether a session would be started on this machine, by this process."""
    others = (names_a_server(), _under_spark_submit(), on_databricks())
    return SparkSession.getActiveSession() is None and not any(others)


def describe_start(settings: SparkSettings) -> str:
    """Say which session a run would have, without starting one; refused where Java or a jar is missing."""
    if starts_here():
        require_java()
        conf = _machine_conf(settings) | jar_conf(settings) | settings.conf
        jars = conf.get("spark.jars.packages", "Delta's jars from files, or as provided")
        memory = conf["spark.driver.memory"]
        return (
            f"a session of this machine, {conf['spark.master']}, Spark {version('pyspark')}, {memory} for Java, {jars}"
        )
    if names_a_server():
        return "a session on the server of Spark Connect that SPARK_REMOTE names"
    return "the session that is there, or that spark-submit or Databricks gives, with its own settings"


def _connected(settings: SparkSettings, app_name: str) -> SparkSession:
    """Open a session on the server that the environment names. What it does not let be set, PySpark says and leaves."""
    builder = SparkSession.builder.appName(app_name)
    for key, value in settings.conf.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except ImportError as problem:
        raise EnvironmentProblem(
            f"Spark is to be reached by Spark Connect, and its client lacks a package ({problem.name or problem});"
            " run: pip install vdr-spark[connect]"
        ) from problem
    except SPARK_ERRORS as problem:
        raise EnvironmentProblem(
            f"the Spark Connect server that SPARK_REMOTE names does not answer ({type(problem).__name__}); start it, "
            "or unset SPARK_REMOTE for a session of this machine"
        ) from problem


def _under_spark_submit() -> bool:
    # spark-submit starts the JVM first and tells Python where it listens.
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _submitted(settings: SparkSettings, app_name: str) -> SparkSession:
    builder = SparkSession.builder.appName(app_name)
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()  # so that the cluster's settings can be looked at
    conf = _common_conf(settings) | _wire_conf(settings, SparkConf()) | settings.conf
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    # A cluster's INFO lines bury ours by the thousand, and tell the sizes of shuffle blocks.
    spark.sparkContext.setLogLevel("WARN")
    return spark


def _local(settings: SparkSettings, app_name: str, small: bool) -> SparkSession:
    java_says = require_java()
    # Python workers must be this interpreter; without it they may be another one on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with as_file(files("vdr_spark.resources") / "log4j2.properties") as log4j:
        java = [f"-Dlog4j2.configurationFile={log4j.as_uri()}", *_quick_java(settings, java_says, small)]
        conf = _common_conf(settings) | _machine_conf(settings) | {"spark.driver.extraJavaOptions": " ".join(java)}
        conf |= (_QUICK_CONF if small else {}) | jar_conf(settings) | settings.conf
        builder = SparkSession.builder.appName(app_name)
        for key, value in conf.items():
            builder = builder.config(key, value)
        log = Path(tempfile.mkstemp(prefix="vdr-spark-", suffix=".log")[1])  # readable by its owner only
        try:
            with one_fetches_jars(conf), output_to(log), load_meanwhile(*LOADED_AT_FIRST_CALL):
                session = builder.getOrCreate()
        except PySparkRuntimeError as problem:
            raise EnvironmentProblem(explain_no_jvm(log)) from problem
        # From here on the log may quote rows. It has no name any more, so that nothing of it is left, however we end.
        log.unlink()
        remember_jars(settings, (session.sparkContext.getConf().get("spark.jars") or "").split(","))
        return session


def _quick_java(settings: SparkSettings, java_says: str, small: bool) -> list[str]:
    """Return Java's options by which a session starts sooner, and ends sooner where it has little to do."""
    lacking = find_lacking(settings)
    jars = None if lacking is None else [*list_own_jars(), *map(Path, lacking)]
    archive = [] if jars is None else archive_options(ivy_folder(settings), java_says, jars, may_make=small)
    return [*archive, *(_QUICK_JAVA if small else ())]


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


def _machine_conf(settings: SparkSettings) -> dict[str, str]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {
        "spark.master": f"local[{cores}]",
        "spark.driver.memory": settings.driver_memory or share_of_memory(),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(max(8, 4 * cores)),
        # Delta replays a log in 50 partitions by default; ours are short.
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "vdr-warehouse"),
    }


def require_local_paths(spark: SparkSession, *paths: str) -> None:
    """Refuse paths without a scheme where Spark would look for them elsewhere than we do, as on a cluster with HDFS.

    Locks, the ledger's head and what a killed attempt left are looked for on this machine's disk.
    """
    for path in paths:
        if not is_same_for_spark(path):
            raise InvalidConfig(
                f"output, ledger: on Databricks Spark takes {path} for dbfs:{path}, and Python for a disk of the "
                "driver; name a volume: /Volumes/catalog/schema/volume/..."
            )
    if is_remote(spark):
        require_same_disk(spark, *paths)
        return
    default = spark._jsc.hadoopConfiguration().get("fs.defaultFS", "file:///")
    plain = [path for path in paths if is_local(path)]
    if plain and not str(default).startswith("file:") and not on_databricks():
        raise InvalidConfig(
            f"output, ledger: {plain[0]} is a path without a store, which Spark takes for one in {default} and we for "
            f"one of this machine; write it in full, as {str(default).rstrip('/')}/..., or set fs.defaultFS to file:///"
        )


def _advise_delta() -> str:
    return (
        f"Start Spark with --packages {delta_package()} "
        f"--conf spark.sql.extensions={_DELTA_CLASS} "
        f"--conf spark.sql.catalog.spark_catalog={_DELTA_CONF['spark.sql.catalog.spark_catalog']}"
    )


def _require_delta(spark: SparkSession) -> None:
    if on_databricks():
        return
    if not _knows_delta(spark):
        raise EnvironmentProblem(f"the Spark session that exists has Delta switched off. {_advise_delta()}")
    jvm = None if is_remote(spark) else spark._jvm
    if jvm is not None:
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        try:
            loader.loadClass(_DELTA_CLASS)
        except Exception as problem:
            raise EnvironmentProblem(f"Delta's jars are not on Spark's class path. {_advise_delta()}") from problem


def _knows_delta(spark: SparkSession) -> bool:
    """Whether Delta is switched on: by the session's settings; a remote one, which may hide them, is asked."""
    if not is_remote(spark):
        return _DELTA_CLASS in (spark.conf.get("spark.sql.extensions", "") or "")
    try:
        spark.sql("DESCRIBE DETAIL delta.`/vdr/no/such/table`")
    except AnalysisException as problem:
        return (condition_of(problem) or "").startswith("DELTA_")
    return True
