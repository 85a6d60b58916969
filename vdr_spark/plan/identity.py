"""Identity: which draw, and which release, a configuration describes.

A draw is known by a hash of what it depends on, and whoever describes the same draw again gets the stored tensor and
pays nothing. So an id must never change by accident: a person who runs the same YAML after an upgrade would pay
epsilon again. Therefore what is hashed is listed here, name by name, and not taken from the settings' own fields.

* What has the value that stands here as its default is left out. A new setting is added at the end of a list, with
  the value that describes all draws before it, and no id changes.
* A default stands here literally. Should a default of the settings change, draws that rely on it get another id.
* A release costs nothing, so its id is less strict: of a network's settings, those that a person changed count, and
  `DENOISING_VERSION` is raised when a default changes what comes out.
* Tests hold golden ids. `VERSION` is raised when a list must change otherwise, and then every draw is a new one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from vdr_spark.config import ReleaseConfig
from vdr_spark.config.settings import RegionSettings, Section
from vdr_spark.price import Currency, Price
from vdr_spark.storage.paths import name_for_ids

VERSION = 1
DENOISING_VERSION = 1  # raised when the same settings come to give another release of the same draw

Value = str | int | float | bool | list[Any] | dict[str, Any] | None
"""What JSON can hold, and writes the same way everywhere."""


@dataclass(frozen=True)
class Dependency:
    """One thing that a draw depends on, and the value of it that is left out of the hash."""

    name: str
    value: Callable[[ReleaseConfig], Value]
    default: Value = None


# Which pings are counted, and where what is made of them is kept: a tensor in another folder is another draw.
PINGS = (
    Dependency("dataset", lambda c: c.dataset),
    Dependency("input.path", lambda c: name_for_ids(c.input.path) if c.input.path is not None else None),
    Dependency("input.table", lambda c: c.input.table),
    Dependency("input.dataframe", lambda c: c.input.dataframe),
    Dependency("input.layout", lambda c: c.input.layout, "vdr"),
    Dependency("input.format", lambda c: c.input.format),
    Dependency("input.columns", lambda c: dict(sorted(c.input.columns.items())), {}),
    Dependency("input.timezone", lambda c: c.input.timezone),
    Dependency("input.header", lambda c: c.input.header, True),
    Dependency("input.separator", lambda c: c.input.separator, ","),
    # As written: edges in degrees are computed, and a processor's last bit must not decide what is paid for.
    Dependency("regions", lambda c: [[name, *_box(region)] for name, region in c.boxes]),
    Dependency("period.start", lambda c: c.period.utc(c.period.start).isoformat()),
    Dependency("period.end", lambda c: c.period.utc(c.period.end).isoformat()),
    Dependency("output", lambda c: name_for_ids(c.output)),
    Dependency("privacy.test_seed", lambda c: c.privacy.test_seed),
    Dependency("tables", lambda c: c.tables),
)

CELLS = (
    *PINGS,
    Dependency("name", lambda c: c.name),
    Dependency("grid.cells_per_side", lambda c: c.grid.cells_per_side, 576),
    Dependency("period.slice", lambda c: c.period.slice, 10_800),
    Dependency("privacy.cells_epsilon", lambda c: _amount(c.privacy.cells_price, Currency.EPSILON)),
    Dependency("privacy.mechanism", lambda c: c.privacy.mechanism, "discrete_laplace"),
    Dependency("privacy.bounding", lambda c: c.privacy.bounding, "sample"),
    Dependency("privacy.k", lambda c: _known_bound(c) if c.privacy.norm is None else None),
    # k that follows from an estimated N is known by that estimate.
    Dependency("privacy.lambda", lambda c: c.privacy.lambda_ if _known_bound(c) is None else None),
    Dependency("privacy.total", lambda c: identify_total(c) if _known_bound(c) is None else None),
    # Not delta: it is for those who are told an epsilon, and the noise does not depend on it.
    Dependency("privacy.cells_rho", lambda c: _amount(c.privacy.cells_price, Currency.RHO)),
    Dependency("privacy.norm", lambda c: c.privacy.norm),
)

TOTAL = (
    *PINGS,
    Dependency("privacy.total_epsilon", lambda c: _amount(c.privacy.total_price, Currency.EPSILON)),
    Dependency(
        "privacy.max_per_user", lambda c: c.privacy.estimate_total.max_per_user if c.privacy.estimate_total else None
    ),
    Dependency("privacy.mechanism", lambda c: c.privacy.mechanism, "discrete_laplace"),
    Dependency("privacy.total_rho", lambda c: _amount(c.privacy.total_price, Currency.RHO)),
)


def identify_cells(config: ReleaseConfig) -> str:
    """Return the SHA-256 of everything that the noisy tensor of the cells depends on."""
    return _hash("cells", _listed(config, CELLS))


def identify_total(config: ReleaseConfig) -> str:
    """Return the SHA-256 of everything that the estimate of N depends on. Releases of the same pings share it."""
    return _hash("total", _listed(config, TOTAL))


def identify_release(config: ReleaseConfig, region: str | None, past: Sequence[str] = ()) -> str:
    """Return the SHA-256 of a draw and of how it is denoised and refined; settings that are not used do not count.

    `past` are the ids of the draws of earlier windows that it was denoised with, the oldest first.
    """
    denoise, refine, privacy = config.denoise, config.refine, config.privacy
    content: list[tuple[str, Value]] = [
        ("draw", identify_cells(config)),
        ("region", region),
        ("total_pings", privacy.total_pings if privacy.estimate_total is None else identify_total(config)),
        ("denoising", DENOISING_VERSION),
        ("model", denoise.model),
        ("fused", denoise.uses_fusion),
        ("candidates", list(denoise.models) if denoise.model == "auto" else None),
        *((model, _written(settings)) for model, settings in denoise.network_settings.items()),
        ("refine", refine.method),
        ("concentration", refine.concentration if refine.method == "gamma" else None),
        ("users", refine.users if refine.users != "people" else None),
        ("past", list(past) or None),
    ]
    return _hash("release", [[name, value] for name, value in content if value is not None])


def hash_configuration(config: ReleaseConfig) -> str:
    """Return the SHA-256 of all that a person wrote, for the record."""
    return _hash("configuration", [_written(config)])


def _written(settings: Section) -> dict[str, Any]:
    """Return what a person changed of some settings."""
    return settings.model_dump(mode="json", exclude_defaults=True)


def _listed(config: ReleaseConfig, dependencies: Sequence[Dependency]) -> list[Any]:
    values = [(dependency, dependency.value(config)) for dependency in dependencies]
    return [[dependency.name, value] for dependency, value in values if value != dependency.default]


def _amount(price: Price | None, currency: Currency) -> str | None:
    """Return an amount of a currency; None of a price in the other one."""
    return str(price.amount) if price is not None and price.currency is currency else None


def _known_bound(config: ReleaseConfig) -> int | None:
    """Return k, or the norm, where it is known before anything is read, however it was written."""
    return config.privacy.known_bound


def _box(region: RegionSettings) -> list[Value]:
    return [region.model_dump(mode="json", exclude_none=True)]


def _hash(kind: str, content: list[Any]) -> str:
    canonical = json.dumps([kind, VERSION, content], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
