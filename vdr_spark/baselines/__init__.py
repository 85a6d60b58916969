"""Published competitors of our release, for evaluation on known truth. NOTHING HERE IS A PROTECTED RELEASE.

Noise is seeded and of floating point, so that a comparison can be repeated; no ledger knows of it. Each method is one
file, which says how it divides epsilon and why that is epsilon-differentially private, or where it is not (the
published DAWA, which stands beside a proven one):

- every cell alone: `identity`;
- grids: `uniform_grid` (UG), `adaptive_grid` (AG);
- trees of fixed shape, made consistent by least squares: `hb` (HB), `quadtree`; wavelets: `privelet`;
- trees that follow the data: `privtree`, `htf`;
- clusters of alike cells: `ahp`, and along a curve `dawa`;
- models of the whole: `mwem`, `privbayes`.

They share `baseline` (the protocol, and what all of them are given), `account` (the only source of noise, which
counts what it hands out), `blocks` (sums over parts of a slice) and `hierarchy` (trees, and their constrained
inference). `registry` has them by name.

What was published for two dimensions is run on every slice for itself ("striped"): a ping is in one slice, so slices
compose in parallel, and each has all of epsilon. At event level a ping is protected (sensitivity 1). At user level
counts are bounded to k per user before (sensitivity k): whatever protects a ping at epsilon / k protects k of them at
epsilon.
"""

from vdr_spark.baselines.account import Account
from vdr_spark.baselines.baseline import Baseline, estimate
from vdr_spark.baselines.registry import BASELINES, find_baseline

__all__ = ["BASELINES", "Account", "Baseline", "estimate", "find_baseline"]
