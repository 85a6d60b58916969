"""A standalone master with two workers, and YARN: real ones, on loopback, on free ports, and always ended."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.cluster.environments import CACHE, SPARK, clean_environment
from tests.engines.downloads import fetch

_HOSTS = ("127.0.0.2", "127.0.0.3")  # two, or Spark runs no copy of a task that it speculates on
_SECONDS_TO_START = 120
# What hadoop-client-minicluster asks for, and Spark's jars have not: its name on Maven Central, and its SHA-1.
_HADOOP = (
    ("org.apache.hadoop:hadoop-client-minicluster:3.5.0", "7688184cfbf679736d81f5642c6e80fca18a02c0"),
    ("org.junit.jupiter:junit-jupiter-api:5.13.3", "7d292f060d635fd4add7e93167025eeb74f1e742"),
    ("org.junit.platform:junit-platform-commons:1.13.3", "c70d000c1b6841fa6f1e47a8ae72abd74b71f4c9"),
    ("org.opentest4j:opentest4j:1.3.0", "152ea56b3a72f655d4fd677fc0ef2596c3dd5e6e"),
    ("org.bouncycastle:bcprov-jdk18on:1.78.1", "39e9e45359e20998eb79c1828751f94a818d25f8"),
    ("org.bouncycastle:bcpkix-jdk18on:1.78.1", "17b3541f736df97465f87d9f5b5dfa4991b37bb3"),
    ("org.bouncycastle:bcutil-jdk18on:1.78.1", "5353ca39fe2f148dab9ca1d637a43d0750456254"),
    ("javax.xml.bind:jaxb-api:2.3.1", "8531ad5ac454cc2deb9d4d32c40c4d7451939b5d"),
    ("javax.activation:javax.activation-api:1.2.0", "85262acf3ca9816f9537ca47d5adeabaead7cb16"),
)
_OF_YARN = {
    "yarn.nodemanager.resource.memory-mb": "8192",
    "yarn.scheduler.minimum-allocation-mb": "256",
    "yarn.nodemanager.vmem-check-enabled": "false",
    "yarn.nodemanager.disk-health-checker.enable": "false",  # of a disk that is nearly full, YARN would take nothing
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
    "yarn.scheduler.capacity.maximum-am-resource-percent": "1.0",
}


@dataclass(frozen=True)
class Cluster:
    """A master's address, the processes of its workers, and the folder with the settings that its nodes share."""

    master: str
    workers: tuple[psutil.Process, ...]
    conf: Path

    def worker_of(self, pid: int) -> psutil.Process:
        """Return the worker that a process runs under."""
        above = {parent.pid for parent in psutil.Process(pid).parents()}
        return next(worker for worker in self.workers if worker.pid in above)


@contextmanager
def standalone(folder: Path, conf: Mapping[str, str], **environment: str) -> Iterator[Cluster]:
    """Run a master and two workers of one core, whose executors have the environment."""
    settings = write_settings(folder / "conf", conf)
    shared = {"SPARK_CONF_DIR": str(settings), **environment}
    with ExitStack() as ended:
        master_log = folder / "master.log"
        ended.enter_context(_daemon(master_log, "master.Master", "-h", "127.0.0.1", "-p", "0", **shared))
        master = _wait_for(r"Starting Spark master at (spark://\S+)", master_log)
        workers = []
        for host in _HOSTS:
            log = folder / f"{host}.log"
            place = ("-h", host, "-d", str(folder / host), "-c", "1", "-m", "1g", master)
            workers.append(ended.enter_context(_daemon(log, "worker.Worker", *place, **shared)))
        for host in _HOSTS:
            _wait_for("Successfully registered with master", folder / f"{host}.log")
        yield Cluster(master, tuple(workers), settings)


def write_settings(folder: Path, conf: Mapping[str, str]) -> Path:
    """Write Spark's settings of all nodes, as an operator does, into a folder that SPARK_CONF_DIR names."""
    folder.mkdir(parents=True)
    small = {"spark.driver.memory": "1g", "spark.executor.memory": "600m", "spark.ui.enabled": "false"}
    lines = [f"{key} {value}\n" for key, value in (small | dict(conf)).items()]
    (folder / "spark-defaults.conf").write_text("".join(lines))
    return folder


def kill_tree(process: psutil.Process) -> None:
    """Kill a process and all it started, as when its machine goes."""
    try:
        tree = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for member in tree:
        try:
            member.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(tree, timeout=30)


@contextmanager
def _daemon(log: Path, name: str, *arguments: str, **environment: str) -> Iterator[psutil.Process]:
    words = [str(SPARK / "bin/spark-class"), f"org.apache.spark.deploy.{name}", "--webui-port", "0", *arguments]
    with log.open("wb") as said:
        started = subprocess.Popen(
            words, env=clean_environment() | environment, stdout=said, stderr=subprocess.STDOUT, cwd=log.parent
        )
    process = psutil.Process(started.pid)
    try:
        yield process
    finally:
        kill_tree(process)
        started.wait()


def _wait_for(words: str, log: Path) -> str:
    deadline = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < deadline:
        if found := re.search(words, log.read_text(errors="replace")):
            return found[found.re.groups]
        time.sleep(0.2)
    raise RuntimeError(f"no server came up; the end of {log}: {log.read_text(errors='replace')[-3000:]}")


@contextmanager
def yarn(folder: Path) -> Iterator[Path]:
    """Run YARN with one node manager, as Hadoop's tests do; yield the folder that HADOOP_CONF_DIR is to name."""
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    jars = [str(fetch(coordinate, sha1, CACHE / "hadoop")) for coordinate, sha1 in _HADOOP]
    (conf := folder / "hadoop").mkdir(parents=True)
    options = ["-Xmx600m", "--add-opens=java.base/java.lang=ALL-UNNAMED", f"-Dtest.build.data={folder}/data"]
    with (folder / "yarn.log").open("wb") as log:
        port, process = launch_gateway(
            jarpath=str(next((SPARK / "jars").glob("py4j-*.jar"))),
            classpath=os.pathsep.join([*jars, f"{SPARK}/jars/*"]),
            javaopts=options,
            die_on_exit=True,
            redirect_stdout=log,
            redirect_stderr=log,
            return_proc=True,
        )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    try:
        settings = gateway.jvm.org.apache.hadoop.yarn.conf.YarnConfiguration()
        for key, value in (_OF_YARN | {"hadoop.tmp.dir": f"{folder}/tmp"}).items():
            settings.set(key, value)
        cluster = gateway.jvm.org.apache.hadoop.yarn.server.MiniYARNCluster("vdr", 1, 1, 1)
        cluster.init(settings)
        cluster.start()
        assert cluster.waitForNodeManagersToConnect(60_000)
        file = gateway.jvm.java.io.FileOutputStream(str(conf / "yarn-site.xml"))
        cluster.getConfig().writeXml(file)
        file.close()
        yield conf
    finally:
        gateway.close(keep_callback_server=False)
        kill_tree(psutil.Process(process.pid))
        process.wait()
