"""The statement says what was promised, in the registry's words, and changes with every setting that matters."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from vdr_spark.config import ReleaseConfig
from vdr_spark.plan import ReleasePlan, make_plan
from vdr_spark.price import Currency, Price
from vdr_spark.privacy.entries import Draw, Entry, Posting, State
from vdr_spark.release.statement import write_statement
from vdr_spark.release.statement_page import statement_page
from vdr_spark.release.statement_parts import Published

Small = Callable[..., ReleaseConfig]
NOW = datetime(2026, 1, 2, tzinfo=UTC)
# Required of an entry of the registry's third and fullest tier, as far as software can know it.
REGISTRY = {
    "basic": {"name", "data_curators", "description", "intended_use", "data_product_type", "data_product_region"}
    | {"data_product_sector", "publication_date"},
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {"privacy_unit", "privacy_unit_details", "privacy_parameters", "privacy_parameters_details"},
    "deployment_model": {"model_name", "trust_assumptions", "actors", "release_type", "release_type_details"}
    | {"data_source_type", "access_type"},
    "implementation": {"preprocessing_and_hyperparameter_tuning", "mechanisms", "composition", "post_processing"}
    | {"justification", "utility", "additional_information"},
}


def entry(
    number: int, dataset: str, state: State, epsilon: Fraction, draw: Draw | None = None, entry_hash: str = ""
) -> Entry:
    draw_id, purpose = (draw.draw_id, draw.purpose) if draw else ("", "")
    return Entry(number, dataset, draw_id, state, epsilon, NOW, "", entry_hash, purpose, None, "", "")


def plan_of(config: ReleaseConfig, total: int | None = None) -> ReleasePlan:
    return make_plan(config).releases(total or config.privacy.total_pings or 0)[0]


def statement(
    config: ReleaseConfig, *others: Entry, total: int | None = None
) -> dict[str, dict[str, dict[str, object]]]:
    kept = config.privacy.opening_price.currency
    delta = Fraction(1, 10**9) if kept is Currency.RHO else None
    granted = Posting(State.GRANTED, Price(Fraction(10), kept), delta=delta).enter(1, config.dataset, NOW, "")
    own = [
        replace(Posting.about(draw, state).enter(number, config.dataset, NOW, ""), entry_hash=f"hash {number}")
        for number, draw in enumerate(make_plan(config).draws, start=2)
        for state in (State.RESERVED, State.SPENT)
    ]
    written: dict[str, dict[str, dict[str, object]]] = write_statement(
        plan_of(config, total), published_as("temporal+fusion"), [granted, *others, *own]
    )
    json.dumps(written)
    return written


def published_as(model: str) -> Published:
    made = {
        "model": model,
        "estimated_rmse": 1.5,
        "noisy_total": 5000.0,
        "noisy_total_deviation": 300.0,
        "slices_told": 8,
    }
    bars = {"noise_deviation": 7.0, "sum_errors": None, "released_total": None, "sum_deviation": None}
    factors = {"total_deviation": None, "gamma": 2.0, "kappa": 0.5}
    hashes = {"cells_sha256": "ab" * 32, "code_version": "0.1.0", "configuration_hash": "cd" * 32}
    return Published(created=NOW, **made, **bars, **factors, **hashes)


def test_fields_are_the_registrys(small_config: Small) -> None:
    made = statement(small_config("about={curator: A city, intended_use: Planning}"))
    assert {name: set(fields) for name, fields in made["deployment"].items()} == REGISTRY
    assert made["deployment"]["basic"]["data_curators"] == [
        {"data_curator_name": "A city", "data_curator_type": "not stated"}
    ]
    assert made["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 6.0}


def test_the_zone_of_answers(small_config: Small) -> None:
    assert statement(small_config())["exact"]["timezone"] == "America/Chicago"
    assert statement(small_config("period.timezone=UTC"))["exact"]["timezone"] == "UTC"


@pytest.mark.parametrize(
    ("override", "section", "field", "words"),
    [
        ("privacy.bounding=weight", "implementation", "preprocessing_and_hyperparameter_tuning", "weigh at most 20"),
        ("privacy.k=33", "implementation", "mechanisms", "11/2"),
        ("refine.method=gamma", "implementation", "post_processing", "gamma"),
        ("privacy.total_pings=12345", "dp_variant", "unprotected_quantities", "12,345, as declared"),
        ("period.slice=6h", "basic", "description", "4 slices of 21600 s"),
        ("dataset=elsewhere", "implementation", "composition", "Dataset elsewhere"),
        ("input.columns={user_id: device}", "privacy_loss", "privacy_unit_details", "column `device`"),
    ],
)
def test_it_follows_the_settings(small_config: Small, override: str, section: str, field: str, words: str) -> None:
    assert words in str(statement(small_config(override))["deployment"][section][field])
    assert words not in str(statement(small_config())["deployment"][section][field])


@pytest.mark.parametrize(("model", "has"), [("identity", True), ("vqvae+fusion", True), ("vqvae", False)])
def test_error_bars_are_claimed_where_there_are_any(small_config: Small, model: str, has: bool) -> None:
    answers = str(write_statement(plan_of(small_config()), published_as(model), [])["questions"])
    assert ("Each cell has an error bar" in answers) is has
    assert ("Cells have no error bars" in answers) is not has


def test_it_says_how_far_the_ledger_was_written(small_config: Small) -> None:
    elsewhere = entry(4, "another-city", State.GRANTED, Fraction(1), entry_hash="its hash")
    made = write_statement(plan_of(small_config()), published_as("identity"), [elsewhere])
    assert made["exact"]["ledger"] == {"entries": 1, "last_entry_hash": "its hash"}


def test_an_estimated_total_is_said(small_config: Small) -> None:
    config = small_config("privacy.total_pings=null", "privacy.estimate_total={max_per_user: 40, share: 1/3}")
    made = statement(config, total=777)
    assert made["exact"]["total_pings"] == {"value": 777, "source": "estimated", "max_per_user": 40}
    assert made["exact"]["epsilon_by_stage"]["total"] == "2"
    assert "of scale 20, at most 40 pings of a user" in str(made["deployment"]["implementation"]["mechanisms"])
    assert "777" not in str(made["deployment"]["dp_variant"]["unprotected_quantities"])


def test_earlier_draws_are_counted(small_config: Small) -> None:
    config = small_config()
    earlier = entry(1, config.dataset, State.RESERVED, Fraction(1), Draw("earlier", Price.epsilon(1), "cells", ""))
    made = statement(config, earlier)["deployment"]
    assert "was 1 other draw" in str(made["implementation"]["composition"])
    assert made["deployment_model"]["release_type"] == "Many releases"
    assert statement(config)["deployment"]["deployment_model"]["release_type"] == "One release"


@pytest.mark.parametrize(
    ("epsilon", "words", "warned"),
    [
        ("4", "Below 5, as is good practice", False),
        ("6", "Epsilon 6 is large", False),
        ("11", "Epsilon 11 is a weak promise", False),
        ("51", "Epsilon 51 is no protection worth the name", True),
    ],
)
def test_it_says_what_so_large_an_epsilon_means(small_config: Small, epsilon: str, words: str, warned: bool) -> None:
    weak = ("privacy.accept_weak_promise=true", "privacy.budget=100")
    made = statement(small_config(f"privacy.epsilon={epsilon}", *weak))
    assert words in str(made["questions"])
    assert ("no protection worth the name" in str(made["warning"])) is warned


def test_a_seeded_release_promises_nothing(small_config: Small) -> None:
    made = statement(small_config("privacy.test_seed=1"))
    assert made["protected"] is False
    assert "protects nobody" in str(made["warning"])
    assert made["deployment"]["dp_variant"]["variant_name"] == "none"
    assert "A TEST SEED" in str(made["deployment"]["implementation"]["mechanisms"])


IN_RHO = ("privacy.epsilon=null", "privacy.budget=null", "privacy.rho=1/2", "privacy.delta=1e-9")


def test_rho_is_stated_with_its_epsilon_and_delta(small_config: Small) -> None:
    made = statement(small_config(*IN_RHO))
    deployment, exact = made["deployment"], made["exact"]
    assert deployment["dp_variant"]["variant_name"] == "Zero-Concentrated DP"
    assert deployment["privacy_loss"]["privacy_parameters"] == {"rho": 0.5, "epsilon": 6.475, "delta": 1e-9}
    assert "In rho, collect: 1/2" in str(deployment["privacy_loss"]["privacy_parameters_details"])
    assert "sigma^2 = k^2 / (2 rho) = 20^2 / (2 x 1/2) = 400 on" in str(deployment["implementation"]["mechanisms"])
    composition = str(deployment["implementation"]["composition"])
    assert "has reserved or spent rho 1/2, which is epsilon 6.475 at delta 1e-9, of rho 10, which is" in composition
    stated = {name: exact[name] for name in ("rho", "delta", "epsilon", "sigma_squared", "budget_currency")}
    assert stated == {
        "rho": "1/2",
        "delta": "1/1000000000",
        "epsilon": "6.475",
        "sigma_squared": "400",
        "budget_currency": "rho",
    }
    assert not {"scale", "epsilon_by_stage"} & set(exact)
    assert [draw["rho"] for draw in exact["draws"]] == ["1/2"]  # type: ignore[index, union-attr]
    page = statement_page(made)
    for words in ("ε = 6.475</b>, and by delta = 1e-9 beyond that", "<th>ρ</th>", "ρ 1/2 of 10, which is ε 6.475 of"):
        assert words in page


def test_pure_epsilon_out_of_a_budget_in_rho_states_both(small_config: Small) -> None:
    made = statement(small_config("privacy.epsilon=2", "privacy.budget={rho: 10, delta: 1e-9}"))
    assert made["deployment"]["dp_variant"]["variant_name"] == "Pure DP"
    assert (made["exact"]["epsilon"], made["exact"]["committed"]) == ("2", "2")  # of 2^2 / 2
    assert "one of pure epsilon counts as epsilon^2 / 2" in str(made["deployment"]["implementation"]["composition"])
    assert "<td>2 (ε 2)</td>" in statement_page(made)


def test_a_pure_release_states_exactly_what_it_did_before_there_was_rho(small_config: Small) -> None:
    """`vdr audit` compares these to the letter, also with statements that an older version wrote."""
    exact = statement(small_config())["exact"]
    assert not {"rho", "delta", "rho_by_stage", "budget_currency", "sigma_squared"} & set(exact)
    assert (exact["privacy_unit"], exact["epsilon"], exact["scale"]) == ("user", "6", "10/3")


def test_a_unit_of_time_is_stated_with_what_it_does_not_promise(small_config: Small) -> None:
    made = statement(small_config("privacy.unit=user_day"))
    loss = made["deployment"]["privacy_loss"]
    assert loss["privacy_unit"] == "User-day"
    assert "differ by all the pings of one user within one calendar day" in str(loss["privacy_unit_details"])
    assert "does not protect a user over several days" in str(loss["privacy_unit_details"])
    assert made["exact"]["privacy_unit"] == "user_day"
    assert "<b>one person&#x27;s pings of one day</b>" in statement_page(made)
    assert "the sum, which the ledger keeps" in str(statement(small_config())["deployment"]["privacy_loss"])
