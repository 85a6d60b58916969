"""The audit of a published release, without a single ping."""

from vdr_spark.audit.checks import Finding, audit

__all__ = ["Finding", "audit"]
