"""`vdr audit`: what was found, line by line, and whether all of it holds."""

from __future__ import annotations

import json

from vdr_spark.audit import AuditReport, audit
from vdr_spark.audit.report import MARKS
from vdr_spark.cli.console import console
from vdr_spark.cli.options import open_spark
from vdr_spark.collect.draws import open_draws
from vdr_spark.config import ReleaseConfig
from vdr_spark.plan import make_plan

_STYLES = {True: "green", None: "yellow", False: "bold red"}


def run(config: ReleaseConfig, as_json: bool) -> bool:
    """Audit the release of every region of a configuration; whether all of it holds."""
    spark, plan = open_spark(config, "audit"), make_plan(config)
    draws = open_draws(spark, plan)
    reports = [audit(spark, draws, region) for region in plan.regions]
    holds = all(report.holds for report in reports)
    if as_json:
        print(json.dumps({"holds": holds, "releases": [report.as_dict() for report in reports]}, indent=2))
        return holds
    for report in reports:
        _print(report)
    if any(finding.holds is None for report in reports for finding in report.findings):
        console.print("[yellow]?[/yellow] could not be told, for the reason given.")
    console.print("All of it holds." if holds else "[bold red]Not all of it holds.[/bold red]")
    return holds


def _print(report: AuditReport) -> None:
    console.print(f"Release [bold]{report.release_id}[/bold]")
    if report.withdrawal is not None:
        console.print(f"  {report.withdrawal.banner}", markup=False, style="bold red")
    for finding in report.findings:
        style = _STYLES[finding.holds]
        console.print(f"  [{style}]{MARKS[finding.holds]}[/{style}] {finding.check:<15}", end="")
        console.print(finding.found, markup=False)
