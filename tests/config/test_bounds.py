"""What bounds a user is given once, and impossible pairs of bounding and noise are refused in sentences."""

from collections.abc import Callable

import pytest

from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import InvalidConfig

Small = Callable[..., ReleaseConfig]
PURE = ("privacy.k=null", "privacy.bounding=l2", "privacy.norm=8")
IN_RHO = ("privacy.epsilon=null", "privacy.rho=1/2", "privacy.delta=1e-9", "privacy.budget=null")
NORM = (*IN_RHO, *PURE)


@pytest.mark.parametrize(
    ("overrides", "bound", "units", "mechanism"),
    [
        ((), 20, 1, "discrete_laplace"),
        (("privacy.bounding=weight",), 20, 2**20, "discrete_laplace"),
        (IN_RHO, 20, 1, "discrete_gaussian"),
        ((*IN_RHO, "privacy.bounding=weight"), 20, 2**20, "discrete_gaussian"),
        ((*IN_RHO, "privacy.k=null", "privacy.lambda=1e-2"), 60, 1, "discrete_gaussian"),
        (NORM, 8, 2**20, "discrete_gaussian"),
    ],
)
def test_boundings_go_with_the_noise_that_their_sensitivity_is_known_for(
    small_config: Small, overrides: tuple[str, ...], bound: int, units: int, mechanism: str
) -> None:
    privacy = small_config(*overrides).privacy
    assert (privacy.known_bound, privacy.bound(6000)) == (bound, bound)
    assert (privacy.units_per_ping, privacy.mechanism) == (units, mechanism)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (PURE, "`bounding: l2` goes with `rho` and Gaussian noise only, not with `epsilon`"),
        ((*NORM, "privacy.k=20"), "bounds norms by `norm`, and k (20) bounds sums: remove it"),
        ((*NORM, "privacy.lambda=0.01"), "and lambda (0.01) bounds sums: remove it"),
        ((*NORM, "privacy.norm=null"), "`bounding: l2` needs `norm`"),
        ((*NORM, "privacy.bounding=weight"), "`norm` (8) goes with `bounding: l2`, and bounding is `weight`"),
        (("privacy.norm=8",), "`norm` (8) goes with `bounding: l2`, and bounding is `sample`"),
        ((*NORM, "privacy.norm=0"), "privacy.norm: must be at least 1"),
        ((*NORM, "privacy.norm=2.5"), "privacy.norm: must be a whole number"),
        ((*NORM, "privacy.norm=1e18"), "norm / sqrt(2 rho), the scale of the noise, must be at most 2**50"),
        ((*NORM, "privacy.mechanism=discrete_laplace"), "`mechanism` must be discrete_gaussian"),
        (("privacy.k=null",), "give either `k` or `lambda`"),
        (("privacy.lambda=0.1",), "give either `k` or `lambda`"),
    ],
)
def test_what_cannot_be_meant_is_refused(small_config: Small, overrides: tuple[str, ...], words: str) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        small_config(*overrides)
    assert words in str(refusal.value)


def test_a_norm_with_an_estimated_total_is_known_at_once(small_config: Small) -> None:
    estimated = ("privacy.total_pings=null", "privacy.estimate_total={max_per_user: 9, share: 1/2}")
    assert small_config(*NORM, *estimated).privacy.known_bound == 8
