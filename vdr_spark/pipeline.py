"""The stages in their order, each resumable: one whose output is complete is not run again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame, SparkSession

from vdr_spark.capacity import Machine, find_shortages, list_needs
from vdr_spark.collect.draws import open_draws
from vdr_spark.collect.stage import collect, find_bill
from vdr_spark.completeness import find_complete
from vdr_spark.config import ReleaseConfig
from vdr_spark.cost import expected_tasks
from vdr_spark.errors import Declined, EnvironmentProblem
from vdr_spark.packages import explain_missing_packages
from vdr_spark.plan import make_plan
from vdr_spark.progress import NullProgress, Progress
from vdr_spark.refine import estimate_kept, refine
from vdr_spark.release.publish import publish
from vdr_spark.release.register import find_withdrawn, require_one_to_publish
from vdr_spark.release.withdrawals import Withdrawal
from vdr_spark.series.kept import find_kept
from vdr_spark.series.standing import require_turn_of
from vdr_spark.spark.progress import spark_task
from vdr_spark.spark.settings import find_local_dirs
from vdr_spark.spark.side_channels import warn_about_side_channels
from vdr_spark.spark.torch_launcher import launch_with_spark
from vdr_spark.stage_log import RELEASE_STAGES, run_logged
from vdr_spark.storage.files import exists
from vdr_spark.storage.free_space import Places, explain_full_disk
from vdr_spark.synth.generate import write_synthetic

STAGES = ("synth", *RELEASE_STAGES)

logger = logging.getLogger(__name__)


class Pipeline:
    """The stages of one configuration. Those that run in one process share what was hashed and verified."""

    def __init__(
        self,
        spark: SparkSession,
        config: ReleaseConfig,
        progress: Progress | None = None,
        frame: DataFrame | None = None,
        confirm: Callable[[], bool] = lambda: True,
    ) -> None:
        """`frame` are the pings, where `input.dataframe` names them; `confirm` is asked before a further draw."""
        self.spark, self.config, self.plan = spark, config, make_plan(config)
        self.draws = open_draws(spark, self.plan)
        self._progress, self._frame, self._confirm = progress or NullProgress(), frame, confirm

    def prepare(self, stages: Sequence[str]) -> None:
        """Refuse now, before anything is reserved, what a stage would stop at: a package, a withdrawal, a full disk."""
        if "collect" in stages and self.config.series is not None:
            require_turn_of(self.config, self.draws.ledger.entries(), lambda: self.spark)
        with explain_missing_packages():
            if "denoise" in stages:
                from vdr_spark.denoise.stage import require_packages

                require_packages(self.config.denoise)
            if "publish" in stages:
                require_one_to_publish(self.plan, lambda: self.spark)
        self._require_room(stages)

    def _require_room(self, stages: Sequence[str]) -> None:
        """Refuse what certainly has no room on disks and in memory; warn of what probably has none."""
        machine, dirs = Machine(), find_local_dirs(self.spark)
        if not find_shortages(list_needs(self.plan, stages, dirs), machine):
            return  # most often: and what is complete already need not be asked for
        missing = set(stages) - find_complete(self.plan, self.draws.ledger.entries(), lambda: self.spark)
        for shortage in find_shortages(list_needs(self.plan, missing, dirs), machine):
            if shortage.certain:
                raise EnvironmentProblem(f"{shortage}. Nothing was reserved")
            logger.warning("%s", shortage)

    def withdrawals(self) -> dict[str, Withdrawal]:
        """Return which releases of the configuration were withdrawn, by their ids."""
        return find_withdrawn(self.plan, lambda: self.spark)

    def run(self, stage: str) -> bool:
        """Run one of `STAGES`; False where its output was complete already."""
        stages: dict[str, Callable[[], bool]] = {
            "synth": self._synth,
            "collect": self._collect,
            "denoise": self._denoise,
            "refine": self._refine,
            "publish": self._publish,
        }
        with explain_missing_packages(), explain_full_disk(self._list_disks):
            return run_logged(stage, stages[stage])

    def _list_disks(self) -> Places:
        ledger = self.plan.ledger.table
        places = [("output", self.plan.output.root), *([("ledger", ledger)] if isinstance(ledger, str) else [])]
        return [*places, *(("Spark's local folder", path) for path in find_local_dirs(self.spark))]

    def _synth(self) -> bool:
        with spark_task(self.spark, self._progress, "synth: generate pings"):
            return write_synthetic(self.spark, self.config, self.plan.grids[0])

    def _collect(self) -> bool:
        for caution in self.plan.cautions():
            logger.warning(caution)
        warn_about_side_channels(self.spark)
        self._announce_bill()
        with spark_task(self.spark, self._progress, "collect: bound, count, add noise", expected_tasks(self.plan)):
            done = collect(self.spark, self.draws, self._frame)
        for release in self.draws.releases():
            signal, where = self.draws.signal(release), f"{release.region.name}: " if release.region.name else ""
            logger.info("%s%s", where, signal.sentence())
            for warning in signal.warnings():
                logger.warning("%s%s", where, warning)
        return done

    def _announce_bill(self) -> None:
        """Say what a further draw over the same people adds up to, before anything is reserved; a no ends the run."""
        bill = find_bill(self.spark, self.draws)
        if bill is None:
            return
        logger.warning(str(bill))
        if not self._confirm():
            raise Declined(
                "not collected, as you said: nothing was reserved, read or spent. A release that exists can be asked, "
                "and denoised in other ways, at no cost"
            )

    def _denoise(self) -> bool:
        # Here, and not above: what it needs of SciPy takes a second to load, and collecting does without.
        from vdr_spark.denoise.stage import denoise
        from vdr_spark.series.past import find_past

        self.draws.require_spent()
        files, releases = self.draws.cells.files(), self.draws.releases()
        if all(exists(release.folder.denoised) for release in releases):
            return False
        past = find_past(self.spark, self.config)
        done = [
            denoise(files, release, self._progress, launch_with_spark, past=earlier, kept=find_kept(release))
            for release, earlier in zip(releases, past, strict=True)
        ]
        return any(done)

    def _refine(self) -> bool:
        with self._progress.task("refine: scale to all pings", 1) as update:
            self.draws.require_spent()
            releases = self.draws.releases()
            kept = [estimate_kept(self.draws.noisy_sum(r.region), r.total_pings) for r in releases]
            done = [refine(release, of_region, sum(kept)) for release, of_region in zip(releases, kept, strict=True)]
            update(1, "")
        return any(done)

    def _publish(self) -> bool:
        gone = require_one_to_publish(self.plan, lambda: self.spark)
        for withdrawal in gone.values():  # of some regions: the others may be published
            logger.warning("release %s was %s; it is not published again", withdrawal.release_id, withdrawal)
        with spark_task(self.spark, self._progress, "publish: write Delta tables"):
            spent, entries = self.draws.require_spent(), self.draws.ledger.entries()
            done = [
                publish(self.spark, release, spent, entries, self.draws.signal(release))
                for release in self.draws.releases()
                if release.release_id not in gone
            ]
        return any(done)
