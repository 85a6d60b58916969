"""The page of results, made from records that `vdr experiment --record` wrote: `make results` writes docs/results.md.

Every table names the file and the command that its numbers come from. What is written by hand stands above the mark.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vdr_spark.experiments.draws import SCALED
from vdr_spark.experiments.experiment import Wish, choose_sweep
from vdr_spark.experiments.settings import FOLDER, load_experiment
from vdr_spark.experiments.tables import Line, choose, from_csv
from vdr_spark.experiments.words import are_apart

MARK = "<!-- From here on made by `make results` from benchmarks/records; changes by hand are lost. -->"
OURS, PAPERS = "auto", ("vqvae_gamma", "vqvae_raw", "vqvae")
_COMPARISON, _BY_EPSILON, _QUICK = "comparison", "comparison_epsilon", "-quick"
_WORDS = {
    OURS: "**our release, `auto`**",
    "vqvae_gamma": "the paper's VDR (`vqvae_gamma`)",
    "vqvae_raw": "the paper's model, as it is (`vqvae_raw`)",
    "vqvae": "the paper's model, made to sum to N (`vqvae`)",
    "scaled_noisy": "noisy, times N / n (`scaled_noisy`)",
    "gamma_noisy": "noisy, times gamma (`gamma_noisy`)",
}
_LOGGED = "comparison-cabs_sf"
_THEIR_LOG = {"scaled_noisy": "5.00", "vqvae_raw": "4.12 after 100 epochs, 3.82 after 280", OURS: ""}


@dataclass(frozen=True)
class Kind:
    """A kind of query: its name, its figure, and what was asked."""

    name: str
    figure: str
    asked: dict[str, Any]

    def of(self, record: Record, method: str) -> Line | None:
        """Return what a method gives; of hot spots, what our release answers by probability and others by counts."""
        found = [line for line in choose(record.lines, method=method, **self.asked) if line.figure == self.figure]
        way = "probability" if method == OURS else "count"
        return next((line for line in found if line.asked.get("searched_by", way) == way), None)


KINDS = (
    *(Kind(side, "relative_error", {"side": side}) for side in ("30-120 m", "120-500 m", "500-2000 m")),
    *(
        Kind(f"hot spot {density}, {figure}", figure, {"density": density})
        for density in (10, 20, 40)
        for figure in ("distance", "regret")
    ),
    Kind("forecast", "smape", {}),
)
"""What a comparison asks, in the order of its columns."""
_AT_PINGS = Kind("cell at a ping", "mae_at_pings", {})


@dataclass(frozen=True)
class Record:
    """A table that an experiment left, and how it came about."""

    name: str
    experiment: str
    command: str
    place: str
    draws: int
    about: dict[str, float]
    lines: list[Line]
    text: str
    epsilon: float | None = None  # of all lines, where the table holds several

    @classmethod
    def read(cls, path: Path) -> Record:
        """Read a record by the path of its JSON; table and paragraph lie beside it."""
        notes = json.loads(path.read_text())
        lines, text = from_csv(path.with_suffix(".csv").read_text()), path.with_suffix(".md").read_text()
        about = {name: value for name, value in notes["about"][0].items() if isinstance(value, int | float)}
        parts = (notes["experiment"], notes["command"], notes["place"], notes["draws"])
        return cls(path.stem, *parts, about, lines, text)

    @property
    def methods(self) -> list[str]:
        """The methods in the order in which they were asked for."""
        return list(dict.fromkeys(str(line.asked["method"]) for line in self.lines if "method" in line.asked))

    @property
    def not_run(self) -> list[str]:
        """The methods that the command runs today and did not run when the record was made."""
        return [method for method in methods_of(self.command) if method not in self.methods]

    @property
    def label(self) -> str:
        """What it is called in a table of several."""
        return f"`{self.name}`" if self.epsilon is None else f"`{self.name}`, epsilon {self.epsilon:g}"

    def by_epsilon(self) -> list[Record]:
        """Return the parts of a table that sweeps epsilon, smallest first; the table itself where it does not."""
        swept = sorted({float(line.asked["epsilon"]) for line in self.lines if "epsilon" in line.asked})
        return [replace(self, lines=choose(self.lines, epsilon=of), epsilon=of) for of in swept] or [self]

    @property
    def source(self) -> str:
        """Where the numbers come from, in words."""
        return f"From `benchmarks/records/{self.name}.csv`, by `{self.command}`."

    @property
    def signal(self) -> float:
        """Pings in a cell, in the mean, by the deviation of a cell's noise."""
        return self.about["pings"] / self.about["cells"] / self.about["noise_deviation"]


