"""Packages that a runtime brings along, so that the wheel does not ask for them, and the sentence where one is missing.

Installed over a runtime's own, another Spark, Delta or PyTorch would break what the runtime was built with.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vdr_spark.errors import EnvironmentProblem

# By the name that is imported: what needs it, what to install, our extra with it.
_PACKAGES = {
    "pyspark": ("this needs Spark", "pyspark", "local"),
    "py4j": ("this needs Spark", "pyspark", "local"),
    "delta": ("tables are written by Delta", "delta-spark", "local"),
    "torch": ("networks are trained by PyTorch", "torch", "train"),
    "dp_accounting": ("what rho is as an epsilon is worked out by dp-accounting", "dp-accounting", "rho"),
    "rasterio": ("GeoTIFF is written by rasterio", "rasterio", "export"),
    "zarr": ("Zarr is written by xarray and zarr", "zarr", "export"),
    "h3": ("hexagons are H3's", "h3", "export"),
}


@contextmanager
def explain_missing_packages() -> Iterator[None]:
    """Say which package is missing, and what to install, where an import in this block fails for want of it."""
    try:
        yield
    except ModuleNotFoundError as problem:
        if problem.name not in _PACKAGES:  # of a part of a package too: that is another version, not a missing one
            raise
        need, package, extra = _PACKAGES[problem.name]
        raise EnvironmentProblem(
            f"{need}, but the package {package} is not installed; on a machine of your own run: "
            f"pip install vdr-spark[{extra}]; on a cluster or runtime use the Python that comes with it, or install "
            f"the {package} that fits it"
        ) from problem
