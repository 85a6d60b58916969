"""An audit of a right release holds, and each thing that can be wrong makes it fail."""

import json
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.conftest import ROOT, small_overrides, write_pings
from tests.plans import draw_id_of, grid_of, ledger_of, output_of, release_id_of, run_release, run_stage
from vdr_spark.audit import AuditReport
from vdr_spark.cli import main
from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.errors import StageMissing
from vdr_spark.plan import make_plan
from vdr_spark.promise import Promise
from vdr_spark.publisher import Publisher

Small = Callable[..., ReleaseConfig]
MORE = ("grid.cells_per_side=32", "privacy.total_pings=null", "privacy.estimate_total={max_per_user: 100}")


@pytest.fixture(scope="module")
def published(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[ReleaseConfig, Path]:
    """A release, and two copies of its folder: `right`, as it was, and `editable`, whose tables may be changed."""
    folder = tmp_path_factory.mktemp("audited")
    config = load_config(ROOT / "conf/demo.yaml", [*small_overrides(folder), *MORE])
    rng = np.random.default_rng(1)
    cells = np.sort(rng.pareto(1.0, 4000).astype(np.int64) % grid_of(config).size)
    write_pings(config.input.path, grid_of(config), [(user % 500, int(cell)) for user, cell in enumerate(cells)])
    run_release(spark, config)
    shutil.copytree(config.output, folder / "right")
    for table in ("cells", "noisy_slices", "releases"):
        path = output_of(config).table(table)
        spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.appendOnly' = 'false')")
    shutil.copytree(config.output, folder / "editable")
    return config, folder


def put_back(spark: SparkSession, config: ReleaseConfig, copy: Path) -> ReleaseConfig:
    """Put right again what the test before has spoilt."""
    shutil.rmtree(config.output)
    shutil.copytree(copy, config.output)
    assert spark._jvm is not None
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    return config


@pytest.fixture
def release(spark: SparkSession, published: tuple[ReleaseConfig, Path]) -> ReleaseConfig:
    """The release as it was made."""
    config, copies = published
    return put_back(spark, config, copies / "right")


@pytest.fixture
def editable(spark: SparkSession, published: tuple[ReleaseConfig, Path]) -> ReleaseConfig:
    """The release as someone left it who means to change its tables by hand."""
    config, copies = published
    return put_back(spark, config, copies / "editable")


def audit(spark: SparkSession, config: ReleaseConfig) -> AuditReport:
    return Publisher(config, spark).audit()


def failed(spark: SparkSession, config: ReleaseConfig) -> dict[str, str]:
    return {finding.check: finding.found for finding in audit(spark, config).findings if finding.holds is False}


def edit(spark: SparkSession, config: ReleaseConfig, table: str, where: str, **values: str) -> None:
    """Change rows of a table by hand."""
    path = output_of(config).table(table)
    DeltaTable.forPath(spark, path).update(where, {name: F.expr(value) for name, value in values.items()})


def test_a_right_release_holds(spark: SparkSession, release: ReleaseConfig, capsys: pytest.CaptureFixture[str]) -> None:
    findings = {finding.check: finding for finding in audit(spark, release).findings}
    assert all(finding.holds for finding in findings.values()), findings
    assert "claimed 3.50877" in findings["noise"].found
    overrides = [*small_overrides(Path(release.output).parent), *MORE]
    arguments = [str(ROOT / "conf/demo.yaml"), *(part for text in overrides for part in ("--set", text))]
    with pytest.raises(SystemExit) as end:
        main(["audit", *arguments, "--json"])
    assert not end.value.code
    assert json.loads(capsys.readouterr().out)["holds"] is True
    Path(output_of(release).statement(release_id_of(release), "json")).write_text("{}")
    with pytest.raises(SystemExit) as end:
        main(["audit", *arguments])
    assert end.value.code == 6
    assert "Not all of it holds" in capsys.readouterr().out


def test_a_withdrawn_release_is_audited_and_said_to_be_withdrawn(spark: SparkSession, release: ReleaseConfig) -> None:
    publisher = Publisher(release, spark)
    publisher.withdraw(release_id_of(release), "a wrong box")
    report = publisher.audit()
    assert report.holds, str(report)  # its page too, which says it
    assert "WITHDRAWN on" in str(report)
    assert report.as_dict()["withdrawn"]["reason"] == "a wrong box"
    Path(output_of(release).statement(release_id_of(release), "html")).unlink()
    assert "run `vdr releases withdraw` again" in failed(spark, release)["statement"]


def halve(counts: bytes, width: int) -> bytes:
    return (np.frombuffer(counts, f"<i{width}") / 2).astype(f"<i{width}").tobytes()


def test_a_noisy_tensor_that_was_changed(spark: SparkSession, editable: ReleaseConfig) -> None:
    spark.udf.register("halve", halve, "binary")
    halved = "halve(counts, bytes_per_count)"
    edit(spark, editable, "noisy_slices", f"draw_id = '{draw_id_of(editable)}'", counts=halved)
    found = failed(spark, editable)
    assert found.keys() == {"noisy tensor", "noise"}
    assert "below zero on average" in found["noise"]


def test_a_noisy_tensor_that_is_gone(spark: SparkSession, editable: ReleaseConfig) -> None:
    path = output_of(editable).table("noisy_slices")
    DeltaTable.forPath(spark, path).delete(F.col("draw_id") == draw_id_of(editable))
    found = failed(spark, editable)
    assert {"noisy tensor", "total"} <= found.keys()
    assert "is not stored" in found["total"]


def test_a_second_drawing_beside_the_first(spark: SparkSession, release: ReleaseConfig) -> None:
    folder = Path(output_of(release).table("noisy_slices")) / f"draw_id={draw_id_of(release)}"
    (folder / "part-00009-late.snappy.parquet").write_bytes(b"another drawing")
    assert failed(spark, release).keys() == {"noisy tensor"}


def test_cells_that_were_changed(spark: SparkSession, editable: ReleaseConfig) -> None:
    edit(spark, editable, "cells", "slice = 1 AND y = 2 AND x = 3", count="count + 1")
    assert failed(spark, editable).keys() == {"released cells"}


def test_a_promise_that_was_changed(spark: SparkSession, editable: ReleaseConfig) -> None:
    edit(spark, editable, "releases", "true", epsilon="'0.1'", statement="replace(statement, '57/10', '1/10')")
    found = failed(spark, editable)
    assert found.keys() == {"release", "statement"}
    assert found["release"].endswith("in epsilon")
    assert "exact.epsilon_by_stage.collect" in found["statement"]


def test_a_row_that_was_changed(spark: SparkSession, editable: ReleaseConfig) -> None:
    lies = {
        "k": "777",
        "total_pings": "1",
        "south": "-80D",
        "privacy_unit": "'ping'",
        "dataset": "'zzz'",
        "slices": "7",
    }
    edit(spark, editable, "releases", "true", **lies, period_start="period_start + INTERVAL 1 DAY")
    told = failed(spark, editable)["release"].partition(" in ")[2].split(", ")
    assert set(told) == {*lies, "period_start"}


def test_a_statement_that_was_changed_everywhere(spark: SparkSession, editable: ReleaseConfig) -> None:
    lies = {
        '"sensitivity_l1": 20': '"sensitivity_l1": 1',
        '"privacy_unit": "user"': '"privacy_unit": "user_day"',
        '"source": "estimated"': '"source": "declared public"',
        '"epsilon": 6.0': '"epsilon": 0.001',
        "Whoever sees the release is not": "So is everybody",
    }
    text = spark.read.format("delta").load(output_of(editable).table("releases")).collect()[0].statement
    changed = "statement"
    for said, instead in lies.items():
        assert said in text
        changed = f"replace({changed}, '{said}', '{instead}')"
    edit(spark, editable, "releases", "true", statement=changed)
    for kind in ("json", "html"):
        Path(output_of(editable).statement(release_id_of(editable), kind)).unlink()
    run_stage("publish", spark, editable)  # writes the missing files by the row
    found = failed(spark, editable)
    assert found.keys() == {"statement"}
    assert found["statement"].partition(" in ")[2].split(", ") == [
        "deployment.deployment_model.trust_assumptions",
        "deployment.privacy_loss.privacy_parameters.epsilon",
        "exact.privacy_unit",
        "exact.sensitivity_l1",
        "exact.total_pings.source",
    ]


def test_a_second_row_of_the_release(spark: SparkSession, release: ReleaseConfig) -> None:
    path = output_of(release).table("releases")
    row = spark.read.format("delta").load(path).withColumn("epsilon", F.lit("0.1"))
    spark.createDataFrame(row.collect(), row.schema).write.format("delta").mode("append").save(path)
    assert failed(spark, release) == {"release": "2 rows of `releases` say something about it; one may"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lon": "if(slice = 5 AND x = 9, lon + 1, lon)"}, "`lon` of the cells with x = 9"),
        ({"slice_start": "slice_start + INTERVAL 1 HOUR"}, "`slice_start` of the cells with slice = 0"),
        ({"protected": "false"}, "not all marked"),
    ],
)
def test_cells_that_were_moved(
    spark: SparkSession, editable: ReleaseConfig, change: dict[str, str], words: str
) -> None:
    edit(spark, editable, "cells", "true", **change)
    found = failed(spark, editable)
    assert found.keys() == {"released cells"}
    assert words in found["released cells"]


