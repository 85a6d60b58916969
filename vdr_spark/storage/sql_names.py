"""Names and texts as SQL writes them: the one place where either is quoted."""

from __future__ import annotations


def quote_name(name: str, mark: str = "`") -> str:
    """Return one part of a name, quoted: whatever is in it, it stays one name. Other engines take another mark."""
    return mark + name.replace(mark, 2 * mark) + mark


def quote_full_name(name: str) -> str:
    """Return a name of parts with dots between them, each quoted: `catalog.schema.table`."""
    return ".".join(quote_name(part) for part in name.split("."))


def quote_text(text: str, backslashes: bool = True) -> str:
    """Return a string literal. Backslashes, because Spark before 4 does not take two quotes for one."""
    if not backslashes:
        return "'" + text.replace("'", "''") + "'"
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
