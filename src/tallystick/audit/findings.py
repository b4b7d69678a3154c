"""What an audit says: findings with a stable code, and one report per trace."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

Severity = Literal["error", "warning", "info"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "info")


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """One thing an audit found in one trace.

    Attributes:
        code: stable dotted code of the rule (`docs/reference/audit-rules.md`).
        severity: error, the record contradicts or does not support what was done or said; warning, a practice that
            often goes wrong; info, worth knowing.
        message: a sentence, user input in backticks.
        at: 0-based position of the message spoken about, or None for the whole trace.
        call: minted id of the call (`m2.c0`), or "".
        pointer: JSON Pointer into the call's arguments (`/args/...`) or result (`/result/...`), or "".
        guess: the finding rests on a guess, that a tool writes or what words mean, that nothing declared.
        evidence: minted ids of calls and positions of messages (`m3`) it rests on.
        reasons: for a finding of the act gate, the decision's reason codes.
    """

    code: str
    severity: Severity
    message: str
    at: int | None = None
    call: str = ""
    pointer: str = ""
    guess: bool = False
    evidence: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


class ToolUse(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool was taken to be: `read`, `write` or `unknown`, why, and whether that is a guess."""

    effect: Literal["read", "write", "unknown"]
    because: str
    guess: bool


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The audit of one trace.

    Attributes:
        trace: the trace's id.
        source: where it was read from.
        format: its format.
        sha256: of the bytes it was read from.
        messages: how many messages, `calls` how many calls, `paired` how many of those have their result.
        quarantined: why no evidence may be taken from it; empty where it may.
        tools: for each tool called, what it was taken to be.
        findings: in order of appearance.
    """

    trace: str
    source: str
    format: str
    sha256: str
    messages: int
    calls: int
    paired: int
    quarantined: tuple[str, ...] = ()
    tools: dict[str, ToolUse] = {}
    findings: tuple[Finding, ...] = ()

    def count(self, severity: Severity) -> int:
        """Return how many findings have `severity`."""
        return sum(f.severity == severity for f in self.findings)

    @property
    def flagged(self) -> bool:
        """Whether there is at least one finding of severity error."""
        return any(f.severity == "error" for f in self.findings)

    def to_json(self) -> Any:
        """Return plain JSON values."""
        return msgspec.to_builtins(self)