def cut_off_last_entry(spark: SparkSession, ledger: str) -> None:
    last = max(Path(ledger).glob("_delta_log/*.json"))
    last.unlink()
    (last.parent / f".{last.name}.crc").unlink(missing_ok=True)
    assert spark._jvm is not None
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def test_a_ledger_that_was_replaced(spark: SparkSession, release: ReleaseConfig) -> None:
    places = make_plan(release).ledger
    cut_off_last_entry(spark, places.table)
    assert "cut off" in failed(spark, release)["ledger"]
    Path(places.head).unlink()  # by someone who knows of it: the release itself remembers who paid
    assert "had 5 entries, the last of them another than here, where it has 4" in failed(spark, release)["ledger"]


def test_a_release_remembers_what_others_had_spent(spark: SparkSession, small_config: Small) -> None:
    """The last to be published knows of all draws before it: a ledger cut off behind its own entry does not pass."""
    first = small_config("privacy.epsilon=1", "privacy.budget=9", "name=first")
    write_pings(first.input.path, grid_of(first), [("a", 3)])
    other = small_config("privacy.epsilon=5", "name=other")
    for config in (first, other):
        run_stage("collect", spark, config)
    run_release(spark, first)
    assert failed(spark, first).keys() == set()
    ledger, places = ledger_of(spark, first), make_plan(first).ledger
    for _ in range(2):  # what `other` reserved and spent
        cut_off_last_entry(spark, places.table)
    Path(places.head).unlink()
    assert ledger.account(first.dataset).committed == 1  # by the ledger alone, nothing is missing
    assert "it was cut off or replaced" in failed(spark, first)["ledger"]