def methods_of(command: str) -> list[str]:
    """Return the methods that a command compares by today's configurations; none where there is no such experiment."""
    _, _, name, *options = shlex.split(command)
    given = list(zip(options[::2], options[1::2], strict=True))
    named = [value for option, value in given if option == "--method"]
    if named or not (FOLDER / f"{name}.yaml").is_file():
        return named
    wish = Wish(name, preset=dict(given).get("--preset"), size=dict(given).get("--size", "full"))
    return [str(method) for method in choose_sweep(load_experiment(name), wish).sweep.get("method", [])]


def renew_page(page: str, folder: Path) -> str:
    """Return a page with everything below the mark made anew."""
    written_by_hand, mark, _ = page.partition(MARK)
    if not mark:
        raise ValueError(f"the page must hold the line {MARK}")
    return f"{written_by_hand}{MARK}\n\n{describe_records(read_records(folder))}"


def read_records(folder: Path) -> list[Record]:
    """Return all records of a folder: comparisons first, then experiments by name."""
    records = [Record.read(path) for path in sorted(folder.glob("*.json"))]
    first = [_COMPARISON, _BY_EPSILON]
    return sorted(records, key=lambda record: (record.experiment not in first, record.experiment, record.name))


def describe_records(records: list[Record]) -> str:
    """Return the made part of the page, in Markdown."""
    compared = [record for record in records if record.experiment == _COMPARISON]
    full, quick = (
        [record for record in compared if record.name.endswith(_QUICK) == is_quick] for is_quick in (False, True)
    )
    others = [record for record in records if record.experiment not in (_COMPARISON, _BY_EPSILON)]
    swept = [part for record in records if record.experiment == _BY_EPSILON for part in record.by_epsilon()]
    parts = (
        _by_how_much([*full, *swept]),
        _beside_the_paper(full),
        _comparisons([*full, *quick]),
        _experiments(others),
    )
    return "\n".join(line for part in parts for line in part)


def _by_how_much(records: list[Record]) -> Iterator[str]:
    """Yield the table of ratios, and every exception in a sentence."""
    yield "## By how much `auto` is ahead\n"
    yield (
        "The error of the best *other* method, the paper's VDR and the noisy tensor among them, by the error of "
        "`auto`: above 1 `auto` is ahead, bold is where it is not. Each ratio is of two means in the tables below, "
        "which name file and command, or in a file named below. Hot spots: `auto` by probability, told that it is "
        "asked at pings, others by their counts.\n"
    )
    yield f"| | {' | '.join(kind.name for kind in KINDS)} |\n| --- |{' --- |' * len(KINDS)}"
    for record in records:
        yield f"| {record.label} | {' | '.join(_ratio(record, kind) for kind in KINDS)} |"
    yield "\n**Exceptions**, where another method has the smaller mean:\n"
    exceptions = [sentence for record in records for kind in KINDS if (sentence := _exception(record, kind))]
    yield "\n".join(exceptions or ["- none."]) + "\n"
    swept = dict.fromkeys(record.source for record in records if record.epsilon is not None)
    if swept:
        yield "Several epsilons: " + " ".join(swept) + "\n"


def _rivals(record: Record, kind: Kind) -> list[tuple[str, Line]]:
    """Return the other methods with their errors, best first."""
    found = ((method, kind.of(record, method)) for method in record.methods if method != OURS)
    return sorted(((method, line) for method, line in found if line), key=lambda pair: pair[1].mean)


def _ratio(record: Record, kind: Kind) -> str:
    ours, rivals = kind.of(record, OURS), _rivals(record, kind)
    if ours is None or not rivals:
        return ""
    method, best = rivals[0]
    ratio = f"{best.mean / ours.mean:.2f}" if ours.mean > 0 else "both 0" if best.mean == 0 else "∞"
    return f"**{ratio}** ({method})" if best.mean < ours.mean else f"{ratio} ({method})"


