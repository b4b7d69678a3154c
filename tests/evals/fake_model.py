"""An OpenAI-compatible endpoint on loopback whose model plays a path: real HTTP, real harnesses, no model."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tallystick.evals.evidence.case import Case
from tallystick.evals.evidence.paths import Step, reference

Reply = Callable[[dict[str, Any]], dict[str, Any]]
"""From a request to the assistant message, or to `{"status": N}`."""


def call(name: str, args: dict[str, Any] | str, number: int = 0) -> dict[str, Any]:
    raw = args if isinstance(args, str) else json.dumps(args)
    made = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": raw}}
    return {"role": "assistant", "content": None, "tool_calls": [made]}


@dataclass
class Path:
    """A model that makes the steps of the right path for whichever case its prompt is about."""

    cases: Sequence[Case]
    steps: Callable[[Case], Sequence[Step]] = reference
    seen: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, request: dict[str, Any]) -> dict[str, Any]:
        self.seen.append(request)
        messages = request["messages"]
        asked = next(m["content"] for m in messages if m["role"] == "user")
        case = next(c for c in self.cases if c.public.text in asked)
        told = [json.loads(m["content"]) for m in messages if m["role"] == "tool"]
        path = (
            self.steps(case) if case.protocol != "Legacy" else [Step(tool="submit", args={"label": case.private.label})]
        )
        results = {s.node: r for s, r in zip(path, told, strict=False) if s.node}
        step = path[len(told)]
        args = {**step.args, **{name: results[node][name] for name, node in step.cites.items()}}
        return call(step.tool, args, len(told))


def whole(request: dict[str, Any]) -> bool:
    """Whether every call in the history has arguments that are JSON; real servers fail where one has not."""
    try:
        for message in request["messages"]:
            for made in message.get("tool_calls") or []:
                json.loads(made["function"]["arguments"])
    except ValueError:
        return False
    return True


@contextmanager
def endpoint(reply: Reply) -> Iterator[str]:
    """Serve `reply` and yield the base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            message = reply(request) if whole(request) else {"status": 500, "message": "cannot parse the history"}
            status = message.pop("status", 200)
            usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
            body = {"id": "r", "object": "chat.completion", "model": request["model"], "usage": usage}
            body["choices"] = [{"index": 0, "message": message, "finish_reason": "stop"}]
            raw = json.dumps(body if status == 200 else {"error": message}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
