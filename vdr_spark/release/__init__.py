"""Published releases: Delta tables for SQL, and `Release`, the same as an object for Python."""

from vdr_spark.release.model import Release
from vdr_spark.release.publish import publish
from vdr_spark.release.read import read_release, register_views

__all__ = ["Release", "publish", "read_release", "register_views"]
