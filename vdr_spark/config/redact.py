"""Settings without secrets, to be kept: credentials stand in Spark's settings and, rarely, in locations."""

from __future__ import annotations

import re
from typing import Any

HIDDEN = "(hidden)"
# By what settings of Hadoop's, Spark's and stores' are called; rather too many than one too few.
_SECRET_NAME = re.compile(r"secret|passw|token|key|credential|auth|signature|\bsas\b", re.IGNORECASE)
_SECRET_VALUE = re.compile(r"secret|passw|token|credential|signature|access.?key", re.IGNORECASE)
_USER = re.compile(r"(?<=://)[^/@\s]*:[^/@\s]*@")  # s3://id:secret@bucket; a container in abfss://box@account is none
_QUERY = re.compile(r"(?<=\w)\?\S*=\S*")  # ?sig=...


def redact_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration's settings, as JSON has them, with what may be a credential hidden."""
    spark = dict(settings.get("spark") or {})
    if spark.get("conf"):
        spark["conf"] = {name: _redact_option(name, str(value)) for name, value in spark["conf"].items()}
    return {**_redact_locations(settings), **({"spark": spark} if spark else {})}


def _redact_option(name: str, value: str) -> str:
    if _SECRET_NAME.search(name) or _SECRET_VALUE.search(value):
        return HIDDEN
    return str(_redact_locations(value))


def _redact_locations(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _redact_locations(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_redact_locations(inner) for inner in value]
    if isinstance(value, str) and "://" in value:
        return _QUERY.sub(f"?{HIDDEN}", _USER.sub(f"{HIDDEN}@", value))
    return value
