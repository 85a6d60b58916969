"""What tests share: one Spark session (starting it costs more than most tests), and small configurations."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from pyspark.sql import SparkSession

from vdr_spark.cli.demo import run_demo
from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.config.settings import SparkSettings
from vdr_spark.grid import Grid
from vdr_spark.session import spark_session

ROOT = Path(__file__).parent.parent

# A city of 16 x 16 cells and one day, small enough to release in seconds.
SMALL = (
    "grid.cells_per_side=16",
    "period.end=2020-01-08",
    "synth.pings=6000",
    "privacy.total_pings=6000",
    "privacy.k=20",
    "denoise.model=temporal",
    "denoise.vqvae={epochs: 1}",
    "denoise.blindspot={steps: 2, batch_size: 2, crop_size: 16}",
)


# Spark's JVM lives for minutes here: compiling for hours of work would cost more than it gains.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = spark_session(SparkSettings(driver_memory="3g", conf={"spark.sql.shuffle.partitions": "3"}))
    yield session
    session.stop()


def small_overrides(folder: Path) -> list[str]:
    return [*SMALL, f"output={folder}/out", f"input.path={folder}/pings"]


@pytest.fixture
def small_config(tmp_path: Path) -> Callable[..., ReleaseConfig]:
    """The demo's configuration made small, in a folder of its own, with a test's own overrides."""
    return lambda *overrides: load_config(ROOT / "conf/demo.yaml", [*small_overrides(tmp_path), *overrides])


@pytest.fixture(scope="session")
def demo_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the demo was run, made small: `conf/demo.yaml` and `out/demo`, as in the README."""
    request.getfixturevalue("spark")
    folder = tmp_path_factory.mktemp("demo")
    small = yaml.safe_load((ROOT / "conf/demo.yaml").read_text())
    small["grid"]["cells_per_side"] = 24
    small["period"]["end"] = "2020-01-09"
    small["synth"]["pings"] = small["privacy"]["total_pings"] = 60_000
    small["denoise"]["vqvae"] = {"epochs": 2}
    small["denoise"]["blindspot"] = {"steps": 20, "batch_size": 4, "crop_size": 16}
    (folder / "conf").mkdir()
    (folder / "conf/demo.yaml").write_text(yaml.safe_dump(small))
    before = os.getcwd()
    os.chdir(folder)
    try:
        run_demo(load_config("conf/demo.yaml"))
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def in_demo_folder(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(demo_folder)
    return demo_folder


def write_pings(path: str, grid: Grid, cells: Sequence[tuple[object, int]]) -> None:
    """Parquet pings at `path`: one in the middle of a flat cell for each (user, cell), a second apart."""
    users = [str(user) for user, _ in cells]
    t, y, x = np.unravel_index(np.array([cell for _, cell in cells], dtype=np.int64), grid.shape)
    start = pd.Timestamp(grid.start)
    pings = pd.DataFrame(
        {
            "user_id": pd.Series(users, dtype="string"),
            "lat": grid.latitudes()[y],
            "lon": grid.longitudes()[x],
            "ts": [
                start + pd.Timedelta(seconds=int(number) * grid.slice_seconds + position % grid.slice_seconds)
                for position, number in enumerate(t)
            ],
        }
    )
    Path(path).mkdir(parents=True, exist_ok=True)
    pings.to_parquet(f"{path}/part.parquet", coerce_timestamps="us")


def mark_as_generated(path: str) -> None:
    """As `vdr synth` does: only over such pings may noise be seeded."""
    Path(path, "_vdr_synth.json").write_text("{}")
