"""Settings: sections in `settings` and `privacy`, joined by `release`; `values` reads values, `file` the YAML."""

from vdr_spark.config.file import load_config
from vdr_spark.config.release import ReleaseConfig

__all__ = ["ReleaseConfig", "load_config"]
