"""What all answers have in common: a sentence, marked where the release behind it protects nobody."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod

UNPROTECTED = "UNPROTECTED, from a test seed: "
_ALARM = "background:#c1121f;color:#fff;padding:.1em .4em"


class Answer(ABC):
    """The answer to a question to a release. Printed, or shown in a notebook, it is a sentence."""

    protected: bool  # false: the release was made with a test seed and protects nobody

    @abstractmethod
    def sentence(self) -> str:
        """Return the answer in words, without the mark."""

    def __str__(self) -> str:
        return self.sentence() if self.protected else UNPROTECTED + self.sentence()

    def _repr_html_(self) -> str:
        mark = "" if self.protected else f'<b style="{_ALARM}">{UNPROTECTED.strip()}</b> '
        return f"<p>{mark}{html.escape(self.sentence())}</p>"
