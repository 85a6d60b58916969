"""What an audit found, for programs, terminals and notebooks."""

from __future__ import annotations

import html
from dataclasses import asdict, dataclass
from typing import Any

from vdr_spark.audit.subject import Finding
from vdr_spark.release.withdrawals import Withdrawal

MARKS = {True: "✓", None: "?", False: "✗"}


@dataclass(frozen=True)
class AuditReport:
    """The findings about one release."""

    release_id: str
    findings: tuple[Finding, ...]
    withdrawal: Withdrawal | None = None  # that a release was withdrawn is no fault of it, and is said

    @property
    def holds(self) -> bool:
        """Whether nothing was found that does not hold; what cannot be told is no fault."""
        return all(finding.holds is not False for finding in self.findings)

    @property
    def title(self) -> str:
        """Which release it is, and whether it may be used."""
        return f"Release {self.release_id}" + (f", {self.withdrawal.banner}" if self.withdrawal else "")

    @property
    def verdict(self) -> str:
        return "All of it holds." if self.holds else "Not all of it holds."

    def as_dict(self) -> dict[str, Any]:
        findings = [asdict(f) for f in self.findings]
        withdrawn = self.withdrawal and self.withdrawal.as_dict()
        return {"release_id": self.release_id, "holds": self.holds, "findings": findings, "withdrawn": withdrawn}

    def __str__(self) -> str:
        lines = [f"  {MARKS[f.holds]} {f.check:<15}{f.found}" for f in self.findings]
        return "\n".join([self.title, *lines, self.verdict])

    def _repr_html_(self) -> str:
        cells = (
            f"<tr><td>{MARKS[f.holds]}</td><td>{html.escape(f.check)}</td>"
            f'<td style="text-align:left">{html.escape(f.found)}</td></tr>'
            for f in self.findings
        )
        title = f"Audit of {html.escape(self.title)}. {self.verdict}"
        return f"<table><caption>{title}</caption>{''.join(cells)}</table>"
