"""Versions of the tables' columns, and what becomes of a table of another version.

A table says its version in a property, `vdr.schema_version`, set when it is made; one without it is of version 1, from
before there were versions. A table that is **newer** than this software is refused by whoever reads or writes it:
columns may mean something else in it. An **older** one is read, columns that came later being null, and whoever writes
it brings it up to date first, in place, by adding those. Where more than that stands in the way, another type say, it
is refused: Delta does not change that in place, and what was published can be published anew.
"""

from __future__ import annotations

from collections.abc import Mapping

from vdr_spark.errors import OtherVersion
from vdr_spark.storage.schemas import VERSION_PROPERTY, Table

Column = tuple[str, str, str]
"""Name, type and comment."""


def require_known(place: object, table: Table, properties: Mapping[str, str]) -> int:
    """Return the version that a table's properties name; refuse one that this software does not know."""
    said = properties.get(VERSION_PROPERTY, "1")
    if not said.isdecimal() or not 1 <= int(said) <= table.version:
        raise OtherVersion(
            f"{place} is a table `{table.name}` of schema version {said}, and this software knows versions up to "
            f"{table.version}: a newer one has written it. Upgrade vdr-spark here; nothing was read or written"
        )
    return int(said)


def find_missing(place: object, table: Table, version: int, found: Mapping[str, str]) -> list[Column]:
    """Return the columns that a table of an older version lacks; refuse one that is not made ours by adding columns.

    `found` has the types by Spark's short names of them: bigint, array<struct<side:int>>.
    """
    kinds = {name: plain_type(kind) for name, kind, _ in table.columns}
    wrong = sorted(name for name, kind in found.items() if kinds.get(name) != plain_type(kind))
    missing = [column for column in table.columns if column[0] not in found]
    wrong += [name for name, _, _ in missing if name not in table.later_than(version)]
    if wrong:
        raise OtherVersion(
            f"{place} has the columns of another version of this software ({', '.join(wrong)}) and cannot be brought "
            f"to schema version {table.version} in place. Move the tables `cells` and `releases` away and run `vdr "
            "publish` again: it writes the release anew, at no cost in privacy"
        )
    return missing


def plain_type(kind: str) -> str:
    """Return a type as Spark prints it in short: `ARRAY<STRUCT<side: INT>>` is array<struct<side:int>>."""
    return kind.replace(" ", "").lower()
