"""Small chat messages for tests."""

from __future__ import annotations

import json
from typing import Any

from tallystick.model.trace import Trace
from tallystick.traces import parse


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str | None = None, *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text, **more}
    return {**message, "tool_calls": list(calls)} if calls else message


def call(id_: str | None, name: str, args: Any = None) -> dict[str, Any]:
    text = args if isinstance(args, str) else json.dumps(args or {})
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": text}}


def tool(id_: str | None, content: Any, **more: Any) -> dict[str, Any]:
    text = content if isinstance(content, str) else json.dumps(content)
    message = {"role": "tool", "content": text, **more}
    return message if id_ is None else {**message, "tool_call_id": id_}


def traced(*messages: dict[str, Any]) -> Trace:
    (trace,) = parse(json.dumps(list(messages)).encode(), name="t")
    return trace


def codes(trace: Trace) -> list[str]:
    return [d.code for d in trace.damage]
