"""The baselines by name, each with its published settings."""

from __future__ import annotations

from vdr_spark.baselines.adaptive_grid import AdaptiveGrid
from vdr_spark.baselines.ahp import Ahp
from vdr_spark.baselines.baseline import Baseline
from vdr_spark.baselines.dawa import Dawa, proven_noise
from vdr_spark.baselines.hb import Hb
from vdr_spark.baselines.htf import Htf
from vdr_spark.baselines.identity import Identity
from vdr_spark.baselines.mwem import Mwem
from vdr_spark.baselines.privbayes import PrivBayes
from vdr_spark.baselines.privelet import Privelet
from vdr_spark.baselines.privtree import PrivTree
from vdr_spark.baselines.quadtree import QuadTree
from vdr_spark.baselines.uniform_grid import UniformGrid
from vdr_spark.errors import InvalidConfig

_ALL: tuple[Baseline, ...] = (
    Identity(),
    UniformGrid(),
    AdaptiveGrid(),
    Hb(),
    QuadTree(),
    Privelet(),
    Ahp(),
    Mwem(),
    PrivBayes(),
    Dawa(),
    Dawa("dawa_proven", proven_noise),
    PrivTree(),
    Htf(),
)

BASELINES: dict[str, Baseline] = {baseline.name: baseline for baseline in _ALL}
"""Baselines by name, in the order in which a table shows them."""


def find_baseline(name: str) -> Baseline:
    """Return the named baseline."""
    if name not in BASELINES:
        raise InvalidConfig(f"a baseline must be one of {', '.join(BASELINES)}, not {name!r}")
    return BASELINES[name]
