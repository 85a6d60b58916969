"""Where `vdr release` is killed: named points, in the order in which the pipeline comes by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class AtCall:
    """Just before or after a call of a function (`module:name`), in the driver or in one of Spark's Python workers.

    `call` counts the calls of all processes; where `about` is given, only those with an argument that contains it, or
    whose place does.
    What happens there is that the whole process group is killed, or that the call raises an exception, or hangs.
    """

    name: str
    when: Literal["before", "after"]
    function: str
    call: int = 1
    about: str = ""
    then: Literal["kill", "fail", "hang"] = "kill"


@dataclass(frozen=True)
class AtFile:
    """When as many files as `count` that match `pattern` are seen in the output folder, while Java goes on writing."""

    name: str
    pattern: str
    count: int = 1
    delay: float = 0.0  # seconds


@dataclass(frozen=True)
class AtTime:
    """So many seconds after the start, wherever that is."""

    name: str
    seconds: float


Point = AtCall | AtFile | AtTime

COLLECT, TENSOR = "vdr_spark.collect.stage", "vdr_spark.collect.noisy_tensor:NoisyTensor"
LEDGER, TABLES = "vdr_spark.privacy.ledger:Ledger", "vdr_spark.storage.tables"
DENOISE, REFINE, PUBLISH = "vdr_spark.denoise.stage", "vdr_spark.refine", "vdr_spark.release.publish"
CREATE, APPEND = f"{TABLES}:create_if_missing", f"{TABLES}:append_once"
WRITE_FILES = f"{TABLES}:stage_files"
# Commits without Spark. Of the ledger: the table itself, what was granted, reserved and spent.
COMMIT, MAKE_LIVE = "vdr_spark.storage.store_log:StoreLog.commit", "vdr_spark.storage.store_log:StoreLog.append_once"
MADE, GRANTED, RESERVED, SPENT = 1, 2, 3, 4
WRITE_JSON, WRITE_TENSOR = "vdr_spark.storage.files:write_json", "vdr_spark.storage.tensor_file:write_tensor"
RENAME, WRITE_ROW = "fsspec.implementations.local:LocalFileSystem.mv", "pyarrow.parquet.core:ParquetWriter.write_batch"
DRAW_NOISE = "vdr_spark.privacy.discrete_laplace:DiscreteLaplace.sample"
CELL_FILES, CELLS_LIVE = "vdr_spark.release.cell_files", "vdr_spark.storage.delta_files:append_files_once"
PYRAMID_FILES, IN_PYRAMID = "vdr_spark.release.pyramid_files", "tables/pyramid"
IN_LEDGER, IN_SLICES, IN_CELLS, IN_RELEASES = "tables/ledger", "tables/noisy_slices", "tables/cells", "tables/releases"
OF_HEAD, OF_STATEMENT = "head.json.tmp", "statements/"
SLICES_OF_SMALL = 8
BEGUN = "tables/noisy_slices/draw_id=*/*/_temporary/**/part-*.parquet"


def commit(table: str, version: int) -> str:
    return f"tables/{table}/_delta_log/{version:020d}.json"


START = (
    AtTime("half a second after the start", 0.5),
    AtTime("three seconds after the start", 3),
    AtCall("session started", "after", "vdr_spark.spark.session:spark_session"),
)

RESERVE = (
    AtCall("collect begins", "before", f"{COLLECT}:collect"),
    AtCall("before looking for a tensor", "before", f"{TENSOR}.is_stored"),
    AtCall("before looking at the input", "before", "vdr_spark.collect.source:open_source"),
    AtCall("before the reservation", "before", f"{LEDGER}.reserve"),
    AtCall("before the ledger is made", "before", COMMIT, call=MADE, about=IN_LEDGER),
    AtFile("ledger: a log without a commit", "tables/ledger/_delta_log"),
    AtFile("ledger appears", commit("ledger", 0)),
    AtCall("ledger made and empty", "after", COMMIT, call=MADE, about=IN_LEDGER),
    AtFile("a row of the ledger, not committed", "tables/ledger/entry-*.parquet"),
    AtFile("budget granted, seen from outside", commit("ledger", 1)),
    AtCall("budget granted, nothing reserved", "after", COMMIT, call=GRANTED, about=IN_LEDGER),
    AtCall("before the reservation is written", "before", COMMIT, call=RESERVED, about=IN_LEDGER),
    AtFile("reserved, seen from outside", commit("ledger", 2)),
    AtCall("reserved, not read back", "after", COMMIT, call=RESERVED, about=IN_LEDGER),
    AtCall("reserved, the head not told", "before", RENAME, call=2, about=OF_HEAD),
    AtCall("reserved", "after", f"{LEDGER}.reserve"),
)

DRAW = (
    AtCall("before the tensor is stored", "before", f"{TENSOR}.store"),
    AtCall("orphans removed before the draw", "after", f"{TENSOR}.remove_orphans"),
    AtFile("noisy_slices: a log without a commit", "tables/noisy_slices/_delta_log"),
    AtFile("noisy_slices appears", commit("noisy_slices", 0)),
    AtCall("noisy_slices made and empty", "after", CREATE, about=IN_SLICES),
    AtCall("before noise is drawn", "before", WRITE_FILES, about=IN_SLICES),
    AtCall("worker: first pings located", "after", "vdr_spark.collect.locate:locate"),
    AtCall("worker: pings in buckets", "after", "vdr_spark.collect.buckets:pack_buckets"),
    AtCall("worker: first counts added up", "after", "vdr_spark.collect.packed_counts:add_up"),
    AtCall("worker: counts of a second task", "after", "vdr_spark.collect.packed_counts:add_up", call=2),
    AtCall("worker: before the first noise", "before", DRAW_NOISE),
    AtCall("worker: one slice has noise", "after", DRAW_NOISE),
    AtCall("worker: three slices have noise", "after", DRAW_NOISE, call=3),
    AtCall("worker: half of the slices have noise", "after", DRAW_NOISE, call=4),
    AtCall("worker: before the last noise", "before", DRAW_NOISE, call=SLICES_OF_SMALL),
    AtCall("worker: all slices have noise", "after", DRAW_NOISE, call=SLICES_OF_SMALL),
    AtFile("first file of noise begun", BEGUN),
    AtFile("first file of noise, a moment later", BEGUN, delay=0.1),
    AtFile("second file of noise begun", BEGUN, count=2),
    AtFile("a file of noise is whole, and not committed", "tables/noisy_slices/draw_id=*/*/part-*.parquet"),
    AtCall("all noise is written, none of it committed", "before", MAKE_LIVE, about=IN_SLICES),
    AtFile("noise committed, seen from outside", commit("noisy_slices", 1)),
    AtCall("noise committed, orphans not looked for", "after", MAKE_LIVE, about=IN_SLICES),
    AtCall("noise committed, orphans removed", "after", f"{TENSOR}.remove_orphans", call=2),
    AtCall("tensor stored", "after", f"{TENSOR}.store"),
    AtCall("before it is booked as spent", "before", f"{LEDGER}.mark_spent"),
    AtCall("before spent is written", "before", COMMIT, call=SPENT, about=IN_LEDGER),
    AtFile("spent, seen from outside", commit("ledger", 3)),
    AtCall("spent, not read back", "after", COMMIT, call=SPENT, about=IN_LEDGER),
    AtCall("spent, the head not told", "before", RENAME, call=3, about=OF_HEAD),
    AtCall("collect is done", "after", f"{COLLECT}:collect"),
)

POST_PROCESS = (
    AtCall("denoise begins", "before", f"{DENOISE}:denoise"),
    AtCall("before the tensor is read", "before", "vdr_spark.denoise.petastorm_reader:read_region"),
    AtCall("tensor read", "after", "vdr_spark.denoise.petastorm_reader:read_region"),
    AtCall("before fusion", "before", "vdr_spark.denoise.estimation.fusion:Fusion.apply"),
    AtCall("denoised, not written", "after", f"{DENOISE}:denoise_tensor"),
    AtCall("notes of denoising under a temporary name", "before", RENAME, about="denoised.json.tmp"),
    AtCall("notes of denoising written", "after", WRITE_JSON, about="denoised.json"),
    AtCall("denoised tensor half written", "after", WRITE_ROW, call=4),
    AtCall("denoised tensor under a temporary name", "before", RENAME, about="denoised.parquet.tmp"),
    AtCall("denoised tensor written", "after", WRITE_TENSOR, about="denoised.parquet"),
    AtCall("refine begins", "before", f"{REFINE}:refine"),
    AtCall("kept pings estimated", "after", f"{REFINE}:estimate_kept"),
    AtCall("notes of refining under a temporary name", "before", RENAME, about="refined.json.tmp"),
    AtCall("notes of refining written", "after", WRITE_JSON, about="refined.json"),
    AtCall("refined tensor half written", "after", WRITE_ROW, call=SLICES_OF_SMALL + 4),
    AtCall("refined tensor under a temporary name", "before", RENAME, about="refined.parquet.tmp"),
    AtCall("refine is done", "after", f"{REFINE}:refine"),
)

PUBLICATION = (
    AtCall("publish begins", "before", f"{PUBLISH}:publish"),
    AtFile("withdrawals: a log without a commit", "tables/withdrawals/_delta_log"),
    AtCall("before cells is made", "before", CREATE, about=IN_CELLS),
    AtFile("cells: a log without a commit", "tables/cells/_delta_log"),
    AtFile("cells appears", commit("cells", 0)),
    AtCall("cells made and empty", "after", CREATE, about=IN_CELLS),
    AtCall("before the first cells", "before", f"{CELL_FILES}:write_cell_files"),
    AtCall("a block of cells, its file not whole", "after", f"{CELL_FILES}:block_rows"),
    AtFile("a file of cells that is not live", "tables/cells/release_id=*/part-*.parquet"),
    AtCall("all files of cells, none of them live", "after", f"{CELL_FILES}:write_cell_files"),
    AtFile("cells committed, seen from outside", commit("cells", 1)),
    AtCall("cells committed, release not published", "after", CELLS_LIVE, about=IN_CELLS),
    AtFile("pyramid: a log without a commit", "tables/pyramid/_delta_log"),
    AtCall("pyramid made and empty", "after", CREATE, about=IN_PYRAMID),
    AtCall("a block of sums, its file not whole", "after", f"{PYRAMID_FILES}:block_rows"),
    AtCall("all files of sums, none of them live", "after", f"{PYRAMID_FILES}:write_pyramid_files"),
    AtCall("sums committed, not checked", "after", CELLS_LIVE, about=IN_PYRAMID),
    AtCall("sums checked, release not published", "after", "vdr_spark.release.pyramid_check:check_pyramid"),
    AtFile("releases: a log without a commit", "tables/releases/_delta_log"),
    AtCall("releases made and empty", "after", CREATE, about=IN_RELEASES),
    AtFile("a row of releases, not committed", "tables/releases/part-*.parquet"),
    AtFile("published, seen from outside", commit("releases", 1)),
    AtCall("published", "after", APPEND, about=IN_RELEASES),
    AtCall("published, no statement yet", "before", RENAME, about=OF_STATEMENT),
    AtCall("statement as JSON, no page yet", "before", RENAME, call=2, about=OF_STATEMENT),
    AtCall("publish is done", "after", f"{PUBLISH}:publish"),
)

POINTS: tuple[Point, ...] = (*START, *RESERVE, *DRAW, *POST_PROCESS, *PUBLICATION)

_BY_NAME = {point.name: point for point in POINTS}

A_TASK_FAILS = AtCall("worker: a task fails after it has drawn noise", "after", DRAW_NOISE, call=6, then="fail")
A_TASK_HANGS = AtCall("worker: a task hangs after it has drawn noise", "after", DRAW_NOISE, call=6, then="hang")
COMMITTED = _BY_NAME["noise committed, orphans not looked for"]

# One release killed at these, one after the other, and continued each time.
BEFORE_THE_DRAW = tuple(
    _BY_NAME[name]
    for name in (
        "worker: half of the slices have noise",
        "second file of noise begun",
    )
)
AFTER_THE_DRAW = tuple(
    _BY_NAME[name]
    for name in (
        "denoised tensor half written",
        "cells committed, release not published",
    )
)
