"""The server: on 127.0.0.1 only, a thread for each request, and the page in a browser or a notebook."""

from __future__ import annotations

import html
import importlib
import logging
import os
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from vdr_spark.errors import EnvironmentProblem, InvalidConfig, VdrError
from vdr_spark.explore.answers import first_slice
from vdr_spark.explore.backdrop import read_lines
from vdr_spark.explore.guard import Guard
from vdr_spark.explore.routes import Response, Site
from vdr_spark.explore.shelf import Shelf, shelf_of
from vdr_spark.release.release import Release

logger = logging.getLogger(__name__)

HOST = "127.0.0.1"
_AT_ONCE = 8  # requests that are worked on together; more wait
_IDLE_SECONDS = 60.0
_SLOW_TO_IMPORT = ("statsmodels.tsa.forecasting.theta", "scipy.spatial", "scipy.special")
# Hosted notebooks show pages in a browser that is on another machine than the kernel: its 127.0.0.1 is not ours.
_HOSTED = ("DATABRICKS_RUNTIME_VERSION", "COLAB_RELEASE_TAG", "JUPYTERHUB_USER", "KAGGLE_KERNEL_RUN_TYPE")


class Explorer:
    """A server that is running, until it is closed. In a notebook it shows itself as a frame."""

    def __init__(self, shelf: Shelf, port: int = 0, backdrop: Path | None = None, framed: bool = False) -> None:
        lines = None if backdrop is None else read_lines(backdrop)
        self._shelf, self._server = shelf, _bind(port)
        self.guard = Guard.new(self._server.server_address[1], framed)
        self._server.site = Site(shelf, self.guard, lines)
        self._thread = threading.Thread(target=self._server.serve_forever, name="vdr-explore", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the page is; whoever has this address, on this machine, can look."""
        return self.guard.address

    def prepare(self) -> None:
        """Read what the page will ask for first, and import what the first forecast and hot spot would wait for."""
        try:
            release = self._shelf.open(self._shelf.first)
            number = first_slice(release)
            release.part((slice(number, number + 1), slice(None), slice(None)))
        except VdrError:
            return  # the page is told, when it asks
        self._server.site.shown.wait(_IDLE_SECONDS)  # the first picture goes first
        for name in _SLOW_TO_IMPORT:
            importlib.import_module(name)

    def wait(self) -> None:
        """Wait until the server is closed."""
        self._thread.join()

    def close(self) -> None:
        """End the server."""
        self._shelf.close()
        self._server.closed = True
        self._server.shutdown()
        self._server.server_close()

    def __repr__(self) -> str:
        return f"<Explorer at {self.url}>"

    def _repr_html_(self) -> str:
        source = html.escape(self.url)
        return (
            f'<iframe src="{source}" title="Explorer of a release" width="100%" height="720" '
            f'style="border:1px solid #d9d9e0"></iframe><p><a href="{source}" target="_blank" rel="noopener">'
            "Open it in a window of its own</a></p>"
        )


def open_explorer(release: Release, backdrop: Path | None = None) -> Explorer:
    """Serve the page of a release for a notebook on this machine; refused where the browser is on another one.

    Call `close()` when it is not needed any more; it ends with the process too.
    """
    if not may_embed():
        raise EnvironmentProblem(
            "the explorer listens on 127.0.0.1 of the machine that runs Python, and the browser of a hosted notebook "
            "is on another one; use the report, or `vdr explore` on a machine of your own"
        )
    explorer = Explorer(shelf_of(release), backdrop=backdrop, framed=True)
    threading.Thread(target=explorer.prepare, daemon=True).start()
    return explorer


def may_embed() -> bool:
    """Whether a browser that shows this notebook can be expected to reach 127.0.0.1 of this process."""
    return not any(name in os.environ for name in _HOSTED)


def serve(
    release: Release,
    port: int,
    backdrop: Path | None,
    withdrawn_too: bool,
    opened: Callable[[str], None],
) -> None:
    """Serve the page of a release until the process is interrupted; `opened` is told the address."""
    explorer = Explorer(shelf_of(release, withdrawn_too), port, backdrop)
    try:
        opened(explorer.url)
        explorer.prepare()
        explorer.wait()
    finally:
        explorer.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    closed = False  # connections that are open outlive `shutdown`, and must not be answered any more
    site: Site

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(address, _Handler)
        self.turns = threading.BoundedSemaphore(_AT_ONCE)

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002
        logger.debug("a connection to the explorer was broken", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_SECONDS  # of a connection on which nothing comes
    server: _Server
    server_version, sys_version = "vdr", ""

    def _respond(self) -> None:
        if self.server.closed:
            self.close_connection = True
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        if len(headers) != len(self.headers):
            headers = {}  # two Hosts: which of them is meant, nobody knows
        with self.server.turns:
            found = self.server.site.respond(self.command, self.path, headers)
        self._write(found)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = _respond

    def _write(self, found: Response) -> None:
        self.send_response(found.status)
        content = {"Content-Type": found.kind, "Content-Length": str(len(found.body))}
        if self.command not in ("GET", "HEAD"):
            content["Connection"] = "close"  # a body that nobody reads must not be taken for the next request
        for name, value in (found.headers | content).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(found.body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing but at the level for finding defects: addresses have the token in them."""
        logger.debug("request answered: %s", args[1] if len(args) > 1 else format)


def _bind(port: int) -> _Server:
    if not 0 <= port <= 65535:
        raise InvalidConfig(f"--port must be 1 to 65535, or 0 for any that is free, not {port}")
    try:
        return _Server((HOST, port))
    except OSError as problem:
        raise EnvironmentProblem(
            f"--port {port} cannot be listened on ({problem.strerror}); leave it out, and one that is free is taken"
        ) from None
