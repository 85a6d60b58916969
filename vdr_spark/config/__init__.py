"""Settings: the sections, joined by `release`; `values` reads values, `file` the YAML, `sentences` tells mistakes."""

from vdr_spark.config.file import load_config
from vdr_spark.config.release import ReleaseConfig

__all__ = ["ReleaseConfig", "load_config"]
