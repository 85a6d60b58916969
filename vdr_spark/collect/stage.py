"""The collect stage: from pings to the stored noisy tensor, booked before the data are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from vdr_spark.collect.bounding import SampleKey, build_bounding
from vdr_spark.collect.counting import count_bounded
from vdr_spark.collect.draws import Draws
from vdr_spark.collect.exclusion import check_places
from vdr_spark.collect.failures import describe_failure
from vdr_spark.collect.noise import add_noise
from vdr_spark.collect.noisy_tensor import NoisyTensor
from vdr_spark.collect.sizes import BINS, OnePerUser
from vdr_spark.collect.source import Source, open_source
from vdr_spark.collect.total import Clip
from vdr_spark.config import ReleaseConfig
from vdr_spark.cost import CELLS_PER_TASK, PINGS_PER_TASK, SPARKS_DEFAULT, tasks_for
from vdr_spark.errors import InvalidConfig, LedgerConflict, VdrError
from vdr_spark.pings.readers import reading_settings, require_all_files
from vdr_spark.plan import Plan
from vdr_spark.privacy.bill import Bill, prepare_bill
from vdr_spark.privacy.entries import BudgetRequest, State
from vdr_spark.spark.preflight import require_workers
from vdr_spark.spark.query_loggers import mute_query_loggers
from vdr_spark.spark.settings import read_setting, settings_of_spark
from vdr_spark.storage.locks import exclusive
from vdr_spark.synth.generate import is_generated

# What is drawn beside the cells, by its purpose: in words, and the setting that asks for it.
_APART = {
    "total": ("the number of pings", "estimate_total"),
    "sizes": ("the histogram of pings per user", "size_histogram"),
}
_STILL_RESERVED = "; the epsilon stays reserved and is not taken twice"


def find_bill(spark: SparkSession, draws: Draws) -> Bill | None:
    """Return what collecting will add to what the dataset has spent before; None where there is nothing to tell."""
    check_places(spark, draws.plan)
    return prepare_bill(draws.ledger.entries(), draws.plan.budget_request)


def collect(spark: SparkSession, draws: Draws, frame: DataFrame | None = None) -> bool:
    """Draw and store the noisy tensor of a plan; False where it was there already.

    The order is the promise: the schema of the input is checked (names and types, no row), the price is reserved,
    only then are pings read, and the tensor is stored before anything else may read it. A run that was killed is
    taken up by the next one under the same reservation. `frame` are the pings where `input.dataframe` names them.
    """
    plan, draw_id = draws.plan, draws.plan.cells_draw.draw_id
    check_places(spark, plan)
    with exclusive(
        plan.output.lock(draw_id),
        busy=f"another process is collecting draw {draw_id} right now; wait for it, then run this again",
    ):
        for tensor in draws.tensors:
            tensor.finish_commit()
        if all(tensor.is_stored() for tensor in draws.tensors):
            for tensor in draws.tensors:
                tensor.mark_spent(plan.budget_request)
            return False
        refuse_seeds_over_people(plan.config)
        with settings_of_spark(spark, reading_settings(plan.config.input)) as lacking, mute_query_loggers():
            require_all_files(plan.config.input, lacking)
            source = open_source(spark, plan.config.input, plan.grids, frame)
            require_workers(spark)
            _reserve(draws)
            with _hide_data_in_failures(plan.config), settings_of_spark(spark, source.arrow_settings):
                _draw_what_is_missing(spark, source, draws)
        draws.cells.mark_spent(plan.budget_request)
        return True


def draw_sizes(spark: SparkSession, draws: Draws, frame: DataFrame | None = None) -> bool:
    """Draw and store the histogram of pings per user alone, before k is chosen; False where it was there already.

    In the order of `collect`, and of its price alone: it is the draw that a release of the same pings would make.
    """
    plan, tensor = draws.plan, draws.sizes
    if tensor is None:
        raise InvalidConfig(
            "privacy.size_histogram: is missing, so there is nothing to pay for; say what share of the price it may "
            "cost (privacy.size_histogram: {share: 1/50})"
        )
    request = replace(plan.budget_request, draws=(tensor.draw,))
    check_places(spark, plan)
    with exclusive(
        plan.output.lock(tensor.draw.draw_id),
        busy=f"another process is drawing {tensor.draw.draw_id} right now; wait for it, then run this again",
    ):
        tensor.finish_commit()
        if tensor.is_stored():
            tensor.mark_spent(request)
            return False
        refuse_seeds_over_people(plan.config)
        with settings_of_spark(spark, reading_settings(plan.config.input)) as lacking, mute_query_loggers():
            require_all_files(plan.config.input, lacking)
            source = open_source(spark, plan.config.input, plan.grids, frame)
            require_workers(spark)
            draws.ledger.reserve(request)
            with _hide_data_in_failures(plan.config), settings_of_spark(spark, source.arrow_settings):
                _store_once(draws, tensor, request, lambda: _draw_sizes(spark, source, plan))
        return True


def _reserve(draws: Draws) -> None:
    """Book the draws; refuse cells that were paid for and are gone."""
    plan, stored = draws.plan, draws.cells.is_stored()
    if draws.ledger.reserve(plan.budget_request) is State.SPENT and not stored:
        raise LedgerConflict(
            f"draw {plan.cells_draw.draw_id} was made and paid for, but its noisy tensor is no longer in "
            f"{plan.output.root}. Bring the folder back, or give the release another `name`: a new draw costs "
            f"{plan.cells_draw.price} again."
        )


def _draw_what_is_missing(spark: SparkSession, source: Source, draws: Draws) -> None:
    """Draw what is not the cells, where it is asked for, and the cells; these may be there, and another N be wanted."""
    plan, privacy = draws.plan, draws.plan.config.privacy
    if draws.sizes is not None:
        with exclusive(plan.output.lock(draws.sizes.draw.draw_id)):
            _store_once(draws, draws.sizes, plan.budget_request, lambda: _draw_sizes(spark, source, plan))
    total = _find_or_draw_total(spark, source, draws)
    if not draws.cells.is_stored():
        noisy = _draw_cells(spark, source, draws.plan, total)
        draws.cells.store(noisy, privacy.units_per_ping, privacy.protected, draws.plan.budget_request)


def refuse_seeds_over_people(config: ReleaseConfig) -> None:
    """Refuse seeded noise over pings that were not generated."""
    generated = config.input.path is not None and is_generated(config.input.path)
    if not config.privacy.protected and not generated:
        raise InvalidConfig(
            f"privacy.test_seed: is for pings that `vdr synth` wrote, and those at {config.input.location} are not. "
            "Anyone can compute seeded noise and take it away again. Remove the seed"
        )


def _find_or_draw_total(spark: SparkSession, source: Source, draws: Draws) -> int:
    """Return N: declared, or estimated now or by an earlier run."""
    plan, tensor = draws.plan, draws.total
    if tensor is None:
        assert plan.declared_total is not None
        return plan.declared_total
    # Another release of the same pings may want the same estimate; it is drawn once, for both.
    with exclusive(plan.output.lock(tensor.draw.draw_id)):
        _store_once(draws, tensor, plan.budget_request, lambda: _draw_total(spark, source, plan))
    total = draws.find_total()
    assert total is not None
    return total


def _store_once(draws: Draws, tensor: NoisyTensor, request: BudgetRequest, make: Callable[[], DataFrame]) -> None:
    """Draw and store what is not the cells, unless it is stored; refuse what was paid for and is gone."""
    if not tensor.is_stored():
        if draws.ledger.state_of(tensor.draw.draw_id) is State.SPENT:
            what, setting = _APART[tensor.draw.purpose]
            raise LedgerConflict(
                f"{what} ({tensor.draw.draw_id}) was estimated and paid for, but is no longer in "
                f"{draws.plan.output.root}. Bring the folder back, or give another privacy.{setting}.share, which "
                "is another estimate and is paid for again."
            )
        tensor.store(make(), 1, draws.plan.config.privacy.protected, request)
    tensor.mark_spent(request)


def _draw_cells(spark: SparkSession, source: Source, plan: Plan, total_pings: int) -> DataFrame:
    """Plan every slice with its noise: the pings are read, and noise is drawn, when it is written."""
    privacy, k, key = plan.config.privacy, plan.bound(total_pings), _sample_key(plan)
    usual = _usual_tasks(spark)
    bounding = build_bounding(privacy.bounding, k, plan.cells, key)
    packed = count_bounded(source, plan.grids, bounding, key, tasks_for(total_pings, PINGS_PER_TASK, usual))
    per_slice, tasks = plan.config.grid.cells_per_side**2, tasks_for(plan.cells, CELLS_PER_TASK, usual)
    return add_noise(packed, plan.slices, per_slice, plan.noise_for(k).mechanism, tasks, privacy.test_seed)


def _draw_total(spark: SparkSession, source: Source, plan: Plan) -> DataFrame:
    estimate, noise, seed = plan.config.privacy.estimate_total, plan.noise_of_total, plan.config.privacy.test_seed
    assert estimate is not None
    assert noise is not None
    packed = count_bounded(source, plan.grids, Clip(estimate.max_per_user), _sample_key(plan), _usual_tasks(spark))
    other = None if seed is None else seed + 1  # the noise of N is not that of a slice
    return add_noise(packed, 1, 1, noise.mechanism, 1, other)


def _draw_sizes(spark: SparkSession, source: Source, plan: Plan) -> DataFrame:
    noise, seed = plan.noise_of_sizes, plan.config.privacy.test_seed
    assert noise is not None
    bounding = OnePerUser(plan.config.grid.cells_per_side**2)
    packed = count_bounded(source, plan.grids, bounding, _sample_key(plan), _usual_tasks(spark))
    other = None if seed is None else seed + 2  # the noise of a bin is not that of a slice, nor of N
    return add_noise(packed, BINS, 1, noise.mechanism, 1, other)


def _sample_key(plan: Plan) -> SampleKey:
    seed = plan.config.privacy.test_seed
    return SampleKey.generate() if seed is None else SampleKey.seeded(seed)


def _usual_tasks(spark: SparkSession) -> int:
    """Return the number of tasks that Spark is set to; a platform may say `auto`, or nothing."""
    configured = read_setting(spark, "spark.sql.shuffle.partitions") or ""
    return int(configured) if configured.isdecimal() else SPARKS_DEFAULT


@contextmanager
def _hide_data_in_failures(config: ReleaseConfig) -> Iterator[None]:
    try:
        yield
    except VdrError:
        raise
    except Exception as problem:  # of whatever kind: its words, or those of what it came after, may quote a row
        raise describe_failure(problem, config.input, _STILL_RESERVED) from None
