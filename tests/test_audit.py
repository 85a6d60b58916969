"""An audit of a right release holds, and each thing that can be wrong makes it fail."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.conftest import ROOT, small_overrides, write_pings
from vdr_spark.audit import audit
from vdr_spark.cli import main
from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.errors import StageMissing
from vdr_spark.pipeline import run_release
from vdr_spark.workspace import Workspace

Small = Callable[..., ReleaseConfig]
MORE = ("grid.cells=32", "privacy.total_pings=null", "privacy.estimate_total={most_per_user: 100}")


@pytest.fixture(scope="module")
def published(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[ReleaseConfig, Path]:
    """A release, and a copy of its folder as it was."""
    folder = tmp_path_factory.mktemp("audited")
    config = load_config(ROOT / "conf/demo.yaml", [*small_overrides(folder), *MORE])
    rng = np.random.default_rng(1)
    cells = np.sort(rng.pareto(1.0, 4000).astype(np.int64) % config.domain.size)
    write_pings(config.input.path, config.domain, [(user % 500, int(cell)) for user, cell in enumerate(cells)])
    run_release(spark, config)
    shutil.copytree(config.output, folder / "copy")
    return config, folder / "copy"


@pytest.fixture
def release(published: tuple[ReleaseConfig, Path], spark: SparkSession) -> Iterator[ReleaseConfig]:
    """The release, put right again after a test has spoilt it."""
    config, copy = published
    yield config
    shutil.rmtree(config.output)
    shutil.copytree(copy, config.output)
    assert spark._jvm is not None
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def failed(spark: SparkSession, config: ReleaseConfig) -> dict[str, str]:
    return {finding.check: finding.found for finding in audit(spark, config) if finding.holds is False}


def edit(spark: SparkSession, config: ReleaseConfig, table: str, where: str, **values: str) -> None:
    """Change rows of a table by hand, append-only or not."""
    path = Workspace.of(config).table(table)
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.appendOnly' = 'false')")
    DeltaTable.forPath(spark, path).update(where, {name: F.expr(value) for name, value in values.items()})


def test_a_right_release_holds(spark: SparkSession, release: ReleaseConfig, capsys: pytest.CaptureFixture[str]) -> None:
    findings = {finding.check: finding for finding in audit(spark, release)}
    assert all(finding.holds for finding in findings.values()), findings
    assert "claimed 3.50877" in findings["noise"].found
    overrides = [*small_overrides(Path(release.output).parent), *MORE]
    arguments = [str(ROOT / "conf/demo.yaml"), *(part for text in overrides for part in ("--set", text))]
    with pytest.raises(SystemExit) as end:
        main(["audit", *arguments, "--json"])
    assert not end.value.code
    assert json.loads(capsys.readouterr().out)["holds"] is True
    Path(Workspace.of(release).statement("json")).write_text("{}")
    with pytest.raises(SystemExit) as end:
        main(["audit", *arguments])
    assert end.value.code == 1
    assert "Not all of it holds" in capsys.readouterr().out


def test_a_noisy_tensor_that_was_changed(spark: SparkSession, release: ReleaseConfig) -> None:
    halved = "transform(values, value -> cast(value / 2 AS bigint))"
    edit(spark, release, "noisy_slices", f"draw_id = '{release.draw_id}'", values=halved)
    found = failed(spark, release)
    assert found.keys() == {"noisy tensor", "noise"}
    assert "below zero on average" in found["noise"]


def test_a_second_drawing_beside_the_first(spark: SparkSession, release: ReleaseConfig) -> None:
    folder = Path(Workspace.of(release).table("noisy_slices")) / f"draw_id={release.draw_id}"
    (folder / "part-00009-late.snappy.parquet").write_bytes(b"another drawing")
    assert failed(spark, release).keys() == {"noisy tensor"}


def test_cells_that_were_changed(spark: SparkSession, release: ReleaseConfig) -> None:
    edit(spark, release, "cells", "slice = 1 AND y = 2 AND x = 3", count="count + 1")
    assert failed(spark, release).keys() == {"released cells"}


def test_a_promise_that_was_changed(spark: SparkSession, release: ReleaseConfig) -> None:
    edit(spark, release, "releases", "true", epsilon="'0.1'", statement="replace(statement, '57/10', '1/10')")
    assert failed(spark, release).keys() == {"ledger", "statement"}


def test_a_ledger_that_was_replaced(spark: SparkSession, release: ReleaseConfig) -> None:
    ledger, witness = Workspace.of(release).ledger, Path(Workspace.of(release).witness)
    last = max(Path(ledger).glob("_delta_log/*.json"))
    last.unlink()
    (last.parent / f".{last.name}.crc").unlink(missing_ok=True)
    assert spark._jvm is not None
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    assert "cut off" in failed(spark, release)["ledger"]
    witness.unlink()  # by someone who knows of it: the release itself remembers who paid
    assert "must be reserved once, then spent once" in failed(spark, release)["ledger"]


def test_a_seeded_release_never_holds(spark: SparkSession, small_config: Small) -> None:
    config = small_config("privacy.test_seed=1")
    write_pings(config.input.path, config.domain, [("a", 3)])
    run_release(spark, config)
    assert failed(spark, config).keys() == {"protected"}


def test_noise_that_cannot_be_measured_is_not_called_right(spark: SparkSession, small_config: Small) -> None:
    config = small_config("privacy.epsilon=1e6", "privacy.budget=1e6")
    write_pings(config.input.path, config.domain, [("a", 3)])
    run_release(spark, config)
    findings = {finding.check: finding.holds for finding in audit(spark, config)}
    assert findings.pop("noise") is None
    assert all(findings.values())


def test_nothing_to_audit(spark: SparkSession, small_config: Small) -> None:
    with pytest.raises(StageMissing, match="nothing to audit"):
        audit(spark, small_config())
