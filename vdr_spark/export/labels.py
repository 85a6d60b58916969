"""What every exported file says of itself: which release it is of, and what was promised to whom.

Files are copied, mailed and renamed, and the tables they came from are not: so the privacy statement travels inside.
"""

from __future__ import annotations

import json
from datetime import UTC
from typing import Any

from vdr_spark.epsilon import format_delta
from vdr_spark.export.part import Part

_UNPROTECTED = "UNPROTECTED: the noise came from a test seed, so these numbers protect nobody."


def labels_of(part: Part) -> dict[str, str]:
    """Return the labels as text, which every format can hold: epsilon exact, the statement as JSON."""
    release = part.release
    gone = {"withdrawn": str(release.withdrawal)} if release.withdrawal else {}
    delta = release.promise.delta
    at_delta = {} if delta is None else {"delta": format_delta(delta)}
    return gone | {
        "release_id": release.release_id,
        "dataset": release.dataset,
        "region": release.region or "",
        "epsilon": release.promise.figure,
        **at_delta,
        "k": str(release.k),
        "protected": "true" if release.protected else "false",
        "created": release.created.astimezone(UTC).isoformat(),
        "zone": release.zone.key,
        "model": release.model,
        "cells": str(part),
        "promise": _promise(part),
        "statement": json.dumps(release.statement, sort_keys=True),
    }


def labels_as_json(part: Part) -> dict[str, Any]:
    """Return the same with `protected`, `k` and the statement as JSON has them."""
    release = part.release
    return labels_of(part) | {"protected": release.protected, "k": release.k, "statement": release.statement}


def _promise(part: Part) -> str:
    release = part.release
    if not release.protected:
        return _UNPROTECTED
    return f"Counts are estimates from noisy counts. {release.promise.sentence()}"
