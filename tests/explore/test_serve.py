import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.explore.cities import city, publish
from vdr_spark.errors import EnvironmentProblem, InvalidConfig
from vdr_spark.explore.serve import Explorer, open_explorer
from vdr_spark.explore.shelf import OneRelease


@pytest.fixture
def explorer() -> Iterator[Explorer]:
    made = Explorer(OneRelease(city()))
    yield made
    made.close()


def ask(explorer: Explorer, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes, dict[str, str]]:
    address = urlsplit(explorer.url)
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=20)
    connection.request(method, address.path + path, headers=headers)
    found = connection.getresponse()
    content = found.status, found.read(), {name.lower(): value for name, value in found.getheaders()}
    connection.close()
    return content


def test_the_page_and_its_answers_come_over_a_socket(explorer: Explorer) -> None:
    status, body, headers = ask(explorer, "")
    assert status == 200
    assert b"VDR explorer" in body
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers
    status, body, _ = ask(explorer, "api/meta")
    assert json.loads(body)["release"]["id"] == "a-city"
    status, body, headers = ask(explorer, "api/meta", method="HEAD")
    assert (status, body) == (200, b"")


def test_a_rebound_name_is_refused(explorer: Explorer) -> None:
    assert ask(explorer, "api/meta", Host="evil.example")[0] == 421
    assert ask(explorer, "api/meta", Origin="http://evil.example")[0] == 403


def test_a_body_is_not_taken_for_another_request(explorer: Explorer) -> None:
    status, _, headers = ask(explorer, "api/meta", method="POST")
    assert status == 405
    assert headers["connection"] == "close"


def test_two_hosts_in_one_request_are_refused(explorer: Explorer) -> None:
    address = urlsplit(explorer.url)
    with socket.create_connection(("127.0.0.1", address.port or 0), timeout=20) as connection:
        host = f"Host: 127.0.0.1:{address.port}\r\n"
        connection.sendall(f"GET {address.path} HTTP/1.1\r\n{host}Host: evil\r\n\r\n".encode())
        assert b" 421 " in connection.recv(100)


def test_a_connection_does_not_outlive_the_server() -> None:
    made = Explorer(OneRelease(city()))
    address = urlsplit(made.url)
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=20)
    connection.request("GET", f"{address.path}api/meta")
    assert connection.getresponse().read()
    made.close()
    with pytest.raises((http.client.HTTPException, OSError)):  # noqa: PT012
        connection.request("GET", f"{address.path}api/meta")
        connection.getresponse()


def test_only_loopback_is_listened_on(explorer: Explorer) -> None:
    assert explorer._server.server_address[0] == "127.0.0.1"


def test_a_port_that_is_taken_or_none_is_told(explorer: Explorer) -> None:
    with pytest.raises(EnvironmentProblem, match="cannot be listened on"):
        Explorer(OneRelease(city()), port=explorer.guard.port)
    with pytest.raises(InvalidConfig, match="--port must be"):
        Explorer(OneRelease(city()), port=70_000)


def test_a_notebook_gets_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Explorer, "prepare", lambda _self: None)
    made = open_explorer(city())
    try:
        assert f'<iframe src="{made.url}"' in made._repr_html_()
        assert "frame-ancestors 'self'" in ask(made, "")[2]["content-security-policy"]
    finally:
        made.close()


def test_a_hosted_notebook_is_told_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "15.4")
    with pytest.raises(EnvironmentProblem, match="on another one"):
        open_explorer(city())


def test_no_spark_is_loaded(tmp_path: Path) -> None:
    folder = publish(tmp_path, city())
    lines = (
        "import sys, http.client, urllib.parse\n"
        "from vdr_spark import read_release\n"
        "from vdr_spark.explore.serve import Explorer\n"
        "from vdr_spark.explore.shelf import shelf_of\n"
        f"explorer = Explorer(shelf_of(read_release({folder!r})))\n"
        "address = urllib.parse.urlsplit(explorer.url)\n"
        "connection = http.client.HTTPConnection('127.0.0.1', address.port)\n"
        "connection.request('GET', address.path + 'api/slice?release=a-city&t=0&layer=count&factor=1')\n"
        "assert connection.getresponse().status == 200\n"
        "explorer.close()\n"
        "print(sorted({'pyspark', 'delta', 'torch', 'matplotlib'} & set(sys.modules)))\n"
    )
    said = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
