"""Settings: `settings` says what there is, `values` how a value is written, `file` reads YAML and overrides."""

from vdr_spark.config.file import load_config
from vdr_spark.config.settings import ReleaseConfig, absolute

__all__ = ["ReleaseConfig", "absolute", "load_config"]
