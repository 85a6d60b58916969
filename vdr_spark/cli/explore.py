"""`vdr explore`: a page on this machine that shows a published release, from its tables alone."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path

from vdr_spark.cli.console import console
from vdr_spark.cli.options import open_release
from vdr_spark.config import ReleaseConfig
from vdr_spark.explore.serve import serve


def run(
    config: ReleaseConfig,
    region: str | None,
    release_id: str | None,
    withdrawn_too: bool,
    port: int,
    backdrop: Path | None,
    browser: bool,
) -> None:
    """Serve the page until Ctrl-C, and open it in a browser unless told not to."""
    release = open_release(config, region, release_id, withdrawn_too)

    def opened(address: str) -> None:
        console.print(f"Release {release.release_id} is at\n\n  {address}\n", markup=False)
        console.print("Only this machine can open it, and only with this address. Ctrl-C ends it.", markup=False)
        if browser:
            # In a thread: a browser in the terminal would hold the server up.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    try:
        serve(release, port, backdrop, withdrawn_too, opened)
    except KeyboardInterrupt:
        console.print("\nEnded.", markup=False)
