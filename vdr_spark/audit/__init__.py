"""The audit of a published release: does everything that was promised agree with everything that is there?

It reads the tables, the ledger and the statement, and no ping. Anyone who may read the noisy slices can repeat it.
`audit` runs the `checks` on one release, its `subject`.
"""

from vdr_spark.audit.audit import audit
from vdr_spark.audit.report import AuditReport
from vdr_spark.audit.subject import Finding

__all__ = ["AuditReport", "Finding", "audit"]
