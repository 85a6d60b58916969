"""Noise on every cell, and the one stored copy of the noisy tensor.

Noise is drawn inside the task that writes a slice. All slices become readable in one Delta commit, or none does, and
that commit is remembered by the draw's name: whatever is retried, at most one drawing of a cell can ever be read.
What a killed or losing attempt left in the folder is removed before noise is drawn and again after the commit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from vdr_spark.collect.packed_counts import sum_packed
from vdr_spark.errors import LedgerConflict
from vdr_spark.privacy.mechanism import Mechanism
from vdr_spark.privacy.randomness import secure_words, seeded_words
from vdr_spark.storage.files import filesystem
from vdr_spark.storage.tables import NOISY_SLICES, append_once, create_if_missing, has_commit, read_part
from vdr_spark.storage.workspace import Workspace
from vdr_spark.workers import ArrowTask, in_worker

_NOISY = pa.schema([("slice", pa.int32()), ("values", pa.list_(pa.int64()))])
_DIGESTS = pa.schema([("slice", pa.int32()), ("digest", pa.string())])


def add_noise(
    packed: DataFrame, layers: int, cells_per_layer: int, mechanism: Mechanism, partitions: int, seed: int | None
) -> DataFrame:
    """Packed counts to `slice, values`: every slice of every region, every cell with its own noise.

    The result must be written before it is read: evaluating it twice draws twice.
    """
    spark = packed.sparkSession
    empty = spark.range(layers).select(
        F.col("id").cast("int").alias("layer"), F.lit(b"").alias("cells"), F.lit(b"").alias("counts")
    )
    by_layer = packed.unionByName(empty).repartition(min(layers, partitions), "layer")
    add = in_worker(_noise_adder(cells_per_layer, mechanism, seed))
    return by_layer.mapInArrow(add, "slice int, values array<bigint>")


def _noise_adder(cells_per_slice: int, mechanism: Mechanism, seed: int | None) -> ArrowTask:
    def add(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # In order of slices, never of arrival: which slice came first would tell which ones hold pings.
        for number, counts in sorted(sum_packed(batches, cells_per_slice).items()):
            words = secure_words if seed is None else seeded_words(seed, number)
            noisy = counts + mechanism.sample(cells_per_slice, words)
            values = pa.ListArray.from_arrays(np.array([0, cells_per_slice], np.int32), noisy)
            yield pa.RecordBatch.from_arrays([pa.array([number], pa.int32()), values], schema=_NOISY)

    return add


def store_noisy_slices(noisy: DataFrame, workspace: Workspace, unit: int, protected: bool) -> None:
    """Evaluate `noisy` once and make it readable under the workspace's draw, all slices at once."""
    spark, path = noisy.sparkSession, workspace.table(NOISY_SLICES.name)
    remove_strays(spark, workspace)
    create_if_missing(spark, path, NOISY_SLICES)
    draw_id, is_protected = F.lit(workspace.draw_id).alias("draw_id"), F.lit(protected).alias("protected")
    named = noisy.select(draw_id, "slice", "values", F.lit(unit).cast("bigint").alias("unit"), is_protected)
    try:
        append_once(named, path, NOISY_SLICES, f"draw:{workspace.draw_id}")
    finally:
        remove_strays(spark, workspace)


def is_stored(spark: SparkSession, workspace: Workspace, layers: int) -> bool:
    """Whether the draw's tensor is there, whole. A tensor with slices missing or twice is refused, never used."""
    rows = read_part(spark, workspace.table(NOISY_SLICES.name), NOISY_SLICES, workspace.draw_id)
    found = _slices_of(rows, workspace) if rows is not None else []
    if found and found != list(range(layers)):
        raise LedgerConflict(
            f"the noisy tensor of draw {workspace.draw_id} in {workspace.root} is damaged: {len(found)} slices stored, "
            f"{layers} expected. It cannot be drawn again; restore the table from Delta's history."
        )
    return bool(found)


def checksum(spark: SparkSession, workspace: Workspace) -> str:
    """SHA-256 of the draw's stored noisy numbers: of the slices' own sums, one a line, in order."""
    rows = read_part(spark, workspace.table(NOISY_SLICES.name), NOISY_SLICES, workspace.draw_id)
    assert rows is not None
    digests = rows.select("slice", "values").mapInArrow(in_worker(_digest_slices), "slice int, digest string")
    lines = sorted((row.slice, row.digest) for row in digests.collect())
    return hashlib.sha256("".join(f"{number} {digest}\n" for number, digest in lines).encode()).hexdigest()


def _digest_slices(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        values = (batch.column("values")[row].values.to_numpy().astype("<i8") for row in range(batch.num_rows))
        digests = pa.array([hashlib.sha256(numbers.tobytes()).hexdigest() for numbers in values], pa.string())
        yield pa.RecordBatch.from_arrays([batch.column("slice"), digests], schema=_DIGESTS)


def _slices_of(rows: DataFrame, workspace: Workspace) -> list[int]:
    try:
        return sorted(row.slice for row in rows.select("slice").collect())
    except (PySparkException, Py4JJavaError) as problem:
        if "FAILED_READ_FILE" not in str(problem):
            raise
        raise LedgerConflict(
            f"the noisy tensor of draw {workspace.draw_id} in {workspace.root} is damaged: a file of it is gone or "
            "cannot be read. It cannot be drawn again; bring the folder back as it was."
        ) from None


def live_files(spark: SparkSession, workspace: Workspace) -> list[str]:
    """URIs of the Parquet files that hold the draw's tensor: those Delta calls live, never the folder's listing."""
    rows = read_part(spark, workspace.table(NOISY_SLICES.name), NOISY_SLICES, workspace.draw_id)
    if rows is None:
        return []
    folder = f"/draw_id={workspace.draw_id}/"
    # Delta gives names as they are, where Spark's own tables give URIs: a folder may be called `100%25`.
    return sorted(file.replace("%", "%25") for file in rows.inputFiles() if folder in file)


def remove_strays(spark: SparkSession, workspace: Workspace) -> None:
    """Delete files of this draw that no commit refers to: another drawing of the same cells, half or whole.

    Called by every stage that touches the draw, because a task that lost a race may finish its file late.
    """
    fs, folder = filesystem(_folder(workspace))
    for file in strays(spark, workspace):
        fs.rm_file(file)
    if fs.exists(folder) and not fs.find(folder):
        fs.rm(folder, recursive=True)


def strays(spark: SparkSession, workspace: Workspace) -> list[str]:
    """Files of this draw that no commit refers to."""
    fs, folder = filesystem(_folder(workspace))
    fs.invalidate_cache()
    if not fs.exists(folder):
        return []
    table = workspace.table(NOISY_SLICES.name)
    if not DeltaTable.isDeltaTable(spark, table) and has_commit(table):
        return []  # a session that looked while the table was being made may not see it: touch nothing
    live = {unquote(file).rsplit("/", 1)[-1] for file in live_files(spark, workspace)}
    names = {file: file.rsplit("/", 1)[-1].removeprefix(".").removesuffix(".crc") for file in fs.find(folder)}
    return [file for file, name in names.items() if name not in live]


def _folder(workspace: Workspace) -> str:
    return f"{workspace.table(NOISY_SLICES.name)}/draw_id={workspace.draw_id}"
