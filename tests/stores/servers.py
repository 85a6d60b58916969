"""S3 servers on loopback, each a process of its own: moto, and versitygw over a folder.

Adobe's S3Mock is none of them: it lets two writers create one object. What is fetched is kept in `.cache/stores`.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

CACHE = Path(os.environ.get("VDR_STORES_CACHE", ROOT / ".cache/stores"))
MOTO = "moto[s3,server]==5.2.5"
VERSITYGW = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
KEY, SECRET, BUCKET = "loopback", "not-a-secret", "bucket"
REGION = "us-east-1"


@dataclass(frozen=True)
class Server:
    """A server that listens, with one empty bucket."""

    name: str
    endpoint: str

    @property
    def hadoop(self) -> dict[str, str]:
        """How Spark's session is told of it."""
        return {
            "spark.hadoop.fs.s3a.endpoint": self.endpoint,
            "spark.hadoop.fs.s3a.endpoint.region": REGION,
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.access.key": KEY,
            "spark.hadoop.fs.s3a.secret.key": SECRET,
            "spark.hadoop.fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        }


@contextmanager
def serving(name: str, folder: Path) -> Iterator[Server]:
    """Run a server; it is ended by its process id."""
    port = _free_port()
    command, environment = _COMMANDS[name](port, folder)
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | environment)
    try:
        server = Server(name, f"http://127.0.0.1:{port}")
        _wait_for(port, process)
        _make_bucket(server)
        yield server
    finally:
        process.kill()
        process.wait()


# moto looks whether an object is there and then puts it. With a thread for each request, of eight who created one
# object at once it told two that they were first, 4 times of 150 on a busy machine; one by one it keeps the condition.
_ONE_BY_ONE = """
import sys
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple
run_simple("127.0.0.1", int(sys.argv[1]), DomainDispatcherApplication(create_backend_app), threaded=False)
"""


def _moto(port: int, folder: Path) -> tuple[list[str], dict[str, str]]:
    del folder
    packages = CACHE / "moto"
    if not (packages / "moto").is_dir():
        uv = str(Path(sys.executable).parent / "uv")
        subprocess.run([uv, "pip", "install", "--quiet", "--target", str(packages), MOTO], check=True)
    return [sys.executable, "-c", _ONE_BY_ONE, str(port)], {"PYTHONPATH": str(packages)}


def _versitygw(port: int, folder: Path) -> tuple[list[str], dict[str, str]]:
    binary = CACHE / "bin/versitygw"
    if not binary.is_file():
        go = os.environ | {"GOBIN": str(CACHE / "bin"), "GOPATH": str(CACHE / "go"), "GOFLAGS": "-modcacherw"}
        subprocess.run(["go", "install", VERSITYGW], check=True, env=go)
    root = folder / "objects"
    root.mkdir()
    listen = ["--access", KEY, "--secret", SECRET, "--port", f"127.0.0.1:{port}"]
    return [str(binary), *listen, "posix", str(root)], {}


_COMMANDS: dict[str, Callable[[int, Path], tuple[list[str], dict[str, str]]]] = {"moto": _moto, "versitygw": _versitygw}
NAMES = tuple(_COMMANDS)


def fetch_hadoop_aws() -> list[Path]:
    """Return Hadoop's jars for S3, of the version of Spark's Hadoop, fetched from Maven once (558 MB)."""
    import pyspark

    client = next(Path(pyspark.__file__).parent.glob("jars/hadoop-client-api-*.jar"))
    version = client.stem.removeprefix("hadoop-client-api-")
    jars = CACHE / f"hadoop-aws-{version}-whole"
    if not list(jars.glob("bundle-*.jar")):
        jars.mkdir(parents=True, exist_ok=True)
        (jars / "pom.xml").write_text(_POM.format(version=version))
        copy = ["mvn", "-q", "-B", "-f", str(jars / "pom.xml"), "dependency:copy-dependencies"]
        wanted = [
            "-DincludeArtifactIds=hadoop-aws,bundle,wildfly-openssl,analyticsaccelerator-s3",
            f"-DoutputDirectory={jars}",
        ]
        subprocess.run([*copy, *wanted], check=True)
    return sorted(jars.glob("*.jar"))


_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>none</groupId><artifactId>none</artifactId><version>1</version><dependencies><dependency>
<groupId>org.apache.hadoop</groupId><artifactId>hadoop-aws</artifactId><version>{version}</version>
</dependency></dependencies></project>"""


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server has ended"
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise AssertionError("the server does not listen")


def _make_bucket(server: Server) -> None:
    import s3fs

    client = {"endpoint_url": server.endpoint, "region_name": REGION}
    files = s3fs.S3FileSystem(key=KEY, secret=SECRET, client_kwargs=client, skip_instance_cache=True)
    files.call_s3("create_bucket", Bucket=BUCKET)
