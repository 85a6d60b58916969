"""Ids of draws and releases: what changes them, what does not, and that they never change by accident."""

import hashlib
import json
from collections.abc import Callable

import pytest

from tests.plans import draw_id_of, release_id_of
from vdr_spark.config import ReleaseConfig
from vdr_spark.plan import identity, make_plan

Small = Callable[..., ReleaseConfig]
BOXES = "{a: {south: 0, west: 0, north: 1, east: 1}, b: {south: 0, west: 1, north: 1, east: 2}}"
ESTIMATED = {"epsilon": "1/3", "lambda": 0.01, "bounding": "weight", "estimate_total": {"max_per_user": 50}}
COLUMNS = {"user_id": "_c0", "lat": "_c1", "lon": "_c2", "ts": "_c3"}
TWO = ("region=null", "synth=null", f"regions={BOXES}")


def configuration(**sections: object) -> ReleaseConfig:
    """A configuration whose paths mean the same on every machine."""
    settings: dict[str, object] = {
        "name": "golden",
        "dataset": "city",
        "output": "s3://bucket/out",
        "input": {"path": "s3://bucket/pings"},
        "region": {"center": (29.7604, -95.3698), "side_m": 20000},
        "period": {"start": "2020-01-07", "end": "2020-01-19"},
        "privacy": {"epsilon": 6, "k": 55, "total_pings": 1000},
    }
    return ReleaseConfig(**(settings | sections))


@pytest.mark.parametrize(
    ("sections", "draw_ids", "release_id"),
    [
        ({}, ["golden-91f371a862"], "golden-91f371a862-151c8f"),
        (
            {
                "privacy": {
                    "epsilon": "1/3",
                    "lambda": 0.01,
                    "estimate_total": {"max_per_user": 50},
                    "bounding": "weight",
                }
            },
            ["city-total-b13cd8cf90", "golden-3776ba5a80"],
            "golden-3776ba5a80-419d65",
        ),
        (
            {
                "input": {"path": "s3://bucket/text", "layout": "gowalla", "timezone": "Asia/Tokyo"},
                "region": {"south": 1.5, "west": 2, "north": 3, "east": 4},
                "grid": {"cells_per_side": 64},
                "denoise": {"model": "vqvae"},
                "refine": {"method": "gamma"},
            },
            ["golden-44de9eb519"],
            "golden-44de9eb519-97b63b",
        ),
    ],
    ids=["as simple as can be", "estimated N, weights", "most settings given"],
)
def test_golden_ids(sections: dict[str, object], draw_ids: list[str], release_id: str) -> None:
    """Never mend these by writing the new id here: with another id, the same YAML pays its epsilon again."""
    plan = make_plan(configuration(**sections))
    assert [draw.draw_id for draw in plan.draws] == draw_ids
    assert plan.release_id(plan.regions[0]) == release_id


def test_the_hash_is_what_the_module_says_it_is() -> None:
    """Computed anew, by hand: name and value of what is not a default, in the listed order."""
    content = [
        ["dataset", "city"],
        ["input.path", "s3://bucket/pings"],
        ["regions", [[None, {"center": [29.7604, -95.3698], "side_m": 20000.0}]]],
        ["period.start", "2020-01-07T00:00:00+00:00"],
        ["period.end", "2020-01-19T00:00:00+00:00"],
        ["output", "s3://bucket/out"],
        ["name", "golden"],
        ["privacy.cells_epsilon", "6"],
        ["privacy.k", 55],
    ]
    canonical = json.dumps(["cells", 1, content], sort_keys=True, separators=(",", ":"))
    assert identity.identify_cells(configuration()) == hashlib.sha256(canonical.encode()).hexdigest()


def test_a_new_setting_with_its_default_changes_no_id(monkeypatch: pytest.MonkeyPatch) -> None:
    before = identity.identify_cells(configuration())
    added = identity.Dependency("privacy.novelty", lambda _: "off", "off")
    monkeypatch.setattr(identity, "CELLS", (*identity.CELLS, added))
    assert identity.identify_cells(configuration()) == before
    used = identity.Dependency("privacy.novelty", lambda _: "on", "off")
    monkeypatch.setattr(identity, "CELLS", (*identity.CELLS, used))
    assert identity.identify_cells(configuration()) != before


