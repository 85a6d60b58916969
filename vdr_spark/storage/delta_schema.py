"""A table's first commit in Delta's own words, as Spark's CREATE TABLE writes it."""

from __future__ import annotations

import json
import re
import time
from typing import Any
from uuid import uuid4

from vdr_spark.storage.schemas import Table

_KINDS = {"BIGINT": "long", "INT": "integer"}  # others have the same name in both
_ARRAY = re.compile(r"ARRAY<(.*)>$")
_STRUCT = re.compile(r"STRUCT<(.*)>$")


def describe_table(table: Table) -> list[dict[str, Any]]:
    """Return the actions that make an empty append-only table with its comments and constraints."""
    fields = [
        _field(name, kind, nullable=not table.rule(name)) | {"metadata": {"comment": said}}
        for name, kind, said in table.columns
    ]
    metadata = {
        "id": str(uuid4()),
        "description": table.comment,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}, separators=(",", ":")),
        "partitionColumns": [table.partition] if table.partition else [],
        "configuration": table.properties,
        "createdTime": int(time.time() * 1000),
    }
    return [{"metaData": metadata}, {"protocol": {"minReaderVersion": 1, "minWriterVersion": 3}}]


def _field(name: str, kind: str, nullable: bool = True) -> dict[str, Any]:
    return {"name": name, "type": _kind(kind), "nullable": nullable, "metadata": {}}


def _kind(kind: str) -> str | dict[str, Any]:
    if array := _ARRAY.match(kind):
        return {"type": "array", "elementType": _kind(array[1]), "containsNull": True}
    if struct := _STRUCT.match(kind):
        fields = (part.split(":") for part in struct[1].split(","))  # of plain kinds only: none of ours has others
        return {"type": "struct", "fields": [_field(name.strip(), inner.strip()) for name, inner in fields]}
    return _KINDS.get(kind, kind.lower())
