"""Two releases for engines to read: one at a path, large enough to see pruning, and one under names in a metastore.

    python -m tests.engines.releases FOLDER SETTING

publishes the second into the schema `mobility` of a Hive metastore in FOLDER, in a process of its own: Derby lets one
process in, and afterwards that is the Thrift server. The setting says where Delta's jars are. It prints the release's
id.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

from tests.conftest import QUICK, ROOT, SMALL
from vdr_spark import Publisher, Release, read_release
from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.plan import ReleasePlan, make_plan
from vdr_spark.privacy.entries import Entry, State
from vdr_spark.refine import round_as_told
from vdr_spark.release.publish import publish
from vdr_spark.signal import Signal
from vdr_spark.storage.files import write_json
from vdr_spark.storage.tensor_file import Tensor, write_tensor
from vdr_spark.sum_errors import Spread, SumErrors, Total

SCHEMA = "mobility"
TOTAL = 1_000_000
# Every count is a multiple of this, so that no order of adding them up in doubles makes a difference.
STEP = 2.0**-12


def publish_at_path(spark: SparkSession, folder: Path) -> Release:
    """Publish a made-up city of 576 x 576 cells over six days, as the stages before `publish` would have left it."""
    settings = {
        "name": "engines",
        "dataset": "nobody",
        "output": str(folder / "out"),
        "input": {"path": str(folder / "pings")},
        "region": {"center": [29.7604, -95.3698], "side_m": 20_000},
        "grid": {"cells_per_side": 576},
        "period": {"start": "2020-01-07T00:00-06:00", "end": "2020-01-13T00:00-06:00", "slice": "3h"},
        "privacy": {"epsilon": 6, "k": 13, "total_pings": TOTAL, "budget": 6},
        "denoise": {"model": "ridge"},
    }
    (release,) = make_plan(ReleaseConfig(**settings)).releases(TOTAL)  # type: ignore[arg-type]
    write_tensor(release.folder.refined, _city(release.grid.shape))
    errors = SumErrors(40.0, tuple(Spread(side, 1, 0.1, 2.0) for side in (1, 4, 16)), 1e5, Total(float(TOTAL)))
    write_json(release.folder.denoising, {"model": "ridge", "fusion": True, "estimated_rmse": None})
    write_json(release.folder.refinement, {"gamma": 14.0, "kappa": 0.3, "sum_errors": errors.as_notes()})
    spent = _spent(release)
    publish(spark, release, spent, [spent], Signal(9e5, 1e5, release.grid.slices, release.grid.slices, TOTAL))
    return read_release(str(folder / "out"), release.release_id)


def _city(shape: tuple[int, int, int]) -> Tensor:
    counts = np.random.default_rng(0).gamma(0.5, 2 * TOTAL / np.prod(shape), shape)
    rounded = round_as_told(Tensor((np.rint(counts / STEP) * STEP).astype(np.float32)))
    deviation = np.sqrt(rounded.counts + np.float32(1))
    return round_as_told(Tensor(rounded.counts, deviation))


def _spent(release: ReleasePlan) -> Entry:
    return Entry(
        sequence=3,
        dataset="nobody",
        draw_id=release.draw.draw_id,
        state=State.SPENT,
        epsilon=Fraction(6),
        recorded_at=datetime.now(UTC),
        configuration_hash="",
        entry_hash="",
        purpose="cells",
        window_seconds=None,
        tensor_sha256="",
        identity_sha256="",
    )


def metastore_conf(folder: Path) -> dict[str, str]:
    """Return Spark's settings for a Hive metastore by Derby, and tables, in a folder."""
    return {
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:{folder}/metastore;create=true",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
    }


def publish_by_name(folder: Path, *settings: str) -> str:
    """Run all stages into named tables; return the release's id."""
    named = [f"output={folder}/named", f"input.path={folder}/pings", f"tables=spark_catalog.{SCHEMA}"]
    conf = f"spark.conf={json.dumps(QUICK | metastore_conf(folder))}"
    publisher = Publisher(load_config(ROOT / "conf/demo.yaml", [*SMALL, *named, conf, *settings]))
    publisher.spark.sql(f"CREATE SCHEMA {SCHEMA}")
    publisher.synthesize()
    return publisher.release().release_id


if __name__ == "__main__":
    print(publish_by_name(Path(sys.argv[1]), *sys.argv[2:]))
