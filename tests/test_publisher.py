"""The façade: one object from YAML, from settings in Python, from a DataFrame or a table, to an audited release."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import vdr_spark
from tests.conftest import ROOT, small_overrides, write_pings
from tests.plans import draw_id_of, grid_of
from vdr_spark import Publisher, Release, ReleaseConfig
from vdr_spark.errors import InvalidConfig, InvalidInput

Small = Callable[..., ReleaseConfig]
# So large an epsilon that the noise is zero.
NO_NOISE = {"epsilon": 10**6, "accept_weak_promise": True, "k": 5, "total_pings": 6000}


def settings(config: ReleaseConfig, **changes: object) -> dict[str, Any]:
    """A small release as a person in a notebook would describe it."""
    named = {
        "name": "frame",
        "dataset": "people",
        "output": config.output,
        "region": {"center": config.region.center, "side_m": config.region.side_m} if config.region else None,
        "grid": {"cells_per_side": 16},
        "period": {"start": "2020-01-07", "end": "2020-01-08", "timezone": "America/Chicago"},
        "privacy": NO_NOISE,
        "denoise": {"model": "temporal"},
    }
    return named | changes


@pytest.fixture
def pings(small_config: Small) -> ReleaseConfig:
    """Pings of twenty users, nine of each in one cell, under names of a company's own."""
    config = small_config()
    write_pings(config.input.path or "", grid_of(config), [(user, 7) for user in range(20) for _ in range(9)])
    return config


def test_a_release_from_a_dataframe(spark: SparkSession, pings: ReleaseConfig) -> None:
    frame = spark.read.parquet(pings.input.path or "").withColumnRenamed("user_id", "device")
    publisher = Publisher.from_dataframe(
        frame.where(F.col("device") != "0"), "some-people", {"user_id": "device"}, **settings(pings)
    )
    assert "Every user" in publisher.explain()
    assert "DataFrame some-people" in publisher.explain()
    assert not Path(pings.output).exists()  # nothing was read or written so far
    release = publisher.release()
    assert isinstance(release, Release)
    assert (release.epsilon, release.k, release.dataset) == (Fraction(10**6), 5, "people")
    contents = publisher.pipeline.draws.cells.contents()
    assert contents is not None
    assert sum(contents.slice_sums) == 19 * 5  # nineteen users, five pings of each
    assert publisher.audit().holds
    assert publisher.budget.remaining == 0
    # The name stands for the rows: the same name is the same draw, and is not paid for twice.
    again = Publisher.from_dataframe(frame, "some-people", {"user_id": "device"}, **settings(pings))
    assert np.array_equal(again.release().counts, release.counts)
    assert again.budget.committed == 10**6


def test_an_audit_looks_anew(spark: SparkSession, pings: ReleaseConfig) -> None:
    """What the publisher hashed when it released is not believed: the stored numbers may have been changed since."""
    frame = spark.read.parquet(pings.input.path or "")
    publisher = Publisher.from_dataframe(frame, "people", **settings(pings))
    publisher.release()
    file = Path(publisher.pipeline.draws.cells.files()[0])
    stored = pq.ParquetFile(file).read()
    first, *others = stored["counts"].to_pylist()
    counts = [bytes([first[0] ^ 1]) + first[1:], *others]
    pq.write_table(stored.set_column(stored.column_names.index("counts"), "counts", pa.array(counts)), file)
    (file.parent / f".{file.name}.crc").unlink()
    failed = [finding.check for finding in publisher.audit().findings if finding.holds is False]
    assert "noisy tensor" in failed


def test_a_person_may_vouch_for_a_plan(spark: SparkSession, pings: ReleaseConfig) -> None:
    frame = spark.read.parquet(pings.input.path or "").limit(10**6)
    publisher = Publisher.from_dataframe(frame, "vouched", trust_plan=True, timezone="UTC", **settings(pings))
    assert publisher.release().counts.sum() > 0


def test_a_dataframe_that_may_not_give_the_same_rows_twice_is_refused(
    spark: SparkSession, pings: ReleaseConfig
) -> None:
    frame = spark.read.parquet(pings.input.path or "")
    for doubtful in (frame.where(F.rand() < 0.5), frame.limit(9)):
        publisher = Publisher.from_dataframe(doubtful, "doubtful", **settings(pings))
        with pytest.raises(InvalidInput, match=r"input\.trust_plan"):
            publisher.release()
        assert publisher.budget.granted == 0  # refused before anything was reserved


def test_a_release_from_a_table_by_its_name(spark: SparkSession, pings: ReleaseConfig) -> None:
    spark.read.parquet(pings.input.path or "").createOrReplaceTempView("pings_of_a_company")
    publisher = Publisher.from_table(spark, "pings_of_a_company", **settings(pings))
    release = publisher.release()
    assert release.counts.sum() == pytest.approx(6000, rel=1e-3)
    report = publisher.audit()
    assert report.holds
    # There is no noise that could be measured, which is not called right.
    assert {finding.check: finding.holds for finding in report.findings if finding.holds is not True} == {"noise": None}


def test_a_dataframe_is_named_and_handed_over(spark: SparkSession, pings: ReleaseConfig) -> None:
    config = ReleaseConfig(**settings(pings, input={"dataframe": "forgotten"}))
    with pytest.raises((InvalidConfig, InvalidInput), match="forgotten"):
        Publisher(config, spark).release()


def test_from_yaml_with_overrides(tmp_path: Path) -> None:
    publisher = Publisher.from_yaml(ROOT / "conf/demo.yaml", *small_overrides(tmp_path), "privacy.epsilon=2")
    assert publisher.config.privacy.epsilon == 2
    assert draw_id_of(publisher.config) in repr(publisher)
    assert publisher.explain()._repr_html_().startswith("<pre>")


def test_everything_a_notebook_needs_is_exported() -> None:
    for name in vdr_spark.__all__:
        assert getattr(vdr_spark, name) is not None
    assert vdr_spark.__version__
    assert not hasattr(vdr_spark, "no_such_name")
