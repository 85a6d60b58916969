"""Refinement: bounding made the counts too small; scale them to all pings.

`gamma` is the paper's factor, which minimises squared error where the tensor still carries its noise:
gamma = n N C / (2 m k**2 / epsilon**2 + (1 - C) n + C n**2), with n pings kept, N in all, m cells and C the sum of
squared cell shares. Its first term shrinks the tensor because noise is in it. A posterior mean has been shrunk
already, by just as much as its noise deserves, so after fusion the right factor is `ratio`, N / n.

N is declared public by the configuration. n is estimated from the noisy tensor, so nothing here costs privacy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.slices import read_region
from vdr_spark.denoise.stage import DENOISED
from vdr_spark.tensor_file import read_tensor, write_tensor
from vdr_spark.workspace import Workspace, exists, write_json

REFINED = "refined.parquet"
REFINEMENT = "refined.json"


def refine(files: Sequence[str], config: ReleaseConfig) -> bool:
    """Scale the denoised tensor of a configuration; False where that was done already."""
    workspace = Workspace.of(config)
    if exists(workspace.stage(REFINED)):
        return False
    denoised = read_tensor(workspace.stage(DENOISED), config.grid.cells)
    kept, total = pings_of_region(files, config)
    factor = FACTORS[config.refine.method](config, kept, total)
    method = config.refine.method
    write_json(workspace.stage(REFINEMENT), {"method": method, "gamma": factor, "estimated_kept": kept})
    write_tensor(workspace.stage(REFINED), denoised.scaled(factor))
    return True


def pings_of_region(files: Sequence[str], config: ReleaseConfig) -> tuple[float, float]:
    """n and N of the configuration's region. Where a draw has several, N is shared out among them as n is."""
    views = config.model_copy(update={"focus": None}).views()
    kept = {view.focus: pings_kept(read_region(files, view), config.privacy.total_pings) for view in views}
    ours = kept[config.focus]
    return ours, config.privacy.total_pings * (ours / sum(kept.values()))


def pings_kept(noisy: NDArray[np.float32], total_pings: int) -> float:
    """n, estimated by the noisy tensor's sum, within the 1 .. N that it can be."""
    return min(float(total_pings), max(1.0, float(noisy.sum(dtype=np.float64))))


def gamma(config: ReleaseConfig, kept: float, total: float) -> float:
    """The paper's factor for a tensor that still carries its noise."""
    n, share = kept, config.refine.concentration
    noise = 2 * config.domain.size * float(config.privacy.scale) ** 2
    return n * total * share / (noise + (1 - share) * n + share * n**2)


def ratio(config: ReleaseConfig, kept: float, total: float) -> float:  # noqa: ARG001  as `gamma`
    """N / n."""
    return total / kept


FACTORS = {"gamma": gamma, "ratio": ratio}
