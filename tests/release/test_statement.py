"""The statement says what was promised, in the registry's words, and changes with every setting that matters."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from vdr_spark.config import ReleaseConfig
from vdr_spark.plan import ReleasePlan, make_plan
from vdr_spark.privacy.accounting import Draw, Entry, State
from vdr_spark.release.statement import Published, write_statement

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
    granted = entry(1, config.dataset, State.GRANTED, Fraction(10))
    own = [
        entry(number, config.dataset, state, draw.epsilon, draw, f"hash {number}")
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
    earlier = entry(1, config.dataset, State.RESERVED, Fraction(1), Draw("earlier", Fraction(1), "cells", ""))
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
