"""A tiny OpenAI-compatible endpoint on loopback that plays a list of assistant turns."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Endpoint:
    """`turns` are played in order, the last one again and again; `requests` keeps what was asked."""

    turns: list[Any]
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


def call(name: str, args: Any, *, native_id: str = "call_1") -> dict[str, Any]:
    """Return an assistant turn with one tool call; `args` may be raw text."""
    text = args if isinstance(args, str) else json.dumps(args)
    return turn(None, [{"id": native_id, "type": "function", "function": {"name": name, "arguments": text}}])


def turn(content: str | None, calls: list[Any] | None = None, finish_reason: str = "stop") -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = calls
        finish_reason = "tool_calls"
    return {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}]}


@contextmanager
def serving(*turns: Any) -> Iterator[Endpoint]:
    """Serve `turns`: a dict is a reply, an int is an HTTP status, bytes are sent as they are."""
    endpoint = Endpoint(turns=list(turns))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            endpoint.requests.append(json.loads(body))
            endpoint.paths.append(self.path)
            endpoint.keys.append(self.headers.get("Authorization"))
            played = endpoint.turns[min(len(endpoint.requests), len(endpoint.turns)) - 1]
            status = played if isinstance(played, int) else 200
            raw = (
                played if isinstance(played, bytes) else json.dumps({} if isinstance(played, int) else played).encode()
            )
            self.send_response(status if self.path.partition("?")[0] == "/v1/chat/completions" else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            if 300 <= status < 400:
                self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: Any) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
