"""`vdr budget convert`: which epsilon is which rho, and what many releases are together."""

import json

import pytest

from tests.cli.test_app import call

Printed = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--rho", "1/2", "--delta", "1e-9"], "rho 1/2 is epsilon 6.475 at delta 1e-9, rounded up"),
        (["--rho", "1/2", "--delta", "1e-9"], "(rho + 2 sqrt(rho log(1 / delta)) is 6.938)"),
        (["--epsilon", "6", "--delta", "1e-9"], "rho 0.435345 is the largest that is still epsilon 6 at delta 1e-9"),
        (["--epsilon", "1/3"], "pure epsilon 1/3 takes rho 1/18 of a budget in rho: epsilon^2 / 2, exactly"),
        (["--epsilon", "1", "--times", "52"], "52 such draws are pure epsilon 52, and take rho 26"),
        (
            ["--rho", "0.02", "--delta", "1e-9", "--times", "52"],
            "52 such releases together are rho 1.04, epsilon 9.735",
        ),
    ],
)
def test_both_ways(arguments: list[str], words: str, capsys: Printed) -> None:
    assert call("budget", "convert", *arguments) == 0
    assert words in capsys.readouterr().out.replace("\n", " ")


def test_figures_for_programs(capsys: Printed) -> None:
    assert call("budget", "convert", "--rho", "0.02", "--delta", "1e-9", "--times", "52", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rho"] == "1/50"
    assert found["rho_together"] == "26/25"
    assert float(found["epsilon"]) <= float(found["analytic_epsilon"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give either --rho or --epsilon, not neither"),
        (["--rho", "1", "--epsilon", "1"], "not both"),
        (["--rho", "1"], "--rho must come with a --delta"),
        (["--rho", "1", "--delta", "0"], "--delta must be a number above 0 and below 1"),
        (["--rho", "-1", "--delta", "1e-9"], "--rho must be a positive number"),
    ],
)
def test_mistakes_are_sentences(arguments: list[str], words: str, capsys: Printed) -> None:
    assert call("budget", "convert", *arguments) == 2
    assert words in " ".join(capsys.readouterr().err.split())
