"""Settings of an experiment are looked at before a ping is read: no mistake waits for hours, none is passed over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

from vdr_spark.baselines import BASELINES
from vdr_spark.config.denoise import Model
from vdr_spark.errors import InvalidConfig
from vdr_spark.experiments.draws import SCALED, Setting, plan_release
from vdr_spark.experiments.numbers import positive
from vdr_spark.experiments.places import Place
from vdr_spark.experiments.points import read_setting

_SOME_PINGS = 1_000_000  # N is not known yet, and nothing here depends on it
_IN_DAYS = ("judged_days", "learn_days")


def check_settings(settings: Mapping[str, Any], place: Place) -> None:
    """Refuse settings of a point that no release could be made by, or that would not mean what they say."""
    for name in (name for name in _IN_DAYS if name in settings):
        positive(name, settings[name])
    setting = read_setting(settings, place, _SOME_PINGS)
    if setting.is_baseline:
        _check_baseline(setting)
        setting = replace(setting, method="ridge")  # whose configuration has the same epsilon, bound and cells
    elif setting.model.partition("+")[0] not in ("auto", *get_args(Model)):
        raise InvalidConfig(
            f"method: must be a denoiser, as auto or ridge (see `Setting`), or one of "
            f"{', '.join((*SCALED, *BASELINES))}, not {setting.method!r}"
        )
    plan_release(setting, place.grid, _SOME_PINGS)


def _check_baseline(setting: Setting) -> None:
    """Refuse what no published method's promise is about: their account is of a sum of at most k, for pure epsilon."""
    if setting.bounding == "l2":
        raise InvalidConfig(
            f"bounding: must be sample or weight for {setting.method}, not 'l2': a user with a bounded norm may change "
            "the counts by more than k in sum, and nothing would be protected; leave out published methods, or l2"
        )
    if setting.delta is not None:
        raise InvalidConfig(
            f"delta: published methods such as {setting.method} spend a pure epsilon, so {setting.delta} would have no "
            "meaning; leave out these methods, or delta"
        )
