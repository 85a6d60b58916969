"""Tables under a name in a catalog, beside those at a path. What a name stands for, only Spark knows."""

from __future__ import annotations

from dataclasses import dataclass

from vdr_spark.storage.sql_names import quote_full_name


@dataclass(frozen=True)
class CatalogTable:
    """A table by its name in full: schema.table or catalog.schema.table."""

    name: str

    @property
    def quoted(self) -> str:
        """The name as SQL takes it."""
        return quote_full_name(self.name)

    def __str__(self) -> str:
        return self.name


Place = str | CatalogTable
"""Where a Delta table is: at a path or URI, or under a name."""
