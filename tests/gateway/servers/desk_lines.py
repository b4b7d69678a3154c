"""A small MCP server on standard streams, of the standard library only: the invoice desk, and ways to misbehave.

    python desk_lines.py DESK [FAULT]

It notes every line it gets in DESK.seen, so that a test sees what reached it. FAULT is one of: `die-in-pay` (exits
after paying, before it answers), `hang-in-pay` (pays and never answers), `slow-end` (answers its last request only
after its input has ended), `ignore-end` (does not end by itself).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

from tallystick.demo.desk import Desk
from tallystick.demo.schemas import SCHEMAS

desk = Desk(sys.argv[1])
fault = sys.argv[2] if len(sys.argv) > 2 else ""
tools = [
    {"name": s["function"]["name"], "inputSchema": s["function"]["parameters"], "description": "of the desk"}
    for s in SCHEMAS
]


def handle(method: str, params: dict[str, Any]) -> Any:
    if method == "initialize":
        info = {"name": "desk", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        half = len(tools) // 2
        return {"tools": tools[half:]} if params.get("cursor") else {"tools": tools[:half], "nextCursor": "2"}
    if method == "tools/call":
        result = desk.tools()[params["name"]](**params.get("arguments", {}))
        if params["name"] == "pay_invoice" and fault == "die-in-pay":
            os._exit(3)
        if params["name"] == "pay_invoice" and fault == "hang-in-pay":
            return None
        return {"content": [{"type": "text", "text": json.dumps(result)}]}
    return {"echo": params}


def say(message: Any) -> None:
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
    sys.stdout.buffer.flush()


if fault == "ignore-end":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
held: list[Any] = []
with open(sys.argv[1] + ".seen", "ab", buffering=0) as seen:  # noqa: PTH123 - plain on purpose
    for line in sys.stdin.buffer:
        seen.write(line)
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = handle(message["method"], message.get("params") or {})
        if result is None:
            continue
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        if fault == "slow-end" and message["method"] == "tools/call":
            held.append(answer)
        else:
            say(answer)
for answer in held:
    time.sleep(0.3)
    say(answer)
while fault == "ignore-end":
    time.sleep(1)
