"""Audit traces: one, the bytes of a file, or everything under some paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tallystick.audit.case import Case
from tallystick.audit.findings import Finding, Report
from tallystick.audit.rules import RULES
from tallystick.audit.tools import Tools
from tallystick.contracts.types import Contract
from tallystick.model.trace import Trace
from tallystick.traces.formats import AUTO, parse


def audit_trace(
    trace: Trace, *, contract: Contract | None = None, writes: Iterable[str] | None = None, tools: Tools | None = None
) -> Report:
    """Return the report of one trace.

    Args:
        trace: an imported conversation.
        contract: judge each consequential call by its act gate as well, before its receipt.
        writes: names of tools that write; the others then read. Without it, `tools` or a guess from names decides.
        tools: what each tool is; made from `contract` and `writes` where not given.
    """
    tools = tools or Tools(writes=writes, contract=contract)
    case = Case(trace, tools)
    for rule in RULES:
        rule(case)
    return Report(
        trace=trace.id,
        source=trace.source,
        format=trace.format,
        sha256=trace.sha256,
        messages=len(trace.messages),
        calls=len(case.steps),
        paired=sum([s.call.result is not None for s in case.steps]),
        quarantined=tuple(d.message for d in trace.damage if d.code.startswith("pairing.")),
        tools=case.used,
        findings=tuple(sorted(case.findings, key=_place)) if case.findings else (),
    )


def _place(finding: Finding) -> tuple[int, str, str]:
    return (finding.at if finding.at is not None else -1, finding.call, finding.code)


def audit_bytes(data: bytes, name: str, *, tools: Tools, format: str = AUTO) -> Iterator[Report]:  # noqa: A002
    """Yield the reports of the traces in `data`."""
    for trace in parse(data, name=name, format=format):
        yield audit_trace(trace, tools=tools)
