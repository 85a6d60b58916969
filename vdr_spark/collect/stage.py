"""The collect stage: from pings to the stored noisy tensor, booked before the data are read."""

from __future__ import annotations

import re

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from vdr_spark.collect.bounding import SampleKey, bounding_of
from vdr_spark.collect.counting import count_bounded
from vdr_spark.collect.failures import without_data
from vdr_spark.collect.noisy_slices import add_noise, is_stored, remove_strays, store_noisy_slices
from vdr_spark.collect.source import Source, source_of
from vdr_spark.config import ReleaseConfig
from vdr_spark.cost import tasks_for
from vdr_spark.data.layouts import LAYOUTS
from vdr_spark.errors import InvalidInput, LedgerConflict
from vdr_spark.locks import exclusive
from vdr_spark.privacy.ledger import Ledger, State
from vdr_spark.privacy.mechanism import mechanism_of
from vdr_spark.session import settings_of_spark
from vdr_spark.workspace import Workspace


def collect(spark: SparkSession, config: ReleaseConfig) -> bool:
    """Draw and store the noisy tensor of a configuration; False where it was there already.

    The order is the promise: the schema of the input is checked (names and types, no row), the epsilon is reserved,
    only then are pings read, and the tensor is stored before anything else may read it. A run that was killed is
    taken up by the next one under the same reservation.
    """
    workspace = Workspace.of(config)
    ledger = Ledger(spark, workspace.ledger)
    with exclusive(
        f"{workspace.root}/work/{workspace.draw_id}.lock",
        busy=f"another process is collecting draw {workspace.draw_id} right now; wait for it, then run this again",
    ):
        if is_stored(spark, workspace, config.grids):
            remove_strays(spark, workspace)
            ledger.mark_spent(config)
            return False
        source = source_of(spark, config.input, config.grids)
        if ledger.reserve(config) is State.SPENT:
            raise LedgerConflict(
                f"draw {workspace.draw_id} was made and paid for, but its noisy tensor is no longer in "
                f"{workspace.root}. Bring the folder back, or give the release another `name`: a new draw costs "
                f"epsilon {config.privacy.epsilon} again."
            )
        try:
            with settings_of_spark(spark, source.arrow_settings):
                store_noisy_slices(
                    _noisy(spark, source, config), workspace, config.privacy.unit, config.privacy.protected
                )
        except (PySparkException, Py4JJavaError) as problem:
            raise _unreadable(problem, config) from None
        ledger.mark_spent(config)
        return True


def _noisy(spark: SparkSession, source: Source, config: ReleaseConfig) -> DataFrame:
    """Every slice with its noise, as a plan: the pings are read, and noise is drawn, when it is written."""
    privacy, grids, seed = config.privacy, config.grids, config.privacy.test_seed
    partitions = tasks_for(privacy.total_pings, int(spark.conf.get("spark.sql.shuffle.partitions") or 200))
    key = SampleKey.drawn() if seed is None else SampleKey.seeded(seed)
    bounding = bounding_of(privacy, sum(grid.size for grid in grids), key)
    packed = count_bounded(source, grids, bounding, key, partitions)
    return add_noise(packed, grids, mechanism_of(privacy), partitions, seed)


def _unreadable(problem: Exception, config: ReleaseConfig) -> Exception:
    """A damaged file is the user's to mend, anything else is a defect; Spark's account of either may quote data."""
    text = str(problem)
    if not re.search("FAILED_READ_FILE|CANNOT_READ_FILE_FOOTER|PARQUET_COLUMN_DATA_TYPE_MISMATCH", text):
        return without_data(problem)
    file = re.search(r"(?:file:|\w+://)\S+?\.(?:parquet|csv|txt|gz)\b", text)
    # Where a file is named after its user, its name is nobody's to print.
    tells = LAYOUTS[config.input.layout].user_in_file_name is not None
    which = f"a file in {config.input.path}" if file is None or tells else file[0]
    return InvalidInput(
        f"input.path: {which} cannot be read: it is damaged, or its columns have other types than the other files'. "
        "Mend or remove it and run the same command again; the epsilon stays reserved and is not taken twice."
    )
