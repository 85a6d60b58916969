"""The Python of docs/engines.md, over the demo: each engine comes to the library's sum."""

import re
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from tests.conftest import ROOT
from vdr_spark import read_release

PAGE = (ROOT / "docs/engines.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.usefixtures("in_demo_folder")
@pytest.mark.parametrize("block", BLOCKS, ids=["pandas", "polars", "duckdb"])
def test_what_the_page_shows(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block, "engines.md", "exec"), {})
    release = read_release("out/demo")
    lat, lon = release.grid.latitudes(), release.grid.longitudes()
    inside = np.ix_((lat >= 29.756) & (lat <= 29.765), (lon >= -95.375) & (lon <= -95.365))
    start = datetime(2020, 1, 7, tzinfo=ZoneInfo("America/Chicago"))
    assert release.grid.start == start
    slices = 8 if "slice_start" in block else release.grid.slices  # slices of three hours
    expected = sum(float(one[inside].sum(dtype=np.float64)) for one in release.counts[:slices])
    assert expected > 0
    assert float(capsys.readouterr().out) == pytest.approx(expected, rel=1e-12)


def test_the_page_is_honest_about_versions() -> None:
    from importlib.metadata import version

    from tests.engines.downloads import CLIENTS, TRINO

    for name in ("deltalake", "polars", "duckdb"):  # whose lines the test above runs; servers are run by hand
        assert version(name) in PAGE, name
    assert all(pin.partition("==")[2] in PAGE for pin in CLIENTS)
    assert f"| Trino | {TRINO}" in PAGE
