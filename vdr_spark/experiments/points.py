"""Points of a sweep, by kind: one setting and one draw of the noise in, rows of figures out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from vdr_spark.arrays import Slices
from vdr_spark.errors import InvalidConfig
from vdr_spark.evaluate.metrics import relative_error, smoothing
from vdr_spark.experiments.draws import (
    Released,
    Setting,
    denoise,
    kept_of,
    make_noisy,
    plan_release,
    release_arrays,
    sample_noise,
)
from vdr_spark.experiments.measures import Row, Truth, measure
from vdr_spark.experiments.numbers import positive, whole
from vdr_spark.experiments.out_of_sample import release_last_slices
from vdr_spark.experiments.places import Place
from vdr_spark.refine import choose_refinement

_OF_DENOISING = "denoise."
_OF_THE_SWEEP = ("lambda", "learn_days", "judged_days")  # beside the fields of `Setting`
_NOT_SET = ("are_users", "roam", "denoise")  # fields that the place decides, or that have dotted names
_FACTORS = np.geomspace(0.02, 3.0, 121)  # that brute force tries, of N / n


@dataclass(frozen=True)
class Found:
    """What a point found: rows, what there is to say about the release, and slices to be looked at (M, M)."""

    rows: list[Row]
    about: dict[str, float] = field(default_factory=dict)
    panels: dict[str, Slices] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """What a point is asked: the pings, the settings of the release, what to measure and how."""

    place: Place
    truth: Truth
    settings: Mapping[str, Any]
    measures: Sequence[str]
    options: Mapping[str, Any]
    draw: int

    @property
    def setting(self) -> Setting:
        """The settings of the release."""
        return read_setting(self.settings, self.place, len(self.truth.data.cells))

    def measure(self, released: Released) -> list[Row]:
        """Return how far a tensor is from the truth, in the slices that are judged."""
        judged = len(self.truth.counts)
        parts = (None if layer is None else layer[:judged] for layer in (released.counts, released.deviation))
        counts, deviation = parts
        assert counts is not None
        return measure(self.measures, self.truth, Released(counts, deviation, clump=released.clump), self.options)


def read_setting(settings: Mapping[str, Any], place: Place, total: int) -> Setting:
    """Return settings of a sweep as those of a release; `lambda` gives k = lambda N."""
    known = {name for name in Setting.__dataclass_fields__ if name not in _NOT_SET}
    unknown = [name for name in settings if name not in {*known, *_OF_THE_SWEEP} and not name.startswith(_OF_DENOISING)]
    if unknown:
        raise InvalidConfig(
            f"a setting of an experiment must be one of {', '.join(sorted({*known, *_OF_THE_SWEEP}))}, or of the "
            f"sections data. and denoise., not {unknown[0]!r}"
        )
    k = place.base.k
    if "lambda" in settings:
        k = max(1, round(positive("lambda", settings["lambda"]) * total))
    given = {"k": k} | {name: value for name, value in settings.items() if name in known}
    given["k"] = whole("k", given["k"])
    given["epsilon"] = str(given.get("epsilon", "6" if place.are_users else "0.2"))
    if not place.are_users:
        given["k"] = 1
    denoising = {
        name.removeprefix(_OF_DENOISING): of for name, of in settings.items() if name.startswith(_OF_DENOISING)
    }
    return Setting(**given, are_users=place.are_users, roam=place.base.roam, denoise=denoising)


def release_point(question: Question) -> Found:
    """Make one release and measure it."""
    days, per_day = question.settings.get("learn_days"), question.truth.data.grid.slices_per_day
    learn = None if days is None else round(days * per_day)
    setting = question.setting
    released = release_arrays(question.truth.data, setting, question.draw, learn)
    return Found(question.measure(released), _describe(question, setting), _panels(question, setting, released))


def out_of_sample_point(question: Question) -> Found:
    """Judge the last `judged_days` by a network that learnt from the days before, and by one that learnt from them."""
    data, setting = question.truth.data, question.setting
    days = (question.settings[name] for name in ("judged_days", "learn_days"))
    judged, learn = (round(of * data.grid.slices_per_day) for of in days)
    later = replace(question, truth=Truth(data.last(judged)))
    rows = [
        row | {"sample": sample}
        for sample, released in release_last_slices(data, setting, question.draw, judged, learn)
        for row in later.measure(released)
    ]
    return Found(rows, _describe(question, setting))


def split_point(question: Question) -> Found:
    """Measure what bounding and what noise do to the counts, each alone, together, and after denoising.

    Scaled by N / n: the kept counts without noise; all counts with noise; the kept counts with noise.
    """
    data, setting = question.truth.data, question.setting
    plan = plan_release(setting, data.grid, len(data.cells))
    kept = data.kept(setting.k, setting.bounding, question.draw)
    scale = np.float32(len(data.cells) / max(1.0, float(kept.sum(dtype=np.float64))))
    noise = sample_noise(plan, question.draw, range(data.grid.slices)).astype(np.float32) * scale
    parts = {
        "sampling alone": kept * scale,
        "noise alone": data.truth + noise,
        "sampling and noise": kept * scale + noise,
    }
    rows = [row | {"part": part} for part, counts in parts.items() for row in question.measure(Released(counts))]
    released = release_arrays(data, setting, question.draw)
    rows += [row | {"part": f"released ({setting.method})"} for row in question.measure(released)]
    return Found(rows, _describe(question, setting))


def refinement_point(question: Question) -> Found:
    """Denoise once, and scale from kept to all pings by every rule of `options.rules`.

    `none` leaves the estimate of the kept pings as it is. Brute force looks at the truth, as nobody may who
    releases: of 121 factors from 0.02 to 3 times N / n the one with the least relative error, and the factor with
    the least squared error, which has a closed form. It is what a factor can do at best.
    """
    data, setting = question.truth.data, question.setting
    total = len(data.cells)
    plan = plan_release(setting, data.grid, total)
    noisy = make_noisy(data, plan, question.draw)
    estimate, kept = denoise(noisy, plan)[0], kept_of(noisy, plan)
    rows = []
    for rule, concentration in _rules(question.options):
        if rule in ("none", "least relative error", "least squared error"):
            factor = _constant_factor(rule, question.truth, estimate.counts, total / kept)
            refined = Released(estimate.counts * np.float32(factor))
        else:
            changed = replace(setting, refine=rule, concentration=concentration or setting.concentration)
            refinement = choose_refinement(plan_release(changed, data.grid, total), kept, total, estimate)
            scaled = refinement.apply(estimate)
            factor, refined = refinement.factor, Released(scaled.counts, scaled.deviation)
        asked = {"rule": rule} | ({} if concentration is None else {"concentration": concentration})
        rows += [row | asked for row in question.measure(refined)]
        rows.append(asked | {"measure": "factor", "factor": factor * kept / total})
    return Found(rows, _describe(question, setting))


def _rules(options: Mapping[str, Any]) -> list[tuple[str, float | None]]:
    """Return rules of refinement, `gamma` once for every C."""
    known = ("none", "ratio", "calibrated", "gamma", "least relative error", "least squared error")
    rules: list[tuple[str, float | None]] = []
    for rule in options.get("rules", ["none", "ratio", "gamma", "calibrated"]):
        if rule not in known:
            raise InvalidConfig(f"options.rules: a rule must be one of {', '.join(known)}, not {rule!r}")
        rules += [(rule, c) for c in options.get("concentrations", [None])] if rule == "gamma" else [(rule, None)]
    return rules


def _constant_factor(rule: str, truth: Truth, counts: Slices, ratio: float) -> float:
    if rule == "none":
        return 1.0
    if rule == "least squared error":
        products = sum(float(np.vdot(a.astype(np.float64), b)) for a, b in zip(truth.counts, counts, strict=True))
        squares = sum(float(np.square(layer, dtype=np.float64).sum()) for layer in counts)
        return max(products / max(squares, 1e-12), 0.0)
    queries, psi = truth.ranges(truth.side_m, 4 * truth.side_m, 1), smoothing(truth.counts)
    true, found = queries.answers(truth.counts), queries.answers(counts)
    return ratio * float(min(_FACTORS, key=lambda factor: relative_error(true, factor * ratio * found, psi)))


def _describe(question: Question, setting: Setting) -> dict[str, float]:
    """Return how large the release is, and how much noise a cell has: exact figures, for the record."""
    data = question.truth.data
    deviation = float(np.sqrt(2.0) * setting.k / float(Fraction(setting.epsilon)))
    kept = data.number_kept(setting.k) if setting.are_users else len(data.cells)
    return {
        "pings": len(data.cells),
        "kept": kept,
        "k": setting.k,
        "noise_deviation": deviation,
        "cells": data.grid.size,
    }


def _panels(question: Question, setting: Setting, released: Released) -> dict[str, Slices]:
    """Return the busiest slice, true, noisy (scaled to N) and denoised, of the first draw, where asked for."""
    if not question.options.get("picture") or question.draw > 0:
        return {}
    data, busiest = question.truth.data, int(question.truth.counts.sum(axis=(1, 2)).argmax())
    noisy = release_arrays(data, replace(setting, method="identity", refine=None, denoise={}), question.draw)
    layers = {"true": question.truth.counts, "noisy": noisy.counts, "denoised": released.counts}
    return {name: layer[busiest] for name, layer in layers.items()}


POINTS: dict[str, Callable[[Question], Found]] = {
    "release": release_point,
    "out_of_sample": out_of_sample_point,
    "split": split_point,
    "refinement": refinement_point,
}
"""Kinds of points by name."""