@pytest.mark.parametrize(
    "override",
    [
        *(
            "privacy.k=21",
            "privacy.epsilon=5",
            "privacy.test_seed=1",
            "privacy.bounding=weight",
            "grid.cells_per_side=17",
            "dataset=other",
            "name=other",
        ),
        *("input.path=elsewhere", "output=elsewhere", "input.columns={ts: seen}", "input.timezone=Asia/Tokyo"),
        *("period.slice=1h", "period.end=2020-01-09", "period.timezone=UTC", "region.side_m=20001"),
    ],
)
def test_whatever_changes_the_noisy_tensor_is_another_draw(small_config: Small, override: str) -> None:
    assert draw_id_of(small_config()) != draw_id_of(small_config(override))


@pytest.mark.parametrize(
    "override",
    [
        *(
            "privacy.budget=100",
            "privacy.accept_weak_promise=true",
            "privacy.unit=user_day",
            "input.reader=spark",
            "ledger=elsewhere",
        ),
        *("spark.driver_memory=2g", "about.sector=x"),
    ],
)
def test_what_does_not_change_the_noisy_tensor_is_the_same_draw(small_config: Small, override: str) -> None:
    assert draw_id_of(small_config()) == draw_id_of(small_config(override))
    assert release_id_of(small_config()) == release_id_of(small_config(override))


@pytest.mark.parametrize(
    "pings",
    [
        {"table": "main.mobility.pings"},
        {"table": "main.mobility.other"},
        {"dataframe": "pings"},
        {"dataframe": "other"},
        {"path": "s3://bucket/pings", "format": "delta"},
        {"path": "s3://bucket/pings", "format": "csv", "header": False, "columns": COLUMNS},
        {"path": "s3://bucket/pings", "format": "csv", "separator": ";"},
        {"path": "s3://bucket/pings", "format": "csv"},
        {"path": "s3://bucket/pings", "layout": "veraset"},
    ],
    ids=str,
)
def test_pings_from_elsewhere_or_read_otherwise_are_another_draw(pings: dict[str, object]) -> None:
    others = [{"path": "s3://bucket/pings"}, {"table": "pings"}, {"dataframe": "p"}]
    ids = {draw_id_of(configuration(input=other)) for other in others}
    assert draw_id_of(configuration(input=pings)) not in ids


def test_vouching_for_a_plan_does_not_change_its_draw() -> None:
    vouched = configuration(input={"table": "a.pings", "trust_plan": True})
    assert draw_id_of(vouched) == draw_id_of(configuration(input={"table": "a.pings"}))


def test_the_same_thing_written_otherwise_is_the_same_draw(small_config: Small) -> None:
    local = small_config("period.start=2020-01-07", "period.timezone=America/Chicago")
    utc = small_config("period.start=2020-01-07T06:00", "period.end=2020-01-08T06:00", "period.timezone=UTC")
    assert draw_id_of(local) == draw_id_of(utc)
    by_share = small_config("privacy.k=null", "privacy.lambda=0.01", "privacy.total_pings=2000")
    assert draw_id_of(by_share) == draw_id_of(small_config("privacy.k=20"))


NORM = "privacy={rho: 1/2, delta: %s, total_pings: 6000, bounding: l2, norm: %s}"


def test_another_norm_is_another_draw(small_config: Small) -> None:
    """Also where k would be the same number; another delta only tells the same noise otherwise."""
    by_norm, in_rho = small_config(NORM % ("1e-9", 8)), "privacy={rho: 1/2, delta: 1e-9, total_pings: 6000, %s}"
    others = [NORM % ("1e-9", 9), in_rho % "bounding: weight, k: 8", in_rho % "k: 8"]
    assert len({draw_id_of(config) for config in (by_norm, *map(small_config, others))}) == 4
    assert draw_id_of(by_norm) == draw_id_of(small_config(NORM % ("1e-8", 8)))


