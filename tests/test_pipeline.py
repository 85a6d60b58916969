"""All stages together: resumable, costless second opinions, and every odd input works."""

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tests.conftest import mark_as_generated, write_pings
from tests.plans import draw_id_of, grid_of, ledger_of, noisy_files, output_of, run_release, run_stage
from vdr_spark.collect.noisy_tensor import NoisyTensor
from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.petastorm_reader import read_slices
from vdr_spark.errors import BudgetExceeded, Declined, InvalidConfig, StageMissing, Withdrawn
from vdr_spark.pipeline import Pipeline
from vdr_spark.plan import make_plan
from vdr_spark.privacy.ledger import Ledger
from vdr_spark.publisher import Publisher
from vdr_spark.release.read import read_release
from vdr_spark.release.register import withdraw_release
from vdr_spark.storage.locks import exclusive

Small = Callable[..., ReleaseConfig]


def test_stages_one_by_one_and_again(spark: SparkSession, small_config: Small) -> None:
    config = small_config()
    for name in ("synth", "collect", "denoise", "refine", "publish"):
        assert run_stage(name, spark, config) is True, name
    first = read_release(config.output)
    noisy = read_slices(noisy_files(spark, config), grid_of(config))
    for name in ("synth", "collect", "denoise", "refine", "publish"):
        assert run_stage(name, spark, config) is False, name
    again = run_release(spark, config)
    assert (again.counts == first.counts).all()
    assert (read_slices(noisy_files(spark, config), grid_of(config)) == noisy).all()
    # Another opinion on the same noisy tensor is a release of its own and costs nothing.
    other = small_config("denoise={model: identity, fusion: false}", "refine.method=gamma")
    second = run_release(spark, other)
    assert second.release_id != first.release_id
    factor = float(second.counts.sum() / noisy.sum())
    np.testing.assert_allclose(second.counts, noisy * factor, rtol=1e-3, atol=1e-5)
    assert ledger_of(spark, config).account(config.dataset).committed == config.privacy.epsilon
    assert (read_release(config.output, first.release_id).counts == first.counts).all()
    # A withdrawn one is not published again by saying the same once more; the other one stays.
    withdraw_release(config.output, first.release_id, "a wrong box")
    for again_by in (lambda: run_release(spark, config), lambda: run_stage("publish", spark, config)):
        with pytest.raises(Withdrawn, match=r"a wrong box\. It stays withdrawn and is not published again"):
            again_by()
    assert run_release(spark, other).release_id == second.release_id
    assert ledger_of(spark, config).account(config.dataset).committed == config.privacy.epsilon  # nothing comes back


def test_a_publisher_waits_for_another_that_writes_the_same_table(spark: SparkSession, small_config: Small) -> None:
    """By the lock beside the table, which another process, or a thread, holds while it commits."""
    config = small_config()
    write_pings(config.input.path, grid_of(config), [("a", 3)])
    pipeline = Pipeline(spark, config)
    for stage in ("collect", "denoise", "refine"):
        pipeline.run(stage)
    table = output_of(config).table("releases")
    with ThreadPoolExecutor(1) as pool:
        with exclusive(f"{table}.lock"):
            publishing = pool.submit(pipeline.run, "publish")
            while not Path(f"{config.output}/tables/cells/_delta_log/{1:020}.json").exists():
                assert not publishing.done()
                time.sleep(0.05)
            time.sleep(2)  # the cells are there; a row of `releases` would follow in a moment
            assert not Path(str(table)).exists()
        assert publishing.result(timeout=120) is True
    assert read_release(config.output).release_id


