"""Every baseline is found by its name."""

import pytest

from vdr_spark.baselines.registry import BASELINES, find_baseline
from vdr_spark.errors import InvalidConfig


def test_all_published_methods_are_there() -> None:
    names = "identity ug ag hb_striped quadtree privelet ahp mwem privbayes dawa_striped dawa_proven privtree htf"
    assert list(BASELINES) == names.split()
    assert all(find_baseline(name).name == name for name in BASELINES)


def test_an_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(InvalidConfig, match=r"identity, ug, .*, htf, not 'kd_tree'"):
        find_baseline("kd_tree")
