"""What an audit found, for programs, terminals and notebooks."""

from __future__ import annotations

import html
from dataclasses import asdict, dataclass
from typing import Any

from vdr_spark.audit.subject import Finding

MARKS = {True: "✓", None: "?", False: "✗"}


@dataclass(frozen=True)
class AuditReport:
    """The findings about one release."""

    release_id: str
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing was found that does not hold; what cannot be told is no fault."""
        return all(finding.holds is not False for finding in self.findings)

    @property
    def verdict(self) -> str:
        return "All of it holds." if self.holds else "Not all of it holds."

    def as_dict(self) -> dict[str, Any]:
        return {"release_id": self.release_id, "holds": self.holds, "findings": [asdict(f) for f in self.findings]}

    def __str__(self) -> str:
        lines = [f"  {MARKS[f.holds]} {f.check:<15}{f.found}" for f in self.findings]
        return "\n".join([f"Release {self.release_id}", *lines, self.verdict])

    def _repr_html_(self) -> str:
        cells = (
            f"<tr><td>{MARKS[f.holds]}</td><td>{html.escape(f.check)}</td>"
            f'<td style="text-align:left">{html.escape(f.found)}</td></tr>'
            for f in self.findings
        )
        title = f"Audit of release {html.escape(self.release_id)}: {self.verdict}"
        return f"<table><caption>{title}</caption>{''.join(cells)}</table>"
