"""The collect stage keeps the privacy rules: bound, noise everywhere, noise once, the ledger first."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from tests.conftest import ROOT, mark_as_generated, small_overrides, write_pings
from tests.plans import (
    collect,
    draw_id_of,
    draws_of,
    grid_of,
    ledger_of,
    noisy_files,
    output_of,
    scale_of,
    stored_noise,
)
from vdr_spark.collect import stage
from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.cost import tasks_for
from vdr_spark.denoise.petastorm_reader import read_region
from vdr_spark.errors import BudgetExceeded, Busy, InvalidConfig, InvalidInput
from vdr_spark.plan import make_plan
from vdr_spark.privacy.entries import State
from vdr_spark.spark.settings import settings_of_spark
from vdr_spark.storage.locks import exclusive
from vdr_spark.storage.slice_bytes import decode_counts

Small = Callable[..., ReleaseConfig]
# So large an epsilon that the noise is zero: the exact bounded counts become visible to a test.
NO_NOISE = ("privacy.epsilon=1e6", "privacy.accept_weak_promise=true", "privacy.budget=1e9")


# Two ids that Spark's xxhash64 cannot tell apart under any seed.
TWINS = ('1FNt"1r+t)jik&vJ', "\x11SO\x0c~}\x048t)ji\x1ar\x03a")


@pytest.fixture(scope="module")
def bounded(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> NDArray[np.float32]:
    """The counts, cell by cell and without noise, of users who each have cells of their own; k is 5."""
    folder = tmp_path_factory.mktemp("bounded")
    config = load_config(ROOT / "conf/demo.yaml", [*small_overrides(folder), *NO_NOISE, "privacy.k=5"])
    heavy = [("heavy", slice_ * 256 + 7) for slice_ in range(8) for _ in range(40)]  # over all slices together
    often = [("often", 300)] * 30
    light = [("light", 512), ("light", 513)]
    write_pings(config.input.path, grid_of(config), [*heavy, *light, *often])
    # Exact duplicates, on top: the same file twice, as a feed delivers it after a retry.
    source = Path(config.input.path) / "part.parquet"
    source.rename(source.with_name("first.parquet"))
    shutil.copy(source.with_name("first.parquet"), source.with_name("again.parquet"))
    write_pings(config.input.path, grid_of(config), [(TWINS[0], 1)] * 9 + [(TWINS[1], 2)] * 7)
    collect(spark, config)
    return stored_noise(spark, config).reshape(-1)


def test_no_user_contributes_more_than_k(bounded: NDArray[np.float32]) -> None:
    assert bounded[7::256].sum() == 5
    assert bounded[300] == 5
    assert bounded[[512, 513]].sum() == 4
    assert bounded.sum() == 5 + 5 + 4 + 2 * 5  # the twins' among them


def test_rows_that_are_no_pings_are_left_out(spark: SparkSession, small_config: Small) -> None:
    config = small_config(*NO_NOISE)
    box, start = grid_of(config).box, grid_of(config).start
    middle = (box.south + box.north) / 2, (box.west + box.east) / 2
    rows = [
        ("a", *middle, start),
        (None, *middle, start),
        ("b", None, middle[1], start),
        ("c", float("nan"), middle[1], start),
        ("d", middle[0], float("inf"), start),
        ("e", box.north, middle[1], start),
        ("f", *middle, grid_of(config).end),
        ("g", *middle, None),
    ]
    frame = spark.createDataFrame(rows, "user_id string, lat double, lon double, ts timestamp")
    frame.write.parquet(config.input.path)
    collect(spark, config)
    assert stored_noise(spark, config).sum() == 1


@pytest.fixture(scope="module")
def collected(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Small:
    """One ping, collected: its configuration, and others in the same folder."""
    folder = tmp_path_factory.mktemp("collected")

    def small(*overrides: str) -> ReleaseConfig:
        return load_config(ROOT / "conf/demo.yaml", [*small_overrides(folder), *overrides])

    write_pings(small().input.path, grid_of(small()), [("one", 0)])
    collect(spark, small())
    return small


def test_every_cell_has_noise_the_empty_ones_too(spark: SparkSession, collected: Small) -> None:
    config = collected()
    counts = stored_noise(spark, config)
    scale = float(scale_of(config))
    assert counts.shape == grid_of(config).shape
    for layer in counts:  # no slice without noise
        assert np.abs(layer).mean() == pytest.approx(scale, rel=0.5)
    assert abs(counts.mean()) < scale
    assert len({layer.tobytes() for layer in counts}) == len(counts)  # no slice has another one's noise


def test_users_with_colliding_hashes_are_two_users(spark: SparkSession, bounded: NDArray[np.float32]) -> None:
    """Each keeps k pings of its own."""
    hashes = (
        spark.createDataFrame([(twin,) for twin in TWINS], "id string").selectExpr("xxhash64(7, id) AS h").collect()
    )
    assert hashes[0].h == hashes[1].h
    assert (bounded[1], bounded[2]) == (5, 5)


def test_an_input_without_a_single_ping_is_pure_noise(spark: SparkSession, small_config: Small) -> None:
    config = small_config()
    write_pings(config.input.path, grid_of(config), [])
    collect(spark, config)
    assert stored_noise(spark, config).any()


def test_the_ledger_is_written_before_the_data_are_read(
    spark: SparkSession, small_config: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config()
    write_pings(config.input.path, grid_of(config), [("one", 0)])
    states = []

    def look(*_: object) -> None:
        states.append(ledger_of(spark, config).state_of(draw_id_of(config)))
        raise KeyboardInterrupt

    monkeypatch.setattr("vdr_spark.collect.stage.count_bounded", look)
    with pytest.raises(KeyboardInterrupt):
        collect(spark, config)
    assert states == [State.RESERVED]


def test_overspending_reads_no_data(spark: SparkSession, collected: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vdr_spark.collect.stage.count_bounded", lambda *_: pytest.fail("data were read"))
    with pytest.raises(BudgetExceeded):
        collect(spark, collected("name=again"))


def test_two_processes_do_not_collect_the_same_draw_at_once(spark: SparkSession, small_config: Small) -> None:
    config = small_config()
    write_pings(config.input.path, grid_of(config), [("one", 0)])
    with (
        exclusive(output_of(config).lock(draw_id_of(config))),
        pytest.raises(Busy, match="another process is collecting"),
    ):
        collect(spark, config)


def test_a_wrong_schema_books_nothing(spark: SparkSession, small_config: Small) -> None:
    config = small_config()
    spark.range(3).write.parquet(config.input.path)
    with pytest.raises(InvalidInput, match="user_id"):
        collect(spark, config)
    assert ledger_of(spark, config).entries() == []


def test_a_damaged_file_is_a_sentence_and_the_reservation_is_kept(spark: SparkSession, small_config: Small) -> None:
    config = small_config()
    write_pings(config.input.path, grid_of(config), [("CANARY", 3)] * 50)
    whole = (Path(config.input.path) / "part.parquet").read_bytes()
    damaged = Path(config.input.path) / "torn.parquet"
    damaged.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidInput, match=r"torn\.parquet cannot be read") as refusal:
        collect(spark, config)
    assert "CANARY" not in str(refusal.value)
    damaged.unlink()
    assert collect(spark, config) is True
    assert ledger_of(spark, config).account(config.dataset).committed == config.privacy.epsilon


def tear(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


@pytest.mark.parametrize("damage", [Path.unlink, tear], ids=["missing", "corrupt"])
def test_a_session_that_passes_over_bad_files_does_not_do_so_here(
    spark: SparkSession, small_config: Small, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    """Were a file left out, and there again when a task is run again, one user could enter with two sets of pings."""
    config = small_config("input={dataframe: people}", "synth=null")
    for name in ("whole", "bad"):
        write_pings(f"{tmp_path}/pings", grid_of(config), [(name, 3)])
        (tmp_path / "pings/part.parquet").rename(tmp_path / f"pings/{name}.parquet")
    frame = spark.read.parquet(f"{tmp_path}/pings")
    damage(tmp_path / "pings/bad.parquet")
    passing_over = {f"spark.sql.files.ignore{kind}Files": "true" for kind in ("Corrupt", "Missing")}
    with settings_of_spark(spark, passing_over):
        assert frame.select("user_id").collect() == [("whole",)]  # which is what the session is set to do
        with pytest.raises(InvalidInput, match="cannot be read: it is damaged"):
            stage.collect(spark, draws_of(spark, config), frame)
        assert {key: spark.conf.get(key) for key in passing_over} == passing_over  # left as they were
    assert not draws_of(spark, config).cells.is_stored()


def test_seeded_noise_is_refused_over_pings_that_are_peoples(spark: SparkSession, small_config: Small) -> None:
    config = small_config("privacy.test_seed=5")
    write_pings(config.input.path, grid_of(config), [("anna", 3)])
    with pytest.raises(InvalidConfig, match=r"privacy.test_seed: is for pings that `vdr synth` wrote"):
        collect(spark, config)
    assert not Path(config.output, "tables").exists()


def test_the_same_seed_gives_the_same_tensor_however_many_tasks_there_are(
    spark: SparkSession, small_config: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    config = small_config("privacy.test_seed=5", "privacy.k=3", "privacy.budget=100")
    rows = [
        (int(user), int(cell)) for user, cell in zip(rng.integers(0, 20, 400), rng.integers(0, 2048, 400), strict=True)
    ]
    write_pings(config.input.path, grid_of(config), rows)
    mark_as_generated(config.input.path)
    collect(spark, config)
    other = small_config("privacy.test_seed=5", "privacy.k=3", "privacy.budget=100", "name=other")
    monkeypatch.setattr(stage, "tasks_for", tasks_for)  # so few pings are worth one
    collect(spark, other)
    assert len(noisy_files(spark, config)) > len(noisy_files(spark, other)) == 1
    assert (stored_noise(spark, config) == stored_noise(spark, other)).all()


def test_weights_use_every_ping_and_sum_to_k(spark: SparkSession, small_config: Small) -> None:
    # Noise is in units of a weight here: the larger epsilon makes it zero there too.
    config = small_config(
        *NO_NOISE, "privacy.epsilon=1e13", "privacy.budget=1e13", "privacy.k=6", "privacy.bounding=weight"
    )
    heavy = [("heavy", 7)] * 30 + [("heavy", 256 + 7)] * 10
    write_pings(config.input.path, grid_of(config), [*heavy, ("light", 512), ("light", 512)])
    collect(spark, config)
    counts = stored_noise(spark, config).reshape(-1)
    np.testing.assert_allclose(counts[[7, 256 + 7, 512]], [6 * 30 / 40, 6 * 10 / 40, 2], atol=1e-3)
    assert counts[[7, 256 + 7]].sum() <= 6
    row = spark.read.format("delta").load(output_of(config).table("noisy_slices")).first()
    assert row is not None
    assert row.units_per_ping == config.privacy.units_per_ping == 2**20


def test_noise_matches_the_unit_of_weights(spark: SparkSession, small_config: Small) -> None:
    """In whole units the scale is k units / epsilon, so every residue occurs: noise of whole pings would show."""
    config = small_config("privacy.bounding=weight")
    write_pings(config.input.path, grid_of(config), [("one", 0)])
    collect(spark, config)
    rows = spark.read.format("delta").load(output_of(config).table("noisy_slices")).collect()
    values = np.array([decode_counts(row["counts"], row["bytes_per_count"]) for row in rows]).ravel()
    assert np.abs(values).mean() / config.privacy.units_per_ping == pytest.approx(float(scale_of(config)), rel=0.2)
    assert len(np.unique(values % config.privacy.units_per_ping)) > 0.9 * len(values)


TWO_CITIES = (
    "region=null",
    "regions={north: {south: 30, west: 10, north: 31, east: 11}, south: {south: 20, west: 10, north: 21, east: 11}}",
    "synth=null",
)


def test_the_bound_holds_over_all_regions_together(spark: SparkSession, small_config: Small) -> None:
    config = small_config(*NO_NOISE, *TWO_CITIES, "privacy.k=10")
    north, south = make_plan(config).grids
    shared = [("traveller", cell) for cell in range(0, 2000, 50)]  # 40 pings in each city
    write_pings(config.input.path, north, [*shared, ("northerner", 5)])
    os.rename(f"{config.input.path}/part.parquet", f"{config.input.path}/north.parquet")
    write_pings(config.input.path, south, [*shared, ("southerner", 6), ("southerner", 6)])
    collect(spark, config)
    files = noisy_files(spark, config)
    releases = draws_of(spark, config).releases()
    tensors = {plan.region.name: read_region(files, plan).reshape(-1) for plan in releases}
    assert tensors["north"][5] == 1
    assert tensors["south"][6] == 2
    kept = {name: tensor.sum() for name, tensor in tensors.items()}
    assert kept["north"] + kept["south"] == 10 + 1 + 2  # ten of the traveller's, not ten in each city
    assert kept["north"] > 1  # ten of eighty without one in the north: less than once in a thousand
    assert kept["south"] > 2
    account = ledger_of(spark, config).account(config.dataset)
    assert account.committed == config.privacy.epsilon  # one price for both


def test_both_readers_keep_the_same_pings(spark: SparkSession, small_config: Small) -> None:
    rng = np.random.default_rng(2)
    users, cells = rng.integers(0, 20, 500), rng.integers(0, 2048, 500)
    tensors = []
    for reader in ("direct", "spark"):
        config = small_config("privacy.test_seed=5", "privacy.k=3", "privacy.budget=100", f"input.reader={reader}")
        other = config.model_copy(update={"name": reader})
        if not tensors:
            write_pings(config.input.path, grid_of(config), list(zip(users.tolist(), cells.tolist(), strict=True)))
            mark_as_generated(config.input.path)
        collect(spark, other)
        tensors.append(stored_noise(spark, other))
    assert (tensors[0] == tensors[1]).all()
