"""The stages by name, and their log lines: begins, was skipped, took so long, failed. Never a word about data."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

RELEASE_STAGES = ("collect", "denoise", "refine", "publish")
"""The stages of a release, in order."""

logger = logging.getLogger(__name__)


def run_logged(name: str, stage: Callable[[], bool]) -> bool:
    """Run a stage and log its begin and its end; False, as the stage says, where its output was complete already.

    Of a failure only the kind is logged: an exception's own words may quote a row.
    """
    logger.info("%s: begins", name, extra={"stage": name})
    began = time.monotonic()
    try:
        done = stage()
    except BaseException as problem:
        # Its sentence is for whoever catches it; here it would be said twice.
        logger.debug("%s: ended by %s", name, type(problem).__name__, extra=_after(name, began))
        raise
    said = "done" if done else "complete already, nothing was done"
    logger.info("%s: %s", name, said, extra=_after(name, began))
    return done


def _after(stage: str, began: float) -> dict[str, str | float]:
    return {"stage": stage, "seconds": round(time.monotonic() - began, 3)}
