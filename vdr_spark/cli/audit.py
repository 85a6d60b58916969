"""`vdr audit`: what was found, line by line, and whether all of it holds."""

from __future__ import annotations

import json
from dataclasses import asdict

from vdr_spark.audit import audit
from vdr_spark.cli.console import console
from vdr_spark.cli.options import open_spark
from vdr_spark.config import ReleaseConfig


def run_audit(config: ReleaseConfig, as_json: bool) -> bool:
    """Audit the release of every region of a configuration."""
    spark = open_spark(config, "audit")
    findings = {view.release_id: audit(spark, view) for view in config.views()}
    holds = all(finding.holds for found in findings.values() for finding in found)
    if as_json:
        releases = {name: [asdict(finding) for finding in found] for name, found in findings.items()}
        print(json.dumps({"holds": holds, "releases": releases}, indent=2))
        return holds
    for release_id, found in findings.items():
        console.print(f"Release [bold]{release_id}[/bold]")
        for finding in found:
            mark = "[green]✓[/green]" if finding.holds else "[bold red]✗[/bold red]"
            console.print(f"  {mark} {finding.check:<15}", end="")
            console.print(finding.found, markup=False)
    console.print("All of it holds." if holds else "[bold red]Not all of it holds.[/bold red]")
    return holds
