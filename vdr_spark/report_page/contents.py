"""What a report is made of: the release, and around it the budget book, trainings, codes, and where asked the truth."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vdr_spark.denoise.networks.training_log import read_training_log
from vdr_spark.errors import VdrError
from vdr_spark.release.release import Release
from vdr_spark.report_page.budget_book import BudgetBook, read_book
from vdr_spark.report_page.figure_sections import TrainingLog
from vdr_spark.report_page.truth_section import SideBySide
from vdr_spark.storage.places import LedgerPlaces, OutputFolder, ReleaseFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from vdr_spark.denoise.networks.code_tiles import CodeTiles

logger = logging.getLogger(__name__)
_NETWORKS = {"vqvae": "VQ-VAE, the paper's model", "vae": "VAE", "blindspot": "blind-spot network"}


@dataclass(frozen=True)
class Contents:
    """All that is told. Without a truth, all of it is published, or was made from noisy counts."""

    release: Release
    book: BudgetBook | None = None  # None: what the statement knows of it
    training: Mapping[str, TrainingLog] = field(default_factory=dict)
    codes: CodeTiles | None = None
    truth: SideBySide | None = None  # makes the page part of an evaluation: it must not lie with the release
    conf: str | None = None  # the configuration, as people name it in commands


def gather(
    release: Release,
    output: OutputFolder,
    ledger: LedgerPlaces,
    open_spark: Callable[[], SparkSession],
    conf: str | None = None,
    truth: SideBySide | None = None,
) -> Contents:
    """Return what lies around a release in its output folder. A ledger that was changed is refused, not passed over."""
    folder = output.work(release.release_id)
    return Contents(
        release,
        read_book(ledger, release.dataset, open_spark),
        read_trainings(folder),
        read_codes(release, folder),
        truth,
        conf,
    )


def read_trainings(folder: ReleaseFolder) -> dict[str, TrainingLog]:
    """Return the logs of the networks that were trained for a release, as far as its work folder is still there."""
    found: dict[str, TrainingLog] = {}
    for model, name in _NETWORKS.items():
        try:
            log = read_training_log(folder.network(model))
        except (ValueError, OSError):  # half a line, or a folder that is closed to us: no reason to have no report
            logger.warning("no training curve of %s: its log cannot be read", model)
            continue
        if log:
            found[name] = log
    return found


def read_codes(release: Release, folder: ReleaseFolder) -> CodeTiles | None:
    """Return the codebook where the release was made with one, and its checkpoint and PyTorch are there."""
    if release.model.split("+")[0] != "vqvae":
        return None
    try:
        from vdr_spark.denoise.networks.code_tiles import read_code_tiles

        return read_code_tiles(folder.network("vqvae"))
    except (ImportError, VdrError, RuntimeError, KeyError) as problem:
        logger.warning("no picture of the codes: %s", problem)
        return None