def test_another_n_is_another_release_of_the_same_draw(small_config: Small) -> None:
    """With k given, N only scales what was drawn: whoever corrects it pays nothing."""
    corrected = small_config("privacy.total_pings=7000")
    assert draw_id_of(corrected) == draw_id_of(small_config())
    assert release_id_of(corrected) != release_id_of(small_config())


def test_an_estimate_of_n_is_shared_by_whoever_asks_the_same(small_config: Small) -> None:
    def total_id(*overrides: str) -> str:
        estimate = "privacy.estimate_total={max_per_user: 9, share: 1/2}"
        draw = make_plan(small_config("privacy.total_pings=null", estimate, *overrides)).total_draw
        assert draw is not None
        return draw.draw_id

    for same in ("privacy.k=3", "name=other", "grid.cells_per_side=32", "period.slice=6h", "privacy.bounding=weight"):
        assert total_id() == total_id(same), same
    for other in (
        "privacy.epsilon=5",
        "dataset=other",
        "period.end=2020-01-09",
        "region.side_m=300",
        "output=elsewhere",
    ):
        assert total_id() != total_id(other), other


def test_the_order_of_regions_is_that_of_the_tensor(small_config: Small) -> None:
    """Slices of the tensor follow the order of regions: in another order they would be other cities' slices."""
    two = small_config(*TWO)
    turned = two.model_copy(update={"regions": dict(reversed(list((two.regions or {}).items())))})
    assert draw_id_of(turned) != draw_id_of(two)
    plan = make_plan(two)
    assert len({plan.release_id(region) for region in plan.regions}) == 2


def test_another_denoiser_is_another_release_of_the_same_draw(small_config: Small) -> None:
    temporal, plain = small_config(), small_config("denoise.model=identity", "denoise.fusion=false")
    assert draw_id_of(temporal) == draw_id_of(plain)
    assert release_id_of(temporal) != release_id_of(plain)


def test_another_past_is_another_release_and_none_leaves_the_id_as_it_was(small_config: Small) -> None:
    config = small_config()
    known = identity.identify_release(config, None)
    assert known.startswith(release_id_of(config).rpartition("-")[2])
    assert identity.identify_release(config, None, past=()) == known
    pasts = [("week-1",), ("week-1", "week-2"), ("week-2", "week-1")]
    assert len({known, *(identity.identify_release(config, None, past) for past in pasts)}) == 4


def test_settings_of_a_model_that_is_not_used_make_no_difference(small_config: Small) -> None:
    unused = small_config("denoise.vqvae.epochs=9", "denoise.device=cpu", "refine.concentration=0.1")
    assert release_id_of(unused) == release_id_of(small_config())
    used = release_id_of(small_config("denoise.model=vqvae", "denoise.vqvae.epochs=9"))
    assert used != release_id_of(small_config("denoise.model=vqvae", "denoise.vqvae.epochs=8"))
    assert used != release_id_of(small_config("denoise.model=vae", "denoise.vae.epochs=9"))


def test_what_auto_may_choose_from_is_part_of_the_release(small_config: Small) -> None:
    auto = release_id_of(small_config("denoise.model=auto"))
    assert auto != release_id_of(small_config("denoise.model=auto", "denoise.candidates=[temporal]"))
    assert auto != release_id_of(small_config("denoise.model=auto", "denoise.blindspot.steps=7"))
    assert auto == release_id_of(small_config("denoise.model=auto", "denoise.vqvae.epochs=9"))
    assert release_id_of(small_config("denoise.candidates=[ridge]")) == release_id_of(small_config())


def test_how_a_network_is_trained_is_no_part_of_the_release(small_config: Small) -> None:
    """A training may be continued on another machine."""
    release = release_id_of(small_config("denoise.model=vqvae"))
    for how in ("device=cpu", "precision=mixed", "compile=true", "processes=4", "processes_on=executors"):
        assert release_id_of(small_config("denoise.model=vqvae", f"denoise.{how}")) == release
