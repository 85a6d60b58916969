"""Running the checks on a release, one after the other, whatever they stumble over."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import SparkSession

from vdr_spark.audit.checks import CHECKS, Check
from vdr_spark.audit.report import AuditReport
from vdr_spark.audit.subject import CannotTell, CheckFailed, Finding, Row, Subject
from vdr_spark.collect.draws import Draws
from vdr_spark.errors import EnvironmentProblem, StageMissing, VdrError
from vdr_spark.plan import Region
from vdr_spark.release.register import Register
from vdr_spark.release.withdrawals import Withdrawal
from vdr_spark.spark_errors import SPARK_ERRORS
from vdr_spark.storage.schemas import RELEASES
from vdr_spark.storage.tables import read_partition, read_rows

# What is raised where files are damaged.
_UNREADABLE: tuple[type[Exception], ...] = (*SPARK_ERRORS, KeyError, TypeError, ValueError)


def audit(spark: SparkSession, draws: Draws, region: Region) -> AuditReport:
    """Check the published release of a plan's region. What cannot even be looked at does not hold."""
    release_id = draws.plan.release_id(region)
    withdrawal = Register(draws.plan.output, lambda: spark).withdrawals().get(release_id)
    return AuditReport(release_id, tuple(_find(spark, draws, region, withdrawal)), withdrawal)


def _find(spark: SparkSession, draws: Draws, region: Region, withdrawal: Withdrawal | None) -> Iterator[Finding]:
    rows = _published_rows(spark, draws, region)
    if len(rows) > 1:
        yield Finding("release", False, f"{len(rows)} rows of `releases` say something about it; one may")
        return
    try:
        release = next(release for release in draws.releases() if release.region == region)
    except VdrError as problem:
        yield Finding("number of pings", False, str(problem))
        return
    subject = Subject(spark, draws, release, rows[0], withdrawal)
    yield from (_run(name, check, subject) for name, check in CHECKS.items())


def _run(name: str, check: Check, subject: Subject) -> Finding:
    try:
        return Finding(name, True, check(subject))
    except (CannotTell, EnvironmentProblem) as reason:
        return Finding(name, None, str(reason))
    except ImportError as problem:  # of this machine; it says nothing about the release
        return Finding(name, None, f"cannot be told here: the Python package {problem.name or problem} is missing")
    except (CheckFailed, VdrError) as problem:
        return Finding(name, False, str(problem))
    except _UNREADABLE as problem:
        return Finding(name, False, f"it could not even be looked at ({type(problem).__name__}): files are damaged")


def _published_rows(spark: SparkSession, draws: Draws, region: Region) -> list[Row]:
    plan = draws.plan
    release_id = plan.release_id(region)
    rows = read_partition(spark, plan.output.table(RELEASES.name), RELEASES, release_id)
    found = read_rows(rows) if rows is not None else []
    if not found:
        raise StageMissing(f"release {release_id} is not published in {plan.output.tables}: nothing to audit")
    return found
