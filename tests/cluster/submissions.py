"""Jobs submitted by the lines of docs/platforms/yarn.md, and what they left on the disk, looked at without Spark."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from deltalake import DeltaTable

from tests.cluster.environments import block_of, clean_environment
from tests.conftest import ROOT, SMALL
from vdr_spark.arrays import Integers
from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.plan import make_plan
from vdr_spark.privacy.entries import State
from vdr_spark.privacy.ledger_reader import LedgerReader
from vdr_spark.storage.slice_bytes import SLICE_COLUMNS, decode_counts

ON_YARN, IN_CLIENT_MODE = (block_of("2. Submit", number) for number in (0, 1))
BY_ARCHIVE = "--archives vdr-env.tar.gz#vdr"
THEIR_PYTHON = "PYSPARK_PYTHON=./vdr/bin/python"
_AT_MOST = 900


@dataclass(frozen=True)
class Job:
    """A release of its own folder: `houston.yaml`, `pings` and `releases/houston`, as on the page."""

    folder: Path

    @classmethod
    def of(cls, folder: Path, *overrides: str) -> Job:
        folder.mkdir(parents=True)
        places = (f"input.path={folder}/pings", f"output={folder}/releases/houston")
        settings = (*SMALL, "denoise={model: ridge}", *places, *overrides)
        config = load_config(ROOT / "conf/demo.yaml", settings)
        written = config.model_dump(mode="json", exclude_unset=True)
        (folder / "houston.yaml").write_text(yaml.safe_dump(written))
        return cls(folder)

    @property
    def config(self) -> ReleaseConfig:
        return load_config(self.folder / "houston.yaml")

    @property
    def output(self) -> Path:
        return self.folder / "releases/houston"

    def states(self) -> Counter[State]:
        """Return how many entries of each kind the ledger has."""
        return Counter(entry.state for entry in LedgerReader(make_plan(self.config).ledger, _no_spark).entries())

    def tensor(self) -> Integers:
        """Return the stored noisy slices (T, M * M), after a look that they were stored once."""
        table = DeltaTable(str(self.output / "tables/noisy_slices"))
        assert [commit["operation"] for commit in table.history()].count("WRITE") == 1
        live = {Path(unquote(file)).name: unquote(file) for file in table.file_uris()}
        there = {file.name for file in (self.output / "tables/noisy_slices").glob("draw_id=*/**/*.parquet")}
        assert there == live.keys(), "another drawing lies on the disk"
        files = [pq.ParquetFile(file).read(list(SLICE_COLUMNS)) for file in live.values()]
        rows = sorted(pa.concat_tables(files).to_pylist(), key=lambda row: row["slice"])
        assert [row["slice"] for row in rows] == list(range(make_plan(self.config).slices))
        return np.array([decode_counts(row["counts"], row["bytes_per_count"]) for row in rows])


def submit(
    lines: str, bench: Path, replaced: Mapping[str, str], **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run lines of the page in a checkout, with other words where the page has examples."""
    return subprocess.run(
        ["bash", "-ec", rewrite(lines, replaced)],
        cwd=bench,
        env=clean_environment() | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_AT_MOST,
        check=False,
    )


def rewrite(lines: str, replaced: Mapping[str, str]) -> str:
    for words, others in replaced.items():
        assert words in lines, f"the page has no `{words}` any more"
        lines = lines.replace(words, others)
    return lines


def _no_spark() -> NoReturn:
    raise AssertionError("a ledger on this disk is read without Spark")
