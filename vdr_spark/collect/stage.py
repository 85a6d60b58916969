"""The collect stage: from pings to the stored noisy tensor, booked before the data are read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

from vdr_spark.collect.bounding import SampleKey, bounding_of
from vdr_spark.collect.counting import count_bounded
from vdr_spark.collect.failures import without_data
from vdr_spark.collect.noisy_slices import add_noise, checksum, is_stored, remove_strays, store_noisy_slices
from vdr_spark.collect.source import Source, source_of
from vdr_spark.collect.total import settled, store_total, workspace_of_draw
from vdr_spark.config import Draw, ReleaseConfig
from vdr_spark.cost import tasks_for
from vdr_spark.errors import InvalidConfig, InvalidInput, LedgerConflict, VdrError
from vdr_spark.pings.layouts import LAYOUTS
from vdr_spark.privacy.accounting import Entry, State
from vdr_spark.privacy.ledger import Ledger
from vdr_spark.privacy.mechanism import mechanism_of
from vdr_spark.spark.session import settings_of_spark
from vdr_spark.storage.locks import exclusive
from vdr_spark.storage.workspace import Workspace
from vdr_spark.synth.generate import is_generated


def collect(spark: SparkSession, config: ReleaseConfig) -> bool:
    """Draw and store the noisy tensor of a configuration; False where it was there already.

    The order is the promise: the schema of the input is checked (names and types, no row), the epsilon is reserved,
    only then are pings read, and the tensor is stored before anything else may read it. A run that was killed is
    taken up by the next one under the same reservation.
    """
    workspace, ledger = Workspace.of(config), Ledger.of(spark, config)
    with exclusive(
        f"{workspace.root}/work/{workspace.draw_id}.lock",
        busy=f"another process is collecting draw {workspace.draw_id} right now; wait for it, then run this again",
    ):
        if is_stored(spark, workspace, layers_of(config)):
            for draw in config.draws:
                _book(ledger, spark, config, draw)
            return False
        _refuse_seeds_over_people(config)
        source = source_of(spark, config.input, config.grids)
        if ledger.reserve(config) is State.SPENT:
            raise LedgerConflict(
                f"draw {workspace.draw_id} was made and paid for, but its noisy tensor is no longer in "
                f"{workspace.root}. Bring the folder back, or give the release another `name`: a new draw costs "
                f"epsilon {config.privacy.cells_epsilon} again."
            )
        with _in_sentences(config), settings_of_spark(spark, source.arrow_settings):
            config = _with_total(spark, source, config, ledger)
            noisy = _noisy(spark, source, config)
            store_noisy_slices(noisy, workspace, config.privacy.unit, config.privacy.protected)
        _book(ledger, spark, config, config.draws[-1])
        return True


def require_booked(spark: SparkSession, config: ReleaseConfig) -> Entry:
    """The ledger's entry of the cells' draw. Every draw must be booked as spent, with the numbers that are stored."""
    ledger = Ledger.of(spark, config)
    for draw in config.draws:
        workspace, spent = workspace_of_draw(config, draw), ledger.spending_of(draw)
        if spent is None or spent.evidence not in ("", checksum(spark, workspace)):
            raise LedgerConflict(
                f"draw {draw.draw_id}, as it is stored, is not booked as spent in {workspace.ledger}; "
                "run `vdr collect` first"
            )
    assert spent is not None
    return spent


def layers_of(config: ReleaseConfig) -> int:
    """Slices of all regions together."""
    return sum(grid.slices for grid in config.grids)


def _refuse_seeds_over_people(config: ReleaseConfig) -> None:
    if not config.privacy.protected and not is_generated(config.input.path):
        raise InvalidConfig(
            f"privacy.test_seed: is for pings that `vdr synth` wrote, and those at {config.input.path} are not. Anyone "
            "can compute seeded noise and take it away again. Remove the seed"
        )


def _with_total(spark: SparkSession, source: Source, config: ReleaseConfig, ledger: Ledger) -> ReleaseConfig:
    """The configuration with N in it: declared, or estimated now or by an earlier run."""
    if config.privacy.estimate_total is None:
        return config
    # Another release of the same pings may want the same estimate; it is drawn once, for both.
    with exclusive(f"{Workspace.of(config).root}/work/{config.total_id}.lock"):
        if not settled(spark, config).privacy.total_is_known:
            if ledger.state_of(config.total_id) is State.SPENT:
                raise LedgerConflict(
                    f"the number of pings ({config.total_id}) was estimated and paid for, but is no longer in "
                    f"{config.output}. Bring the folder back, or give another privacy.estimate_total.share, which is "
                    "another estimate and is paid for again."
                )
            store_total(source, config, _partitions(spark, config))
        _book(ledger, spark, config, config.draws[0])
    return settled(spark, config)


def _book(ledger: Ledger, spark: SparkSession, config: ReleaseConfig, draw: Draw) -> None:
    """Say of a draw whose numbers are stored that it was made, and what came of it."""
    workspace = workspace_of_draw(config, draw)
    remove_strays(spark, workspace)
    ledger.mark_spent(config, draw, checksum(spark, workspace))


def _noisy(spark: SparkSession, source: Source, config: ReleaseConfig) -> DataFrame:
    """Every slice with its noise, as a plan: the pings are read, and noise is drawn, when it is written."""
    privacy, grids, seed = config.privacy, config.grids, config.privacy.test_seed
    partitions = _partitions(spark, config)
    key = SampleKey.drawn() if seed is None else SampleKey.seeded(seed)
    bounding = bounding_of(privacy, sum(grid.size for grid in grids), key)
    packed = count_bounded(source, grids, bounding, key, partitions)
    return add_noise(packed, layers_of(config), grids[0].cells_per_side ** 2, mechanism_of(privacy), partitions, seed)


def _partitions(spark: SparkSession, config: ReleaseConfig) -> int:
    """Tasks that bound users: by the number of pings as far as that is known."""
    at_least = int(spark.conf.get("spark.sql.shuffle.partitions") or 200)
    return tasks_for(config.privacy.total if config.privacy.total_is_known else 0, at_least)


@contextmanager
def _in_sentences(config: ReleaseConfig) -> Iterator[None]:
    try:
        yield
    except VdrError:
        raise
    except Exception as problem:  # of whatever kind: its words, or those of what it came after, may quote a row
        raise _unreadable(problem, config) from None


def _unreadable(problem: Exception, config: ReleaseConfig) -> Exception:
    """A damaged file is the user's to mend, anything else is a defect; Spark's account of either may quote data."""
    text = str(problem)
    if not re.search("FAILED_READ_FILE|CANNOT_READ_FILE_FOOTER|PARQUET_COLUMN_DATA_TYPE_MISMATCH", text):
        return without_data(problem)
    file = re.search(r"(?:file:|\w+://)\S+?\.(?:parquet|csv|txt|gz)\b", text)
    # Where a file, or a folder such as user_id=anna, is named after its user, the name is nobody's to print.
    tells = LAYOUTS[config.input.layout].user_in_file_name is not None or (file is not None and "=" in file[0])
    which = f"a file in {config.input.path}" if file is None or tells else file[0]
    return InvalidInput(
        f"input.path: {which} cannot be read: it is damaged, or its columns have other types than the other files'. "
        "Mend or remove it and run the same command again; the epsilon stays reserved and is not taken twice."
    )
