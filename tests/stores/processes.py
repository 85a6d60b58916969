"""`vdr` as a process of its own, over a server's bucket."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from tests.conftest import QUICK, ROOT, SMALL
from tests.stores.servers import BUCKET, Server
from tests.stores.slow_vdr import MOMENTS

CONF = str(ROOT / "conf/demo.yaml")


class Place:
    """A server, generated pings on disk, and folders in the server's bucket."""

    def __init__(self, server: Server, pings: str, jars: list[str]) -> None:
        self.server, self._pings, self._jars = server, pings, jars

    def settings(self, folder: str, *others: str) -> list[str]:
        conf = QUICK | self.server.hadoop
        return [
            *SMALL,
            f"input.path={self._pings}",
            f"output=s3a://{BUCKET}/{folder}/out",
            f"ledger=s3a://{BUCKET}/{folder}/ledger",
            f"spark.delta_jars={json.dumps(self._jars)}",
            f"spark.conf={json.dumps(conf)}",
            "spark.driver_memory=1g",
            *others,
        ]


def vdr(command: str, settings: list[str], **moments: Any) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "tests.stores.slow_vdr", *command.split(), CONF]
    words += [part for text in settings for part in ("--set", text)]
    environment = os.environ | {MOMENTS: json.dumps(moments)}
    streams: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(words, cwd=ROOT, env=environment, start_new_session=True, **streams)


def finished(process: subprocess.Popen[str]) -> tuple[int, str]:
    said = process.communicate(timeout=400)[0]
    return process.returncode, said
