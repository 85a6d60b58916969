"""An earlier window of a series, as far as denoising needs it."""

from __future__ import annotations

from dataclasses import dataclass

from vdr_spark.plan import ReleasePlan


@dataclass(frozen=True)
class PastWindow:
    """The noisy tensor of an earlier window: its live Parquet files, and its plan for the same region."""

    files: tuple[str, ...]
    release: ReleasePlan
