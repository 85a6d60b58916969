"""Advice: whose it is, what it says of k and of norms, in words and in JSON."""

import json
from collections.abc import Callable

import numpy as np
import pytest

from vdr_spark.advise.advice import Advice, advise
from vdr_spark.advise.sizes import Sizes
from vdr_spark.advise.sources import Declared, Known, know_declared
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import InvalidQuery
from vdr_spark.plan import make_plan

Small = Callable[..., ReleaseConfig]
BUSY = ("grid.cells_per_side=144", "period.end=2020-01-14", "privacy.total_pings=8e6")
IN_RHO = "privacy={rho: 1/2, delta: 1e-9, total_pings: 8e6, %s}"
LAW = know_declared(Declared(2.3, 50_000, 10.0), 1)


def advice_of(config: ReleaseConfig, *known: Known) -> Advice:
    return advise(make_plan(config), known)


def test_without_knowledge_it_is_the_papers_rule(small_config: Small) -> None:
    advice = advice_of(small_config(*BUSY))
    assert (advice.bound, advice.source) == (2, "paper")  # 2.5e-7 of 8 million
    assert "Nothing is known of the pings per user" in str(advice)
    assert advice_of(small_config(*BUSY, "privacy.k=null", "privacy.lambda=1e-5")).bound == 80


def test_a_table_has_its_least_error_inside(small_config: Small) -> None:
    advice = advice_of(small_config(*BUSY), LAW)
    rows = advice.tables[0].rows
    assert [row.bound for row in rows[:4]] == [1, 2, 4, 8]
    least = min(row.denoised for row in rows)
    assert advice.bound == max(row.bound for row in rows if row.denoised <= 1.02 * least)
    low, high = advice.tables[0].as_good
    assert low <= advice.bound <= high
    assert 1 < advice.bound < rows[-1].bound
    assert "<- advised" in str(advice)
    assert f"(--set privacy.k={advice.bound})" in str(advice)


def test_more_epsilon_allows_a_larger_k(small_config: Small) -> None:
    cheap, dear = (advice_of(small_config(*BUSY, f"privacy.epsilon={epsilon}"), LAW).bound for epsilon in ("1/10", "6"))
    assert cheap is not None
    assert dear is not None
    assert cheap < dear


def test_a_histogram_is_believed_before_a_declaration(small_config: Small) -> None:
    paid = Known("histogram", "a paid histogram", Sizes(np.array([1.0, 40.0]), np.array([1000.0, 1000.0])))
    advice = advice_of(small_config(*BUSY), LAW, paid)
    assert advice.source == "histogram"
    assert [table.source for table in advice.tables] == ["histogram", "declared"]
    assert "By pings per user as declared" in str(advice)


@pytest.mark.parametrize("bounding", ["k: 8", "bounding: weight, k: 8"])
def test_gaussian_noise_is_advised_on_too(small_config: Small, bounding: str) -> None:
    advice = advice_of(small_config(*BUSY, IN_RHO % bounding), LAW)
    assert advice.price == "rho 1/2"
    assert advice.bound_name == "k"
    assert advice.tables[0].rows[3].noise > 0


def test_norms_are_advised_on_as_norms(small_config: Small) -> None:
    config = small_config(*BUSY, IN_RHO % "bounding: l2, norm: 8")
    advice = advice_of(config, LAW)
    assert (advice.bound_name, advice.paper) == ("norm", None)
    assert "--set privacy.norm=" in str(advice)
    assert "says nothing of norms" in str(advice)
    nothing = advice_of(config)
    assert nothing.bound is None
    assert "No norm is advised." in str(nothing)


def test_what_is_paid_for_a_histogram_the_cells_lack(small_config: Small) -> None:
    paying = advice_of(small_config(*BUSY, "privacy.size_histogram={share: 1/2}"), LAW)
    assert paying.price == "epsilon 3"
    assert paying.tables[0].rows[3].noise > advice_of(small_config(*BUSY), LAW).tables[0].rows[3].noise


def test_n_must_be_known(small_config: Small) -> None:
    estimated = ("privacy.total_pings=null", "privacy.estimate_total={max_per_user: 90}")
    with pytest.raises(InvalidQuery, match="--total 5e7"):
        advice_of(small_config(*estimated))
    assert advise(make_plan(small_config(*estimated)), [LAW], total=8_000_000).total == 8_000_000


def test_json_has_all_of_it(small_config: Small) -> None:
    found = json.loads(json.dumps(advice_of(small_config(*BUSY), LAW).as_dict()))
    assert found["advised"] == found["sources"][0]["advised"]
    assert found["configured"]["bound"] == 20
    assert set(found["sources"][0]["table"][0]) == {"bound", "kept", "bounding", "noise", "denoised"}
