"""Small conversations for audit tests: calls with their results inline, as an agent's turn records them."""

from __future__ import annotations

import json
from typing import Any

from tallystick.audit import Report, audit_trace
from tallystick.model.trace import Trace
from tallystick.traces import parse


def did(name: str, args: dict[str, Any], result: Any = ...) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "arguments": args}
    return made if result is ... else {**made, "result": result}


def agent(text: str, *calls: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    return {**message, "tool_calls": list(calls)} if calls else message


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def trace_of(*messages: dict[str, Any]) -> Trace:
    (trace,) = parse(json.dumps({"conversation": list(messages)}).encode(), name="t")
    return trace


def audited(*messages: dict[str, Any], **options: Any) -> Report:
    return audit_trace(trace_of(*messages), **options)


def found(report: Report) -> list[tuple[str, str]]:
    """The findings as (code, severity), in order."""
    return [(f.code, f.severity) for f in report.findings]


ORDER = did("get_order", {"order_id": "O-17"}, {"order_id": "O-17", "total": 40, "item_id": "I-7"})
ASK = user("Please cancel O-17.")
