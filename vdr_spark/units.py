"""The unit of weighted counts, apart from everything else: tasks in Spark's Python workers need it and little more."""

from __future__ import annotations

WEIGHT_UNIT = 2**20
"""Weights of pings are whole multiples of 1 / WEIGHT_UNIT, so that counts and noise stay integers."""
