"""`vdr experiment`: one of the paper's experiments, on a generated city or on a real file."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from vdr_spark.cli.console import ConsoleProgress, caution, console, leave_on_interrupt
from vdr_spark.experiments.experiment import Wish, run_experiment
from vdr_spark.experiments.settings import list_experiments, load_experiment


def print_list(folder: Path) -> None:
    """Print all experiments, and the question that each answers."""
    table = Table("experiment", "what is to be seen")
    for name, experiment in list_experiments(folder).items():
        table.add_row(name, experiment.question)
    console.print(table)


def run(wish: Wish, folder: Path) -> None:
    """Run an experiment, print what is seen and say where its files are."""
    experiment = load_experiment(wish.name, folder)
    if wish.path is not None:
        caution("this reads the exact pings; what it prints and writes is not differentially private")
    leave_on_interrupt()
    outcome = run_experiment(experiment, wish, ConsoleProgress())
    console.print(outcome.text, markup=False)
    for file in outcome.files:
        console.print(file, markup=False)
