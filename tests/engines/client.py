"""One connection to an engine, in the environment that has its client: SQL comes in, JSON goes out, a line each.

    python client.py trino|hive|duckdb PORT

Nothing of this project is imported: it is what an analyst's own machine would run.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

Ask = Callable[[str], dict[str, Any]]


def ask_trino(port: int) -> Ask:
    import trino

    connection = trino.dbapi.connect(host="127.0.0.1", port=port, user="analyst", catalog="delta")

    def ask(sql: str) -> dict[str, Any]:
        cursor = connection.cursor()
        cursor.execute(sql)
        rows = cursor.fetchall()
        return {"rows": rows, "bytes": cursor.stats["physicalInputBytes"]}

    return ask


def ask_hive(port: int) -> Ask:
    from pyhive import hive

    connection = hive.connect(host="127.0.0.1", port=port, username="analyst")

    def ask(sql: str) -> dict[str, Any]:
        cursor = connection.cursor()
        cursor.execute(sql)
        return {"rows": cursor.fetchall() if cursor.description else []}

    return ask


def ask_duckdb(_: int) -> Ask:
    import duckdb
    import duckdb_extension_delta

    connection = duckdb.connect()
    (extension,) = Path(duckdb_extension_delta.__path__[0]).rglob("*.duckdb_extension")
    connection.execute(f"LOAD '{extension}'")
    return lambda sql: {"rows": connection.execute(sql).fetchall()}


def as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def main() -> None:
    ask = {"trino": ask_trino, "hive": ask_hive, "duckdb": ask_duckdb}[sys.argv[1]](int(sys.argv[2]))
    for line in sys.stdin:
        try:
            answer = ask(json.loads(line))
        except Exception as problem:  # whatever an engine raises is an answer too
            answer = {"error": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(answer, default=as_text), flush=True)


if __name__ == "__main__":
    main()
