"""Progress as log lines, where there is no terminal to draw on: what is done, how far, since when, for how long yet.

A line every half minute, or every tenth of the work if that takes longer than a moment, and one at the end; also while
the work itself says nothing. How long it will take is worked out from the share that is done, and is a guess.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vdr_spark.progress import Update

logger = logging.getLogger(__name__)

_EVERY_S = 30.0
_EVERY_SHARE = 0.1
_LEAST_S = 5.0  # between two lines, however quickly the shares come
_LEAST_SHARE = 0.02  # from which on a guess is worth a word
_LOOK_S = 1.0


class ProgressLines:
    """The lines of one piece of work; `say_if_due` is called whenever something may have changed."""

    def __init__(self, title: str, total: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._title, self._total, self._clock = title, total, clock
        self._began = self._last = clock()
        self._share, self._last_share, self._note = 0.0, 0.0, ""
        self._lock = threading.Lock()  # the work and the one who looks at the clock may both have a line to say

    def update(self, done: float, note: str) -> None:
        """Take how much is done."""
        self._share, self._note = (min(1.0, done / self._total) if self._total else 0.0), note
        self.say_if_due()

    def say_if_due(self) -> None:
        """Log a line where the last one is long ago, or a good part of the work was done since."""
        with self._lock:
            now = self._clock()
            further = self._share - self._last_share >= _EVERY_SHARE and now - self._last >= _LEAST_S
            if (not further and now - self._last < _EVERY_S) or self._share >= 1.0:
                return
            self._last, self._last_share = now, self._share
            self._say(now - self._began)

    def end(self) -> None:
        """Log that the work is done."""
        seconds = round(self._clock() - self._began, 3)
        logger.info("%s: done in %.1f s", self._title, seconds, extra={"task": self._title, "seconds": seconds})

    def _say(self, seconds: float) -> None:
        share = round(self._share, 3) if self._total else None
        remaining = guess_remaining(self._share, seconds)
        words = [f"{share:.0%}" if share else "", self._note, f"{format_seconds(seconds)} so far"]
        words.append("" if remaining is None else f"about {format_seconds(remaining)} to go")
        fields = {"task": self._title, "share": share, "seconds": round(seconds, 3)}
        fields |= {} if remaining is None else {"remaining": round(remaining)}
        logger.info("%s: %s", self._title, ", ".join(filter(None, words)), extra=fields)


def guess_remaining(share: float, seconds: float) -> float | None:
    """Return how many seconds the rest takes at the pace so far; None where too little is done to tell."""
    return None if share < _LEAST_SHARE else seconds * (1 - share) / share


def format_seconds(seconds: float) -> str:
    """Return a length of time for people."""
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    return f"{round(whole / 60)} min" if whole < 7200 else f"{whole / 3600:.1f} h"


@contextmanager
def progress_lines(title: str, total: float | None) -> Iterator[Update]:
    """Log lines about the work inside the block, also while nobody calls the update."""
    lines, ended = ProgressLines(title, total), threading.Event()

    def look() -> None:
        while not ended.wait(_LOOK_S):
            lines.say_if_due()

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield lines.update
    finally:
        ended.set()
        watcher.join()
    lines.end()
