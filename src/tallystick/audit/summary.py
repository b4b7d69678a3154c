"""What an audit counts, and the exit code that follows."""

from __future__ import annotations

from typing import Any, Final

from tallystick.audit.findings import SEVERITIES, Report

CLEAN: Final = 0
FINDINGS: Final = 1
BAD_INPUT: Final = 2


class Summary:
    """Counts that grow by rule, never by trace."""

    def __init__(self) -> None:
        self.traces = self.calls = self.paired = self.flagged = self.quarantined = self.skipped = self.bad = 0
        self.unusable = self.noted = 0
        self.severities: dict[str, int] = dict.fromkeys(SEVERITIES, 0)
        self.rules: dict[tuple[str, str], list[int]] = {}
        self.guessed: dict[str, str] = {}

    def add(self, report: Report) -> None:
        """Count one report; one without a message is about a line of a log that holds no conversation."""
        self.traces += report.messages > 0
        self.unusable += report.messages == 0
        self.noted += any(f.severity == "warning" for f in report.findings) and not report.flagged
        self.calls += report.calls
        self.paired += report.paired
        self.flagged += report.flagged
        self.quarantined += bool(report.quarantined)
        for name, use in report.tools.items():
            if use.guess and use.effect == "write" and len(self.guessed) < 200:
                self.guessed.setdefault(name, use.because)
        met = set()
        for finding in report.findings:
            self.severities[finding.severity] += 1
            count = self.rules.setdefault((finding.code, finding.severity), [0, 0])
            count[0] += 1
            count[1] += (finding.code, finding.severity) not in met
            met.add((finding.code, finding.severity))

    @property
    def code(self) -> int:
        """The exit code: bad input before findings before clean. Findings of severity info do not count.

        A line of a log that holds nothing readable is bad input, like a file that cannot be read; what is whole around
        it is audited all the same.
        """
        if self.bad or self.unusable:
            return BAD_INPUT
        return FINDINGS if self.severities["error"] or self.severities["warning"] else CLEAN

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "traces": self.traces,
            "calls": self.calls,
            "paired": self.paired,
            "flagged": self.flagged,
            "with_warnings_only": self.noted,
            "quarantined": self.quarantined,
            "unusable_lines": self.unusable,
            "findings": self.severities,
            "rules": [
                {"code": code, "severity": severity, "findings": n, "traces": traces}
                for (code, severity), (n, traces) in sorted(self.rules.items())
            ],
            "guessed_writes": self.guessed,
            "bad_files": self.bad,
            "skipped_files": self.skipped,
        }
