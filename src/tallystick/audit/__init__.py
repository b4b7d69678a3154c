"""Audit of recorded conversations, with or without a contract. Folded in memory; needs no store."""

from tallystick.audit.findings import Finding, Report, ToolUse
from tallystick.audit.report import run_audit
from tallystick.audit.run import audit_bytes, audit_files, audit_paths, audit_trace
from tallystick.audit.tools import Tools, declared_in

__all__ = [
    "Finding",
    "Report",
    "ToolUse",
    "Tools",
    "audit_bytes",
    "audit_files",
    "audit_paths",
    "audit_trace",
    "declared_in",
    "run_audit",
]
