"""The façade: one object that takes a release from pings to answers, for notebooks and programs.

    publisher = Publisher.from_yaml("conf/demo.yaml")
    print(publisher.explain())     # what will be done, who is protected, what it spends; nothing is read
    print(publisher.advise())      # which k? from public knowledge only
    print(publisher.check())       # do the pings fit? for the operator only: exact figures, NOT private, kept nowhere
    release = publisher.release()  # every stage that is not done yet; run again, nothing is drawn or spent twice
    release.range_count(Box.around(29.76, -95.37, side_m=1000))
    publisher.read()               # the same release another day, without Spark
    publisher.report()             # promise, budget, maps, accuracy, hot spots: one page to look at, to print, to sign
    publisher.audit()              # does everything that was promised agree with everything that is there?
    publisher.budget               # what the dataset may still spend
    publisher.releases()           # what is published there; publisher.withdraw(ID, "why") marks one, for ever

**Pings in a DataFrame.** A DataFrame has no identity of its own, so the person who hands one in names it (`pings`).
The name stands for its rows: the same name and settings mean the same draw, whose stored tensor is used again. And
Spark may compute the rows of a DataFrame more than once, after a lost executor for example. The bound of k pings per
user rests on getting the same rows again, so plans for which that is not certain are refused
(`vdr_spark.pings.recompute` says which, and what to do).
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.packages import explain_missing_packages
from vdr_spark.plan import make_plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from vdr_spark.advise import Advice, Declared, Earlier
    from vdr_spark.audit import AuditReport
    from vdr_spark.check import CheckReport
    from vdr_spark.pipeline import Pipeline
    from vdr_spark.privacy.accounting import Account
    from vdr_spark.progress import Progress
    from vdr_spark.release.record import ReleaseRecord
    from vdr_spark.release.register import Register
    from vdr_spark.release.release import Release
    from vdr_spark.release.withdrawals import Withdrawal
    from vdr_spark.report_page import ShownReport


class Publisher:
    """Everything one can do with one configuration. Nothing is read, started or written until a method asks for it."""

    def __init__(
        self,
        config: ReleaseConfig,
        spark: SparkSession | None = None,
        frame: DataFrame | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Without a session, one is taken or started as the configuration says; `frame` holds the pings, if given."""
        self.config, self.plan = config, make_plan(config)
        self._spark, self._frame, self._progress = spark, frame, progress

    @classmethod
    def from_yaml(cls, path: str | Path, *overrides: str, spark: SparkSession | None = None) -> Publisher:
        """Read a configuration; an override is `section.key=value`, as with `--set` on the command line."""
        return cls(load_config(path, overrides), spark)

    @classmethod
    def from_dataframe(
        cls,
        frame: DataFrame,
        pings: str,
        columns: Mapping[str, str] | None = None,
        timezone: str | None = None,
        trust_plan: bool = False,
        **settings: Any,
    ) -> Publisher:
        """Publish the rows of a DataFrame, which `pings` names.

        `columns` maps our names to the frame's (`{"user_id": "device", "ts": "seen_at"}`), `timezone` is that of times
        that do not say. With `trust_plan` the person vouches for a plan that would be refused. The settings are those
        of a configuration: `name`, `dataset`, `output`, `region`, `period`, `privacy`, ...
        """
        pings_input = _input(columns, timezone, trust_plan) | {"dataframe": pings}
        return cls(ReleaseConfig(**settings | {"input": pings_input}), frame.sparkSession, frame)

    @classmethod
    def from_table(
        cls,
        spark: SparkSession,
        table: str,
        columns: Mapping[str, str] | None = None,
        timezone: str | None = None,
        trust_plan: bool = False,
        **settings: Any,
    ) -> Publisher:
        """Publish the rows of a table or view by its name, such as `main.mobility.pings`; settings as for a DataFrame.

        The name is its identity: give it in full, or a table of the same name in another schema is taken for it.
        """
        pings_input = _input(columns, timezone, trust_plan) | {"table": table}
        return cls(ReleaseConfig(**settings | {"input": pings_input}), spark)

    def explain(self) -> Explanation:
        """Say what will be done, who is protected and what it spends, before any data are read."""
        from vdr_spark.explain import explain

        return Explanation(explain(self.plan))

    @explain_missing_packages()
    def advise(
        self,
        declared: Declared | None = None,
        earlier: Earlier | None = None,
        total: int | None = None,
        apart: float = 1.0,
        pay: bool = False,
    ) -> Advice:
        """Say which k, or norm, gives the least error to be expected, from public knowledge only.

        Of a declared law of pings per user, an earlier release of the city, a paid histogram: as `vdr advise`. With
        `pay` the histogram of `privacy.size_histogram` is drawn, if it was not, and spends its share; else no ping is
        read.
        """
        from vdr_spark.advise.gather import Wish, give_advice

        return give_advice(self.plan, Wish(declared, earlier, total, apart, pay), lambda: self.spark, self._frame)

    @explain_missing_packages()
    def check(self) -> CheckReport:
        """Compare the exact pings with what the configuration says of them. NOT private, and kept nowhere.

        For the operator, before any epsilon is spent. A notebook that is saved with it holds exact figures.
        """
        from vdr_spark.check import check
        from vdr_spark.spark.side_channels import warn_about_side_channels

        warn_about_side_channels(self.spark)
        return check(self.spark, self.plan, self._frame)

    def synthesize(self) -> bool:
        """Generate the pings that the section `synth` describes; False where they are there already."""
        return self.pipeline.run("synth")

    @explain_missing_packages()
    def release(self, region: str | None = None) -> Release:
        """Collect, denoise, refine and publish, as far as that was not done before, and read the release.

        Where the configuration has several regions, all of them are released, and the one that is named is read.
        A further draw over the same dataset is announced by a warning: what it adds, and what the sum means.
        """
        from vdr_spark.stage_log import RELEASE_STAGES

        self.plan.choose_region(region)  # a region that is not there is told before anything is done
        self.pipeline.prepare(RELEASE_STAGES)
        for stage in RELEASE_STAGES:
            self.pipeline.run(stage)
        return self.read(region)

    def read(self, region: str | None = None, allow_withdrawn: bool = False) -> Release:
        """Read the release that was published: nothing is run and nothing is spent.

        Without Spark, unless the tables have names in a catalog. A configuration means its own release, whatever else
        lies in its output folder. One that was withdrawn is refused, unless somebody must look at it all the same.
        """
        release_id = self.plan.release_id(self.plan.choose_region(region))
        if self.plan.output.schema is not None:
            from vdr_spark.release.views import read_by_spark

            return read_by_spark(self.spark, self.plan.output, release_id, allow_withdrawn=allow_withdrawn)
        from vdr_spark.release.read import read_release

        return read_release(self.plan.output.root, release_id, allow_withdrawn=allow_withdrawn)

    def report(
        self, region: str | None = None, path: str | Path | None = None, allow_withdrawn: bool = False
    ) -> ShownReport:
        """Return a page about the published release, which a notebook shows; with a path it is written there too.

        Made from the released tables and the ledger alone; `vdr report` writes the same.
        """
        from vdr_spark.report_page import ShownReport, gather, report_page

        release = self.read(region, allow_withdrawn)
        contents = gather(release, self.plan.output, self.plan.ledger, lambda: self.spark)
        report = ShownReport(release.release_id, report_page(contents))
        if path is not None:
            report.save(path)
        return report

    def releases(self) -> list[ReleaseRecord]:
        """Return what is published in the output, the newest first, withdrawn releases too; as `vdr releases list`."""
        return self._register.records()

    def withdraw(self, release_id: str, reason: str) -> Withdrawal:
        """Mark a release of the output as not to be used any more, for ever; nothing is deleted.

        Every reader refuses it from now on. No epsilon comes back, and what was downloaded stays out there.
        """
        return self._register.withdraw(release_id, reason)

    @property
    def _register(self) -> Register:
        from vdr_spark.release.register import Register

        return Register(self.plan.output, lambda: self.spark)

    def sql(
        self,
        engine: str = "spark",
        region: str | None = None,
        schema: str | None = None,
        prefix: str = "",
        templates: bool = False,
    ) -> str:
        """Return views and table functions over the published release as SQL, for those who run it themselves.

        For spark, databricks or duckdb; for trino, or with `templates`, queries with places to fill in.
        """
        release = self.read(region)
        if self.plan.output.schema is None:
            from vdr_spark.release.sql_functions import sql_script

            return sql_script(release, engine, schema, prefix).text(templates)
        from vdr_spark.release.sql_install import script_by_spark

        into = schema or self.plan.output.schema
        return script_by_spark(self.spark, release, engine, into, prefix).text(templates)

    @explain_missing_packages()
    def install_sql(self, region: str | None = None, schema: str | None = None, prefix: str = "") -> list[str]:
        """Make these views and functions in a schema, by default that of the tables; return the functions' names."""
        from vdr_spark.release.sql_install import install_sql

        return install_sql(self.spark, self.read(region), schema, prefix)

    @explain_missing_packages()
    def audit(self, region: str | None = None) -> AuditReport:
        """Verify the published release: ledger, noisy tensor, its noise, cells, statement. Reads no ping."""
        from vdr_spark.audit import audit
        from vdr_spark.collect.draws import open_draws

        # Anew: what this process hashed and verified before may have been changed since.
        return audit(self.spark, open_draws(self.spark, self.plan), self.plan.choose_region(region))

    @property
    def budget(self) -> Account:
        """What was granted to the dataset, what is taken, what remains; on a disk or in a store without Spark."""
        from vdr_spark.privacy.ledger_reader import LedgerReader
        from vdr_spark.storage.store_access import learn

        learn(self.config.spark.conf)
        return LedgerReader(self.plan.ledger, lambda: self.spark).account(self.config.dataset)

    @cached_property
    @explain_missing_packages()
    def spark(self) -> SparkSession:
        """The session that was given, that is there, or that the configuration describes."""
        if self._spark is not None:
            return self._spark
        from vdr_spark.spark.session import spark_session

        return spark_session(self.config.spark, f"vdr {self.config.name}")

    @cached_property
    @explain_missing_packages()
    def pipeline(self) -> Pipeline:
        """The stages, for those who want them one by one: `publisher.pipeline.run("collect")`."""
        from vdr_spark.pipeline import Pipeline

        return Pipeline(self.spark, self.config, self._progress, self._frame)

    def __repr__(self) -> str:
        releases = ", ".join(self.plan.release_id(region) for region in self.plan.regions)
        return f"Publisher of {releases} (dataset {self.config.dataset}, {self.config.privacy.price})"


def _input(columns: Mapping[str, str] | None, timezone: str | None, trust_plan: bool) -> dict[str, Any]:
    return {"columns": dict(columns or {}), "timezone": timezone, "trust_plan": trust_plan}


class Explanation(str):
    """A page of plain text that a notebook shows as it is."""

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self)}</pre>"
