"""Releases over a remote session, in a process of its own: one cannot hold a classic and a remote session at once.

`python -m tests.spark.connect_client FOLDER` with SPARK_REMOTE set; prints what came of it as one line of JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.conftest import ROOT, small_overrides
from vdr_spark import Publisher
from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.errors import VdrError
from vdr_spark.plan import make_plan
from vdr_spark.query import Answer
from vdr_spark.release.release import Release
from vdr_spark.release.views import register_views

TABLE, SCHEMA = "connect_pings", "connect_released"
SEED = "privacy.test_seed=7"


def configure(folder: Path, *overrides: str) -> ReleaseConfig:
    return load_config(ROOT / "conf/demo.yaml", [*small_overrides(folder), *overrides])


def middle(release: Release) -> Answer:
    """Ask for a box in the middle."""
    return release.range_count(release.grid.box)


def release_files(folder: Path) -> dict[str, Any]:
    """A seeded release of generated files, so that a classic session must come to the same."""
    publisher = Publisher(configure(folder, SEED))
    publisher.synthesize()
    release = publisher.release()
    register_views(publisher.spark, publisher.config.output)
    return {
        "remote": type(publisher.spark).__module__,
        "counts": release.counts.ravel().tolist(),
        "deviation": None if release.deviation is None else release.deviation.ravel().tolist(),
        "answer": str(middle(release)),
        "cells": publisher.spark.sql("SELECT count(*) FROM cells").collect()[0][0],
        "audit": {finding.check: finding.holds for finding in publisher.audit().findings},
        "again": publisher.pipeline.run("collect"),
        "frame": release.to_spark(publisher.spark).count(),
    }


def release_table(folder: Path) -> dict[str, Any]:
    """A release of a table by its name into tables by their names, then one that the budget does not allow."""
    spark = SparkSession.active()
    spark.read.parquet(f"{folder}/pings").write.mode("overwrite").format("delta").saveAsTable(TABLE)
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    named = {"input": {"table": f"spark_catalog.default.{TABLE}"}, "synth": None, "tables": f"spark_catalog.{SCHEMA}"}
    settings = configure(folder).model_dump(mode="json", by_alias=True, exclude_none=True) | named
    publisher = Publisher(ReleaseConfig(**settings | {"output": f"{folder}/by-name"}))
    release = publisher.release()
    more = Publisher(ReleaseConfig(**settings | {"output": f"{folder}/elsewhere"}))  # the ledger is the same
    return {
        "answer": str(middle(release)),
        "cells": spark.table(f"{SCHEMA}.cells").where(f"release_id = '{release.release_id}'").count(),
        "in the folder": (folder / "by-name/tables").exists(),
        "protected": release.protected,
        "audit": {finding.check: finding.holds for finding in publisher.audit().findings},
        "refusal": refusal(collecting(more)),
        "spent": str(publisher.budget.spent),
        "of": str(publisher.config.privacy.epsilon),
    }


def count_users_in_folders(folder: Path) -> int:
    """Two users whose folders a careless reader would take for one."""
    lat, lon = make_plan(configure(folder)).grids[0].box.centre
    for user in ("1", "01"):
        place = folder / "folders" / f"user_id={user}"
        place.mkdir(parents=True)
        (place / "pings.csv").write_text(f"lat,lon,ts\n{lat},{lon},2020-01-07T12:00:00Z\n")
    settings = configure(folder).model_dump(mode="json", by_alias=True, exclude_none=True)
    pings_input = {"path": f"{folder}/folders", "format": "csv"}
    report = Publisher(ReleaseConfig(**settings | {"input": pings_input, "synth": None})).check()
    return report.measured.per_user.total_users


def refuse(folder: Path) -> dict[str, str]:
    """What must be refused, in its words."""
    spark = SparkSession.active()
    spark.sql(f"CREATE OR REPLACE VIEW connect_view AS SELECT * FROM {TABLE} WHERE rand() < 0.5")
    spark.table(TABLE).createOrReplaceTempView("connect_temporary")

    def release(**pings: Any) -> Callable[[], object]:
        settings = configure(folder).model_dump(mode="json", by_alias=True, exclude_none=True)
        return collecting(Publisher(ReleaseConfig(**settings | {"input": pings, "synth": None, "dataset": "refused"})))

    settings = {"name": "frame", "dataset": "frame", "output": f"{folder}/frame"}
    plain = configure(folder).model_dump(mode="json", by_alias=True, exclude_none=True)
    settings |= {name: plain[name] for name in ("region", "grid", "period", "privacy", "denoise")}
    frame = Publisher.from_dataframe(spark.table(TABLE), "frame", **settings)
    vouched = Publisher.from_dataframe(spark.table(TABLE), "frame", trust_plan=True, **settings)
    damage(next(folder.glob("pings/*.parquet")), folder / "damaged")
    return {
        "view": refusal(release(table="connect_view")),
        "temporary view": refusal(release(table="connect_temporary")),
        "no table": refusal(release(table="no_such.table")),
        "nothing there": refusal(release(path=f"{folder}/nothing")),
        "no Delta table": refusal(release(path=f"{folder}/pings", format="delta")),
        "damaged file": refusal(release(path=f"{folder}/damaged")),
        "frame": refusal(collecting(frame)),
        "vouched frame": refusal(collecting(vouched)),
    }


def damage(file: Path, folder: Path) -> None:
    """Copy a file without the middle of its rows; its footer says nothing of that."""
    content = bytearray(file.read_bytes())
    content[100 : len(content) // 2] = bytes(len(content) // 2 - 100)
    folder.mkdir()
    (folder / "anna.parquet").write_bytes(content)


def collecting(publisher: Publisher) -> Callable[[], object]:
    return lambda: publisher.pipeline.run("collect")


def refusal(act: Callable[[], object]) -> str:
    try:
        act()
    except VdrError as problem:
        return f"{type(problem).__name__}: {problem}"
    return "done"


if __name__ == "__main__":
    place = Path(sys.argv[1])
    told: dict[str, Any] = {"files": release_files(place), "table": release_table(place), "refused": refuse(place)}
    told["users"] = count_users_in_folders(place)
    print(json.dumps(told))