def test_stages_of_one_process_hash_and_verify_once(
    spark: SparkSession, small_config: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, calls = small_config(), Counter[str]()
    write_pings(config.input.path, grid_of(config), [("a", 3)])
    for owner, name in ((NoisyTensor, "_read_contents"), (Ledger, "_read")):
        honest = getattr(owner, name)

        def counted(self: object, *rest: object, honest: Any = honest, name: str = name) -> object:
            calls[name] += 1
            return honest(self, *rest)

        monkeypatch.setattr(owner, name, counted)
    together = Pipeline(spark, config)
    together.run("collect")
    assert calls["_read_contents"] == 1
    with pytest.raises(StageMissing, match="vdr refine"):
        together.run("publish")
    calls.clear()
    for stage in ("denoise", "refine", "publish"):
        together.run(stage)
    assert not calls  # neither hashed nor read again
    run_stage("denoise", spark, config)  # alone, it looks for itself
    assert calls == {"_read_contents": 1, "_read": 1}


def test_a_further_draw_is_announced_and_a_no_books_nothing(
    spark: SparkSession, small_config: Small, caplog: pytest.LogCaptureFixture
) -> None:
    def bills() -> list[str]:
        return [record.message for record in caplog.records if "further draw" in record.message]

    def never() -> bool:
        raise AssertionError("asked without need")

    first = small_config("privacy.budget=13")
    write_pings(first.input.path, grid_of(first), [("a", 3)])
    for _ in range(2):  # the dataset's first draw, and the same command again
        Pipeline(spark, first, confirm=never).run("collect")
    assert bills() == []
    entries = ledger_of(spark, first).entries()
    second = small_config("privacy.k=21")
    with pytest.raises(Declined, match="nothing was reserved, read or spent"):
        Pipeline(spark, second, confirm=lambda: False).run("collect")
    assert ledger_of(spark, first).entries() == entries
    (bill,) = bills()
    assert "epsilon 6 is spent or reserved, this adds 6, the sum is then 12, and 1 of 13 granted is left" in bill
    ledger_of(spark, second).reserve(make_plan(second).budget_request)  # as a run does that is killed then
    caplog.clear()
    Pipeline(spark, second, confirm=never).run("collect")
    third = small_config("privacy.k=22")
    with pytest.raises(BudgetExceeded):  # which says what is missing; there is nothing to ask
        Pipeline(spark, third, confirm=never).run("collect")
    assert bills() == []


def test_a_publication_that_was_stopped_between_its_tables_is_taken_up(
    spark: SparkSession, small_config: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config()
    write_pings(config.input.path, grid_of(config), [("a", 3)])
    pipeline = Pipeline(spark, config)
    for stage in ("collect", "denoise", "refine"):
        pipeline.run(stage)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("vdr_spark.release.publish.describe_release", stop)
        with pytest.raises(KeyboardInterrupt):
            pipeline.run("publish")
    with pytest.raises(StageMissing):
        read_release(config.output)  # its cells are there, and it is not published
    assert pipeline.run("publish") is True
    rows = spark.read.format("delta").load(output_of(config).table("cells"))
    assert rows.count() == rows.select("slice", "y", "x").distinct().count() == grid_of(config).size
    assert pipeline.run("publish") is False


@pytest.mark.parametrize(("stage", "needs"), [("denoise", "collect"), ("refine", "collect"), ("publish", "collect")])
def test_a_stage_too_early_names_the_one_before(
    spark: SparkSession, small_config: Small, stage: str, needs: str
) -> None:
    with pytest.raises(StageMissing, match=f"vdr {needs}"):
        run_stage(stage, spark, small_config())


@pytest.mark.parametrize(
    ("cells", "overrides"),
    [
        pytest.param(
            [("one", 5)] * 40, ["privacy.k=1000", "denoise.model=auto"], id="one user, one cell, k above everything"
        ),
        pytest.param(
            [], ["grid.cells_per_side=18", "denoise={model: vqvae, vqvae: {epochs: 1}}"], id="no ping, M = 18, VQ-VAE"
        ),
        pytest.param(
            [("a", 3), ("b", 4)],
            [
                "period.slice=1d",
                "grid.cells_per_side=9",
                "privacy.epsilon=1/7",
                "denoise={model: vae, vae: {epochs: 1}}",
            ],
            id="T = 1, epsilon 1/7, VAE",
        ),
    ],
)
def test_odd_inputs_work(
    spark: SparkSession, small_config: Small, cells: list[tuple[str, int]], overrides: list[str]
) -> None:
    config = small_config(*overrides)
    write_pings(config.input.path, grid_of(config), cells)
    release = run_release(spark, config)
    assert release.counts.shape == grid_of(config).shape
    assert np.isfinite(release.counts).all()
    assert release.deviation is not None
    assert np.isfinite(release.deviation).all()


def test_a_release_by_norms_is_whole_and_its_audit_holds(spark: SparkSession, small_config: Small) -> None:
    """Gaussian noise, from the ledger to the check of the noise: somebody is everywhere, others in a few cells."""
    privacy = "privacy={rho: 1/2, delta: 1e-9, total_pings: 13e3, bounding: l2, norm: 3}"
    config = small_config("grid.cells_per_side=32", privacy)
    everywhere = [("one", number) for number in range(grid_of(config).size)]
    others = [(f"user {n}", 8 * (n % 40 + j)) for n in range(900) for j in range(5)]  # of a norm below 3
    write_pings(config.input.path, grid_of(config), everywhere + others)
    release = run_release(spark, config)
    assert release.counts.sum() == pytest.approx(13_000, rel=0.01)
    exact = release.statement["exact"]
    assert (release.k, exact["k"], exact["norm"], exact["bounding"]) == (3, None, 3, "l2")
    assert "an L2 norm of at most 3" in str(release.statement)
    findings = {finding.check: finding for finding in Publisher(config, spark).audit().findings}
    assert {check: finding.found for check, finding in findings.items() if finding.holds is not True} == {}
    assert "negative cells (people make it look larger), claimed 3" in findings["noise"].found


def test_a_seeded_run_is_marked_for_ever_and_its_audit_never_holds(spark: SparkSession, small_config: Small) -> None:
    config = small_config("privacy.test_seed=1")
    write_pings(config.input.path, grid_of(config), [("a", 3)])
    mark_as_generated(config.input.path)
    assert run_release(spark, config).protected is False
    row = spark.read.format("delta").load(f"{config.output}/tables/releases").head()
    assert row is not None
    assert row.protected is False
    assert "protects nobody" in row.statement
    findings = Publisher(config, spark).audit().findings
    assert [finding.check for finding in findings if finding.holds is False] == ["protected"]


def test_several_regions_become_releases_of_one_draw(spark: SparkSession, small_config: Small) -> None:
    boxes = "{north: {south: 30, west: 10, north: 31, east: 11}, south: {south: 20, west: 10, north: 21, east: 11}}"
    config = small_config("region=null", f"regions={boxes}", "synth=null", "privacy.bounding=weight")
    north, south = make_plan(config).grids
    rng = np.random.default_rng(3)
    for name, grid, pings in (("north", north, 3000), ("south", south, 1000)):
        rows = [(f"{name}{user}", int(rng.integers(0, grid.size))) for user in range(pings)]
        write_pings(config.input.path, grid, rows)
        (Path(config.input.path) / "part.parquet").rename(Path(config.input.path) / f"{name}.parquet")
    first, second = (run_release(spark, config, name) for name in ("north", "south"))
    assert (first.grid.box, second.grid.box) == (north.box, south.box)
    assert first.release_id != second.release_id
    total = config.privacy.total_pings
    assert first.counts.sum() + second.counts.sum() == pytest.approx(total, rel=0.3)
    rows = spark.read.format("delta").load(output_of(config).table("releases")).collect()
    assert {(row.region, row.draw_id) for row in rows} == {("north", draw_id_of(config)), ("south", draw_id_of(config))}
    with pytest.raises(InvalidConfig, match=r"region must be one of those of the release \(north, south\), not None"):
        run_release(spark, config)
