"""The SQL of docs/engines.md, run by the engine that it is shown for."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.engines.engines import Engine, Published
from tests.engines.test_engines import exact_sum

pytestmark = pytest.mark.engines
PAGE = (ROOT / "docs/engines.md").read_text()
HEADINGS = {"duckdb_delta": "DuckDB", "spark_thrift": "Spark's Thrift server, for BI tools", "trino": "Trino"}


def statements(heading: str) -> list[str]:
    """Return the SQL below a heading, statement by statement."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    (block,) = re.findall(r"```sql\n(.*?)```", section, re.DOTALL)
    return [statement.strip() for statement in block.split(";\n") if statement.strip()]


@pytest.mark.parametrize("engine", HEADINGS, indirect=True)
def test_what_the_page_shows(engine: Engine, at_path: Published, request: pytest.FixtureRequest) -> None:
    release, grid = at_path.release, at_path.release.grid
    *before, question = (
        statement.replace("out/demo/tables", str(at_path.tables)).replace("/data/out/tables", str(at_path.tables))
        for statement in statements(HEADINGS[request.node.callspec.params["engine"]])
    )
    for statement in before:
        engine.ask(statement)
    lat, lon = grid.latitudes(), grid.longitudes()
    inside = np.ix_((lat >= 29.756) & (lat <= 29.765), (lon >= -95.375) & (lon <= -95.365))
    day = release.counts[: 86_400 // grid.slice_seconds]
    assert engine.ask(question) == [[exact_sum(np.stack([one[inside] for one in day]))]]
