"""The table of rules as values: what `docs/reference/audit-rules.md` says of each, and what to do about a finding."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

from tallystick.audit.findings import Severity


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule.

    Attributes:
        code: as in a finding.
        severities: those its findings may have, the gravest first.
        text: what it finds.
        fix: what to do about a finding.
    """

    code: str
    severities: tuple[Severity, ...]
    text: str
    fix: str


@cache
def catalogue() -> dict[str, Rule]:
    """Return every rule by its code, in the order of the reference page."""
    data = (files("tallystick.audit") / "rules.json").read_bytes()
    return {rule.code: rule for rule in msgspec.json.decode(data, type=list[Rule])}
