"""`vdr audit`: what was found, line by line, and whether all of it holds."""

from __future__ import annotations

import json
from dataclasses import asdict

from vdr_spark.audit.checks import audit
from vdr_spark.cli.console import console
from vdr_spark.cli.options import open_spark
from vdr_spark.config import ReleaseConfig

_MARKS = {True: "[green]✓[/green]", None: "[yellow]?[/yellow]", False: "[bold red]✗[/bold red]"}


def run_audit(config: ReleaseConfig, as_json: bool) -> bool:
    """Audit the release of every region of a configuration."""
    spark = open_spark(config, "audit")
    findings = {view.release_id: audit(spark, view) for view in config.views()}
    holds = all(finding.holds is not False for found in findings.values() for finding in found)
    if as_json:
        releases = {name: [asdict(finding) for finding in found] for name, found in findings.items()}
        print(json.dumps({"holds": holds, "releases": releases}, indent=2))
        return holds
    for release_id, found in findings.items():
        console.print(f"Release [bold]{release_id}[/bold]")
        for finding in found:
            console.print(f"  {_MARKS[finding.holds]} {finding.check:<15}", end="")
            console.print(finding.found, markup=False)
    if any(finding.holds is None for found in findings.values() for finding in found):
        console.print("[yellow]?[/yellow] could not be told, for the reason given.")
    console.print("All of it holds." if holds else "[bold red]Not all of it holds.[/bold red]")
    return holds
