"""A tensor that is not whole is refused by every stage that would read it, and is never drawn again."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.conftest import ROOT, small_overrides, write_pings
from tests.plans import collect, grid_of, ledger_of, noisy_files, output_of, release_id_of, run_stage
from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.errors import LedgerConflict


@pytest.fixture(scope="module")
def drawn(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> ReleaseConfig:
    config = load_config(ROOT / "conf/demo.yaml", small_overrides(tmp_path_factory.mktemp("half")))
    write_pings(config.input.path, grid_of(config), [("one", 0)])
    collect(spark, config)
    return config


@pytest.fixture
def _put_back(drawn: ReleaseConfig, tmp_path: Path) -> Iterator[None]:
    table = Path(output_of(drawn).table("noisy_slices"))
    shutil.copytree(table, tmp_path / "whole")
    yield
    shutil.rmtree(table)
    shutil.copytree(tmp_path / "whole", table)


def a_file(spark: SparkSession, config: ReleaseConfig) -> Path:
    return Path(unquote(urlparse(noisy_files(spark, config)[0]).path))


def lose_a_file(spark: SparkSession, config: ReleaseConfig) -> None:
    a_file(spark, config).unlink()


def cut_a_file_short(spark: SparkSession, config: ReleaseConfig) -> None:
    file = a_file(spark, config)
    file.write_bytes(file.read_bytes()[:-200])
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)  # or Hadoop's checksum would notice first


def lose_slices(spark: SparkSession, config: ReleaseConfig) -> None:
    """As if a commit had come by without them."""
    path = output_of(config).table("noisy_slices")
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.appendOnly' = 'false')")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE slice >= 5")


def commit_a_slice_again(spark: SparkSession, config: ReleaseConfig) -> None:
    """As if a second drawing had been committed."""
    path = output_of(config).table("noisy_slices")
    first = spark.read.format("delta").load(path).where("slice = 3")
    again = first.withColumn("counts", F.to_binary(F.reverse(F.hex("counts")), F.lit("hex")))
    spark.createDataFrame(again.collect(), again.schema).write.format("delta").mode("append").save(path)


@pytest.mark.usefixtures("_put_back")
@pytest.mark.parametrize("damage", [lose_a_file, cut_a_file_short, lose_slices, commit_a_slice_again])
def test_a_half_written_tensor_is_never_read(
    damage: Callable[[SparkSession, ReleaseConfig], None], spark: SparkSession, drawn: ReleaseConfig
) -> None:
    damage(spark, drawn)
    entries = ledger_of(spark, drawn).entries()
    for stage in ("collect", "denoise"):
        with pytest.raises(LedgerConflict, match="is damaged"):
            run_stage(stage, spark, drawn)
    assert not Path(output_of(drawn).work(release_id_of(drawn)).root).exists()
    assert ledger_of(spark, drawn).entries() == entries
