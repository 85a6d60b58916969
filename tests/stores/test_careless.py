"""A real server behind a proxy that loses the condition on its way: found out before anything is reserved."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.conftest import ROOT, SMALL
from tests.stores.servers import BUCKET, Server, serving
from vdr_spark.collect.exclusion import _require_conditional_puts
from vdr_spark.config import load_config
from vdr_spark.errors import InvalidConfig
from vdr_spark.plan import make_plan
from vdr_spark.storage import conditional_put, store_access
from vdr_spark.storage.conditional_put import open_folder

pytestmark = pytest.mark.stores


@pytest.fixture
def careless(tmp_path: Path) -> Iterator[Server]:
    with serving("moto", tmp_path) as server:
        proxy = ThreadingHTTPServer(("127.0.0.1", 0), _forward_to(server.endpoint))
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield Server("careless", f"http://127.0.0.1:{proxy.server_port}")
        proxy.shutdown()
    store_access.forget()
    conditional_put._proven.clear()


def _forward_to(endpoint: str) -> type[BaseHTTPRequestHandler]:
    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            kept = {name: value for name, value in self.headers.items() if name.lower() != "if-none-match"}
            upstream = http.client.HTTPConnection(urlsplit(endpoint).netloc)
            upstream.request(self.command, self.path, body, kept)
            answer = upstream.getresponse()
            content = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_DELETE = do_HEAD = do_POST = forward

        def log_message(self, *_: object) -> None:
            pass

    return Proxy


def test_it_is_refused_and_nothing_is_left(careless: Server) -> None:
    store_access.learn(careless.hadoop)
    places = [f"output=s3a://{BUCKET}/out", f"ledger=s3a://{BUCKET}/ledger"]
    plan = make_plan(load_config(ROOT / "conf/demo.yaml", [*SMALL, *places]))
    with pytest.raises(InvalidConfig, match=r"does not keep the condition.*told 8 that they were.*single_writer: true"):
        _require_conditional_puts(plan)
    assert open_folder(f"s3a://{BUCKET}/ledger").find() == []
