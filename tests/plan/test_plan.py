"""What a configuration comes to before anything is read, and what still waits for N."""

from collections.abc import Callable
from fractions import Fraction

import pytest

from tests.plans import grid_of
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import InvalidConfig
from vdr_spark.plan import make_plan
from vdr_spark.price import Price
from vdr_spark.privacy.discrete_gaussian import DiscreteGaussian
from vdr_spark.units import WEIGHT_UNIT

Small = Callable[..., ReleaseConfig]
ESTIMATED = ("privacy.total_pings=null", "privacy.estimate_total={max_per_user: 9, share: 1/4}")
BOXES = "regions={a: {south: 0, west: 0, north: 1, east: 1}, b: {south: 0, west: 1, north: 1, east: 2}}"


def test_slices_follow_the_clock_of_the_period(small_config: Small) -> None:
    grid = grid_of(small_config("period.timezone=America/Chicago"))
    assert grid.start.isoformat() == "2020-01-07T06:00:00+00:00"
    assert grid.slices == 8


def test_draws_add_up_to_the_release_s_epsilon(small_config: Small) -> None:
    plan = make_plan(small_config("privacy.epsilon=2", *ESTIMATED))
    assert [(draw.purpose, draw.price) for draw in plan.draws] == [
        ("total", Price.epsilon("1/2")),
        ("cells", Price.epsilon("3/2")),
    ]
    assert plan.total_draw is plan.draws[0]
    assert make_plan(small_config()).total_draw is None


def test_what_waits_for_n_and_what_does_not(small_config: Small) -> None:
    waiting = make_plan(small_config(*ESTIMATED, "privacy.k=null", "privacy.lambda=0.05"))
    assert (waiting.declared_total, waiting.known_k, waiting.known_noise) == (None, None, None)
    (release,) = waiting.releases(300)
    assert (release.total_pings, release.k) == (300, 15)
    assert release.scale == 15 / waiting.cells_draw.price.amount
    assert waiting.releases(3)[0].k == 1  # never 0, whatever was estimated
    assert make_plan(small_config(*ESTIMATED)).known_k == 20


@pytest.mark.parametrize("bounding", ["sample", "weight"])
def test_noise_is_calibrated_to_k_and_counted_in_pings(small_config: Small, bounding: str) -> None:
    noise = make_plan(small_config("privacy.k=5", "privacy.epsilon=0.7", f"privacy.bounding={bounding}")).known_noise
    assert noise is not None
    assert noise.units_per_ping == (WEIGHT_UNIT if bounding == "weight" else 1)
    assert noise.mechanism.scale == Fraction(50, 7) * noise.units_per_ping
    assert noise.scale == pytest.approx(50 / 7)
    assert noise.variance == pytest.approx(2 * noise.scale**2, rel=0.01)


@pytest.mark.parametrize(
    ("bound", "k", "norm"), [("k: 5", 5, None), ("k: 5, bounding: weight", 5, None), ("norm: 5, bounding: l2", None, 5)]
)
def test_in_rho_noise_is_calibrated_to_k_or_to_the_norm(
    small_config: Small, bound: str, k: int | None, norm: int | None
) -> None:
    """k is the sensitivity in L2 too: all k pings of a user may be in one cell."""
    plan = make_plan(small_config(f"privacy={{rho: 1/8, delta: 1e-9, total_pings: 6000, {bound}}}"))
    (release,) = plan.releases(6000)
    assert (plan.known_bound, plan.known_k, release.bound, release.k, release.norm) == (5, k, 5, k, norm)
    assert (release.scale, release.sigma_squared) == (None, 100)
    assert release.noise.mechanism == DiscreteGaussian(Fraction(100) * release.noise.units_per_ping**2)
    assert release.noise.deviation == 10


def test_an_estimate_too_large_for_its_noise_is_refused(small_config: Small) -> None:
    plan = make_plan(small_config(*ESTIMATED, "privacy.k=null", "privacy.lambda=1", "privacy.epsilon=1e-9"))
    with pytest.raises(InvalidConfig, match="give `k` instead of `lambda`"):
        plan.releases(10**9)


