"""Networks that are kept for the later windows of a series: with what they were trained on, and for how long they do.

A kept network is used again if it was trained by the same settings, fits what it is given, is not too old, and has not
drifted, as the noisy counts of the new window tell without a truth. Else one is trained on the new window, and kept
in its place. Either way the reason is written down. All of it is made from noisy counts, so it costs no privacy.

Regressions are not kept: they are fitted in seconds, and to the window itself.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, TypeVar

from vdr_spark.errors import CheckpointMismatch
from vdr_spark.storage.files import exists, read_json, write_json

_FORMAT = 1
Network = TypeVar("Network")


@dataclass(frozen=True)
class Kept:
    """A network that was trained on an earlier window."""

    window: str
    age: int  # in windows
    folder: str  # of its checkpoint


@dataclass(frozen=True)
class KeptModels:
    """The networks that a series keeps, as one of its windows sees them."""

    folder: str  # of the series and region
    window: str
    number: int  # of the window
    period: tuple[str, str]  # of the window
    window_seconds: int
    retrain_seconds: int  # the age from which on a network is trained again

    def find(self, model: str, settings: dict[str, Any]) -> Kept | str:
        """Return the network that may be used again, or why there is none."""
        if not exists(self._note(model)):
            return "none is kept"
        note = read_json(self._note(model))
        if note.get("format") != _FORMAT:
            return "the kept one is of another version of this software"
        if note["settings"] != settings:
            return "the settings of its training were changed"
        age = abs(self.number - int(note["number"]))
        if age * self.window_seconds >= self.retrain_seconds:
            return f"the kept one, of window {note['window']}, is {age} windows old, as old as series.retrain allows"
        return Kept(note["window"], age, note["checkpoint"])

    def keep(self, model: str, checkpoint: str, settings: dict[str, Any]) -> None:
        """Keep the network whose checkpoint lies in a folder, trained on this window, in place of the one before."""
        note = {
            "format": _FORMAT,
            "model": model,
            "settings": settings,
            "window": self.window,
            "number": self.number,
            "period": list(self.period),
            "checkpoint": checkpoint,
            "code_version": version("vdr-spark"),
        }
        write_json(self._note(model), note)

    def _note(self, model: str) -> str:
        return posixpath.join(self.folder, f"{model}.json")


def reuse_or_train(
    kept: KeptModels | None,
    model: str,
    settings: dict[str, Any],
    folder: str,
    load: Callable[[str], Network],
    find_drift: Callable[[Network], str | None],
    train: Callable[[], Network],
) -> tuple[Network, dict[str, Any]]:
    """Return a network that is kept, or one that is trained in `folder`, and a note that says which, and why.

    `load` reads a network from a folder, `find_drift` says in words how far it is off, None where it is not.
    """
    if kept is None:
        return train(), {}
    found = kept.find(model, settings)
    if isinstance(found, str):
        reason = found
    else:
        try:
            network = load(found.folder)
            drift = find_drift(network)
            if drift is None:
                ago = f"{found.age} window{'s' * (found.age != 1)} ago"
                return network, {"network": f"kept: trained on window {found.window}, {ago}, and not drifted"}
            reason = f"the kept one, of window {found.window}, has drifted: {drift}"
        except CheckpointMismatch as problem:
            reason = f"the kept one, of window {found.window}, cannot be used ({problem})"
    trained = train()
    kept.keep(model, folder, settings)
    return trained, {"network": f"trained on window {kept.window}: {reason}"}
