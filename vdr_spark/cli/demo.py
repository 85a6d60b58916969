"""`vdr demo`: what was promised, spent, answered, and how far it is from the city's known truth."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from rich.markup import escape

from vdr_spark.cli.console import ConsoleProgress, console
from vdr_spark.cli.evaluate import error_table
from vdr_spark.cli.options import open_spark
from vdr_spark.config import ReleaseConfig
from vdr_spark.demo import run_demo


def run(config: ReleaseConfig, conf: Path = Path("conf/demo.yaml")) -> None:
    """Run the demo and print what came of it."""
    evaluation, summary = run_demo(open_spark(config, "demo"), config, ConsoleProgress())
    console.print(error_table(evaluation))
    _print(config, summary, conf)


def _print(config: ReleaseConfig, summary: dict[str, Any], conf: Path) -> None:
    currency, kept = config.privacy.opening_price.currency, config.privacy.promise
    strength = kept.parameters if kept.delta is not None else f"{kept.parameters}, pure"
    promise = f"every user, with all pings of the period: {strength}, {kept.unit.level} level"
    if not config.privacy.protected:
        promise = "[bold red]nothing: privacy.test_seed is set, this release protects nobody[/bold red]"
    output = escape(config.output)
    console.print(
        f"\n[bold]Promised[/bold]  {promise}\n"
        f"[bold]Spent[/bold]     {currency} {summary[f'{currency}_spent']:g} of {summary[f'{currency}_granted']:g} "
        f"granted to dataset {config.dataset}\n"
        f"[bold]Range[/bold]     {summary['answers']['range']}\n"
        f"[bold]Hot spot[/bold]  {summary['answers']['hotspot']}\n"
        f"[bold]Forecast[/bold]  {summary['answers']['forecast']}\n"
        f"[bold]Error[/bold]     of range counts: noisy {summary['error_noisy']:.3f}, denoised "
        f"{summary['error_denoised']:.3f}, refined {summary['error_refined']:.3f} (the paper's VQ-VAE, "
        f"briefly trained, in place of `{config.denoise.model}`: {summary['error_refined_vqvae']:.3f})\n"
        f"[bold]Tables[/bold]    {output}/tables\n"
        f"[bold]Statement[/bold] {output}/statements\n"
        f"[bold]Pictures[/bold]  {output}/pictures, and beside the truth {output}/evaluation\n"
        f"[bold]Seconds[/bold]   {summary['seconds']:.0f}\n\n"
        f"[bold]Look at it[/bold]  open {escape(summary['report'])} in a browser: maps, accuracy, the budget book; one "
        "file, no network\n"
        f"[bold]Play with it[/bold]  {escape(_name_command())} explore {escape(str(conf))}",
        soft_wrap=True,
    )


def _name_command() -> str:
    """Return how this `vdr` is called: by its path where the shell would not find it by its name, as in `make demo`."""
    called = sys.argv[0]
    if Path(called).name != "vdr":
        return "vdr"
    found = shutil.which("vdr")
    return "vdr" if found and Path(found).samefile(called) else os.path.relpath(called)