def test_nothing_to_audit(spark: SparkSession, small_config: Small) -> None:
    with pytest.raises(StageMissing, match="nothing to audit"):
        audit(spark, small_config())


def test_a_release_in_rho_holds_and_is_read_back_in_both_languages(
    spark: SparkSession, published: tuple[ReleaseConfig, Path], tmp_path: Path
) -> None:
    in_rho = ("privacy.epsilon=null", "privacy.budget=null", "privacy.rho=1/2", "privacy.delta=1e-9")
    pings = f"input.path={published[0].input.path}"
    config = load_config(ROOT / "conf/demo.yaml", [*small_overrides(tmp_path), *MORE, *in_rho, pings])
    release = run_release(spark, config)
    assert release.promise == Promise(Fraction("6.475"), Fraction(1, 10**9))
    assert "epsilon 6.475 at delta 1e-9 at user level" in repr(release)
    found = {finding.check: finding for finding in audit(spark, config).findings}
    assert not [finding for finding in found.values() if finding.holds is False]
    assert (
        "rho 1/2 reserved and spent once; dataset demo-city at rho 1/2, which is epsilon 6.475" in found["ledger"].found
    )
    path = output_of(config).table("releases")
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.appendOnly' = 'false')")
    edit(spark, config, "releases", "true", rho="'1/4'")
    assert "its row differs from configuration and ledger in rho" in failed(spark, config)["release"]
