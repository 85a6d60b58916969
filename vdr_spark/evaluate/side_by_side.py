"""One slice as it was, with its noise, and as it was released: for the report on generated pings."""

from __future__ import annotations

import numpy as np
from pyspark.sql import SparkSession

from vdr_spark.collect.draws import open_draws
from vdr_spark.denoise.petastorm_reader import read_region
from vdr_spark.errors import InvalidQuery
from vdr_spark.evaluate.truth import count_truth
from vdr_spark.plan import Plan
from vdr_spark.release.release import Release
from vdr_spark.report_page.truth_section import SideBySide
from vdr_spark.synth.generate import is_generated


def is_of_generated_pings(plan: Plan) -> bool:
    """Whether `vdr synth` made the pings of a configuration, so that their truth is nobody's secret."""
    path = plan.config.input.path
    return path is not None and is_generated(path)


def compare_slice(spark: SparkSession, plan: Plan, release: Release) -> SideBySide:
    """Return the three versions of the busiest slice. NOT private: it reads the exact counts."""
    draws = open_draws(spark, plan)
    planned = next((of for of in draws.releases() if of.release_id == release.release_id), None)
    if planned is None:
        raise InvalidQuery(
            f"release {release.release_id} is not the configuration's own, and only of that the pings are known; leave "
            "--release out, or give the configuration that made it"
        )
    busiest = int(np.argmax(release.counts.sum(axis=(1, 2), dtype=np.float64)))
    truth = count_truth(spark, plan.config.input, release.grid)[busiest]
    noisy = read_region(draws.cells.files(), planned)[busiest]
    return SideBySide(busiest, *(np.asarray(of, dtype=np.float64) for of in (truth, noisy, release.counts[busiest])))