def _exception(record: Record, kind: Kind) -> str:
    ours, rivals = kind.of(record, OURS), _rivals(record, kind)
    better = [(method, line) for method, line in rivals if ours is not None and line.mean < ours.mean]
    if ours is None or not better:
        return ""
    names = ", ".join(f"`{method}` {_number(line)}" for method, line in better)
    tied = "" if are_apart(ours.mean, ours.sd, better[0][1].mean, better[0][1].sd) else " (not told apart by the draws)"
    return f"- {record.label}, {kind.name}: `auto` {_number(ours)}; {names}{tied}."


def _beside_the_paper(records: list[Record]) -> Iterator[str]:
    """Yield the authors' claims, each beside what is measured here."""
    yield "## The paper's claims\n"
    yield "**Better than every other method.** The least relative error of each kind, squares of 30 to 120 m:\n"
    yield f"| | the paper's VDR | the best published method | the noisy tensor | `auto` |\n|{' --- |' * 5}"
    for record in records:
        found = {method: line for method in record.methods if (line := KINDS[0].of(record, method))}
        published = [method for method in found if method not in (OURS, *PAPERS, *SCALED)]
        cells = (_least(found, methods) for methods in (PAPERS, published, SCALED, (OURS,)))
        yield f"| `{record.name}` | {' | '.join(cells)} |"
    logged = next((record for record in records if record.name == _LOGGED), None)
    if logged is not None:
        yield (
            "\n**The authors' log**: SF cabs, epsilon 0.2, mean absolute error of single cells at pings, theirs by an "
            f"RTX 3090. {logged.source}\n\n| | theirs | here |\n| --- | --- | --- |"
        )
        for method, theirs in _THEIR_LOG.items():
            line = _AT_PINGS.of(logged, method)
            yield f"| {_WORDS.get(method, f'`{method}`')} | {theirs} | {'not run' if line is None else _number(line)} |"
    yield ""


def _least(found: dict[str, Line], methods: Iterable[str]) -> str:
    there = [(found[method].mean, method) for method in methods if method in found]
    return f"{_number(found[min(there)[1]])} (`{min(there)[1]}`)" if there else ""


def _comparisons(records: list[Record]) -> Iterator[str]:
    for record in records:
        about = record.about
        yield f"## `{record.name}`\n"
        yield (
            f"On {record.place}: {about['pings']:,.0f} pings, {about['kept']:,.0f} of them "
            f"kept (k = {about['k']:.0f}), noise of deviation {about['noise_deviation']:.3g} in a cell. Signal to "
            f"noise, mean pings of a cell by that deviation: {record.signal:.2g}. {record.draws} draws, mean ± "
            f"deviation; the least of a column is bold. {record.source}{_say_not_run(record)}\n"
        )
        kinds = [kind for kind in KINDS if any(kind.of(record, method) for method in record.methods)]
        cells = _AT_PINGS, Kind("RMSE", "rmse", {})
        columns = [*kinds, *cells]
        yield f"| | {' | '.join(kind.name for kind in columns)} |\n| --- |{' --- |' * len(columns)}"
        least = {kind.name: min(line.mean for m in record.methods if (line := kind.of(record, m))) for kind in columns}
        for method in record.methods:
            entries = (_entry(kind.of(record, method), least[kind.name]) for kind in columns)
            yield f"| {_WORDS.get(method, f'`{method}`')} | {' | '.join(entries)} |"
        yield ""


def _say_not_run(record: Record) -> str:
    names = ", ".join(f"`{method}`" for method in record.not_run)
    return f" **Not in this record:** {names}, which the command runs since it was made." if names else ""


def _entry(line: Line | None, least: float) -> str:
    if line is None:
        return ""
    return f"**{_number(line)}**" if line.mean == least else _number(line)


def _number(line: Line) -> str:
    return f"{line.mean:.3g} ± {float(f'{line.sd:.1g}'):g}"


def _experiments(records: list[Record]) -> Iterator[str]:
    yield "## Experiments\n"
    yield "What the commands wrote about their own numbers, word for word.\n"
    for record in records:
        title, _, rest = record.text.removeprefix("# ").partition("\n")
        yield f"### {title}\n{rest}\n{record.source}\n"


if __name__ == "__main__":
    place = Path(sys.argv[2])
    place.write_text(renew_page(place.read_text(), Path(sys.argv[1])))
