"""Points of a sweep, by kind."""

from typing import Any

import pytest

from tests.experiments.conftest import SMALL
from vdr_spark.errors import InvalidConfig
from vdr_spark.experiments.location_data import Data
from vdr_spark.experiments.measures import Truth
from vdr_spark.experiments.points import POINTS, Question, read_setting

SETTINGS = {"method": "identity", "epsilon": 6, "k": 20}


def ask(city: Data, options: dict[str, Any], **settings: Any) -> Question:
    return Question(SMALL, Truth(city), SETTINGS | settings, ["cells"], options, 0)


def test_lambda_gives_k_and_dotted_names_are_of_denoising() -> None:
    setting = read_setting({"lambda": 1e-3, "denoise.vqvae.epochs": 2, "epsilon": 3}, SMALL, 40_000)
    assert (setting.k, setting.epsilon, setting.denoise) == (40, "3", {"vqvae.epochs": 2})
    assert setting.are_users
    with pytest.raises(InvalidConfig, match="not 'speed'"):
        read_setting({"speed": 3}, SMALL, 40_000)


def test_a_split_adds_up(city: Data) -> None:
    found = POINTS["split"](ask(city, {}))
    rmse = {row["part"]: row["rmse"] for row in found.rows}
    assert rmse["sampling and noise"] ** 2 == pytest.approx(
        rmse["sampling alone"] ** 2 + rmse["noise alone"] ** 2, rel=0.05
    )
    assert found.about["pings"] == len(city.cells) > found.about["kept"]


@pytest.mark.training
def test_days_out_of_sample_are_judged_beside_the_same_days_in_sample(city: Data) -> None:
    network = {"denoise.vqvae.epochs": 1, "denoise.vqvae.channels": 8, "denoise.vqvae.crop_size": 24}
    days = {"judged_days": 1, "learn_days": 1}
    found = POINTS["out_of_sample"](ask(city, {}, method="vqvae", **days, **network))
    assert [row["sample"] for row in found.rows] == ["out of sample", "in sample"]
    assert found.rows[0]["rmse"] != found.rows[1]["rmse"]
    with pytest.raises(InvalidConfig, match="method: what is trained on other slices must be one of vqvae, vae"):
        POINTS["out_of_sample"](ask(city, {}, method="ridge", **days))
    with pytest.raises(InvalidConfig, match="learn_days must be at least judged_days"):
        POINTS["out_of_sample"](ask(city, {}, method="vqvae", **days | {"learn_days": 2}))


def test_brute_force_is_at_least_as_good_as_any_rule(city: Data) -> None:
    rules = ["none", "ratio", "gamma", "least squared error"]
    found = POINTS["refinement"](ask(city, {"rules": rules, "concentrations": [5e-5, 1e-2]}))
    rmse = [(row["rule"], row["rmse"]) for row in found.rows if "rmse" in row]
    assert [rule for rule, _ in rmse] == ["none", "ratio", "gamma", "gamma", "least squared error"]
    assert rmse[-1][1] == min(of for _, of in rmse)
    factors = {row["rule"]: row["factor"] for row in found.rows if "factor" in row}
    assert factors["ratio"] == pytest.approx(1)
    with pytest.raises(InvalidConfig, match=r"options\.rules"):
        POINTS["refinement"](ask(city, {"rules": ["guess"]}))


def test_a_picture_is_of_the_first_draw_only(city: Data) -> None:
    found = POINTS["release"](ask(city, {"picture": True}, method="ug"))
    assert {name: layer.shape for name, layer in found.panels.items()} == {
        "true": (24, 24),
        "noisy": (24, 24),
        "denoised": (24, 24),
    }
    assert found.panels["true"].sum() == city.truth.sum(axis=(1, 2)).max()
    assert POINTS["release"](ask(city, {}, method="ug")).panels == {}
