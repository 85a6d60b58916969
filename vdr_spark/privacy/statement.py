"""The privacy statement: what a release promises, to whom, and at what price. Known before any data are read."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from vdr_spark.config import ReleaseConfig
from vdr_spark.privacy.mechanism import noise_variance

UNIT = "user"
ADJACENCY = "two datasets that differ by all the pings of one user, added or removed"


def privacy_statement(config: ReleaseConfig) -> dict[str, Any]:
    """Everything a reader needs to judge the promise; nothing in it depends on the data."""
    privacy = config.privacy
    return {
        "protected": privacy.protected,
        "privacy_unit": UNIT,
        "adjacency": ADJACENCY,
        "definition": "pure epsilon differential privacy",
        "epsilon": str(privacy.epsilon),
        "epsilon_by_stage": {
            "collect": str(privacy.epsilon),
            "denoise": "0",
            "refine": "0",
            "publish": "0",
        },
        "mechanism": {
            "name": privacy.mechanism,
            "scale": str(privacy.scale),
            "standard_deviation": noise_variance(privacy) ** 0.5,
            "sampler": "exact, integers only",
            "randomness": "operating system" if privacy.protected else "a test seed: protects nobody",
        },
        "bounding": {
            "method": privacy.bounding,
            "pings_per_user": privacy.bound,
            "sensitivity_l1": privacy.bound,
            "counts_are_multiples_of": f"1/{privacy.unit}" if privacy.unit > 1 else "1",
        },
        "declared_public": {
            "total_pings": privacy.total_pings,
            "box": vars(config.domain.box),
            "boxes_under_the_same_bound": [vars(grid.box) for grid in config.grids],
            "period": [config.domain.start.isoformat(), config.domain.end.isoformat()],
            "slice_seconds": config.domain.slice_seconds,
            "cells": config.domain.cells,
            "concentration": config.refine.concentration,
            "input_schema": "names and types of the input's columns are read before the budget is booked",
        },
        "post_processing": [
            config.denoise.model,
            "fusion" if config.denoise.fused else "no fusion",
            config.refine.method,
        ],
        "code_version": version("vdr-spark"),
    }