def test_slices_of_one_region_follow_those_of_another(small_config: Small) -> None:
    plan = make_plan(small_config("region=null", "synth=null", BOXES))
    assert [(region.name, region.first_slice) for region in plan.regions] == [("a", 0), ("b", 8)]
    assert (plan.slices, plan.cells) == (16, 16 * 16 * 16)
    assert plan.choose_region("b") is plan.regions[1]
    for wrong in (None, "c"):
        with pytest.raises(InvalidConfig, match=r"region must be one of those of the release \(a, b\)"):
            plan.choose_region(wrong)
    with pytest.raises(InvalidConfig, match="only one, without a name"):
        make_plan(small_config()).choose_region("a")


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("privacy.epsilon=5", "epsilon 5 is large"),
        ("privacy.epsilon=20", "weak promise"),
        ("privacy.epsilon=100", "no protection worth the name"),
        ("privacy.test_seed=1", "Protects nobody"),
        ("name=demo", "Name one ledger"),
        ("privacy.k=6000", "the release will say little"),
    ],
)
def test_cautions(small_config: Small, override: str, words: str) -> None:
    plan = make_plan(small_config(override, "privacy.budget=100", "privacy.accept_weak_promise=true"))
    assert any(words in caution for caution in plan.cautions())


def test_a_delta_above_one_in_n_is_cautioned(small_config: Small) -> None:
    in_rho = ("privacy.epsilon=null", "privacy.budget=null", "privacy.rho=1/9")
    assert any(
        "above 1 / N" in caution for caution in make_plan(small_config(*in_rho, "privacy.delta=0.01")).cautions()
    )
    assert not any("1 / N" in caution for caution in make_plan(small_config(*in_rho, "privacy.delta=1e-9")).cautions())


def test_draws_in_rho_add_up_and_are_other_draws(small_config: Small) -> None:
    in_rho = ("privacy.epsilon=null", "privacy.budget=null", "privacy.rho=1/2", "privacy.delta=1e-9")
    plan = make_plan(small_config(*in_rho, *ESTIMATED))
    assert [draw.price for draw in plan.draws] == [Price.rho("1/8"), Price.rho("3/8")]
    assert plan.total_deviation == pytest.approx((plan.config.privacy.estimate_total.max_per_user**2 * 4) ** 0.5)
    ids = {draw.draw_id for draw in (*plan.draws, *make_plan(small_config("privacy.epsilon=1/2", *ESTIMATED)).draws)}
    assert len(ids) == 4
    told_otherwise = make_plan(small_config(*in_rho, *ESTIMATED, "privacy.delta=1e-12"))
    assert told_otherwise.draws == plan.draws  # no noise depends on delta


def test_a_good_promise_is_not_cautioned(small_config: Small) -> None:
    assert not any("epsilon" in caution for caution in make_plan(small_config("privacy.epsilon=4.9")).cautions())


@pytest.mark.parametrize("setting", ["output", "ledger"])
def test_a_store_that_cannot_keep_a_second_writer_out_is_refused(small_config: Small, setting: str) -> None:
    elsewhere = f"{setting}=hdfs://name:8020/place"
    with pytest.raises(InvalidConfig, match=f"{setting}: must be on a disk of this machine.*single_writer: true"):
        make_plan(small_config("ledger=/books", elsewhere)).require_exclusion()
    make_plan(small_config("ledger=/books", elsewhere, "single_writer=true")).require_exclusion()
    make_plan(small_config()).require_exclusion()


@pytest.mark.parametrize("store", ["s3a://bucket", "s3://bucket", "abfss://c@a.dfs.core.windows.net", "gs://bucket"])
def test_a_store_with_conditional_puts_is_tried_before_it_is_refused(small_config: Small, store: str) -> None:
    make_plan(small_config(f"ledger={store}/books", f"output={store}/out")).require_exclusion()
    make_plan(small_config("ledger=/books", f"output={store}/out")).require_exclusion()


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (("ledger=s3a://b/books",), "output: must be in a store, as the ledger is"),
        (
            ("output=s3a://b/out", "tables=main.vdr"),
            "output: must be on a disk of this machine where tables hav",
        ),
        (("ledger=s3a://b/books", "tables=main.vdr"), "ledger: must be on a disk of this machine where tables have na"),
    ],
)
def test_what_a_conditional_put_does_not_cover(small_config: Small, overrides: tuple[str, ...], words: str) -> None:
    with pytest.raises(InvalidConfig, match=f"{words}.*single_writer: true"):
        make_plan(small_config(*overrides)).require_exclusion()
    make_plan(small_config(*overrides, "single_writer=true")).require_exclusion()
