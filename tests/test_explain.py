"""`vdr explain` says what will happen and what it costs, without touching data or output."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import ROOT
from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.explain import explain
from vdr_spark.plan import make_plan

Small = Callable[..., ReleaseConfig]


def test_houston() -> None:
    text = explain(make_plan(load_config(ROOT / "conf/houston.yaml")))
    for words in (
        "31,850,496 cells",
        "55 / 6 = 9.167",
        "standard deviation 12.96",
        "factor of 403.4",
        "at most 55 pings of each user",
        "spends epsilon 6",
        "2. collect",
        "5. publish",
        "127 MB",
    ):
        assert words in text


def test_reads_and_writes_nothing(small_config: Small, tmp_path: Path) -> None:
    explain(make_plan(small_config()))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("privacy.test_seed=1", "NOBODY"),
        ("privacy.epsilon=5", "Good practice is below 5"),
        ("privacy.epsilon=50", "a weak promise"),
        ("privacy.epsilon=1000", "  No protection worth the name. To the letter: Every user"),
    ],
)
def test_weak_promises_are_called_so(small_config: Small, override: str, words: str) -> None:
    text = explain(make_plan(small_config(override, "privacy.budget=1000", "privacy.accept_weak_promise=true")))
    assert words in text
    assert "Be careful" in text


def test_what_is_wrong_with_the_input_is_a_sentence(small_config: Small, tmp_path: Path) -> None:
    assert "there is nothing at" in explain(make_plan(small_config()))
    assert "`vdr synth` generates the pings" in explain(make_plan(small_config()))
    pings = tmp_path / "text.parquet"
    pq.write_table(pa.table({"user_id": ["a"], "lat": [1.0], "lon": [2.0], "ts": ["soon"]}), pings)
    text = explain(make_plan(small_config(f"input.path={pings}", "synth=null")))
    assert "! input: column `ts` (ts) holds text" in text


def test_the_period_is_told_in_its_zone(small_config: Small) -> None:
    text = explain(make_plan(small_config()))
    assert "from 2020-01-07 00:00 America/Chicago (UTC-06:00) to 2020-01-08 00:00 America/Chicago" in text


IN_RHO = ("privacy.epsilon=null", "privacy.budget=null", "privacy.rho=1/2", "privacy.delta=1e-9")


def test_rho_is_explained_in_both_languages(small_config: Small) -> None:
    estimated = ("privacy.total_pings=null", "privacy.estimate_total={share: 1/5, max_per_user: 90}")
    text = explain(make_plan(small_config(*IN_RHO, *estimated)))
    for words in (
        "at most a factor of 648.7 (epsilon 6.475 at delta 1e-9), and by delta = 1e-9 beyond that.",
        "Its price is rho 1/2, which is epsilon 6.475 at delta 1e-9, rounded up.",
        "book rho 1/2 in the ledger",
        "spends rho 2/5",
        "add discrete_gaussian noise",
        "sigma k / sqrt(2 rho) = 20 / sqrt(2 x 2/5) = 22.36, standard deviation 22.36 in every cell",
        "number of pings: sigma 201.2;",
        "! epsilon 6.475 at delta 1e-9 is large",
    ):
        assert words in text


def test_pure_epsilon_out_of_a_budget_in_rho_says_what_it_takes(small_config: Small) -> None:
    text = explain(make_plan(small_config("privacy.epsilon=2", "privacy.budget={rho: 9, delta: 1e-9}")))
    assert "book epsilon 2, rho 2 of a budget in rho, in the ledger" in text
    assert "spends epsilon 2" in text


def test_a_unit_of_time_is_explained_with_what_it_does_not_promise(small_config: Small) -> None:
    text = explain(make_plan(small_config("privacy.unit=user_day")))
    assert "Every user, with all pings of one day, whatever" in text
    assert "adding or removing one user's whole day changes" in text
    assert "does not protect a user over several days" in text


def test_a_histogram_of_pings_per_user_is_explained_with_its_price(small_config: Small) -> None:
    text = explain(make_plan(small_config("privacy.size_histogram={share: 1/50}")))
    assert "draw a histogram of pings per user, one user in one bin" in text
    assert "spends epsilon 3/25" in text
    assert "spends epsilon 147/25" in text
    assert "less error: vdr advise" in text
