"""Asking an endpoint: what is told apart, without any model."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tallystick.demo.agents import Job
from tallystick.demo.desk import Desk, Faults
from tallystick.demo.model_agent import ModelAgent
from tallystick.demo.ports import UnguardedPort
from tallystick.errors import InputError
from tallystick.models.endpoint import ChatEndpoint, ContextFullError
from tests.demo.fake_endpoint import serving, turn

SCHEMA = {"type": "object", "properties": {"amount": {"type": "number"}}}


@contextmanager
def refusing(status: int, body: Any) -> Iterator[str]:
    """Answer every request with one status and body."""
    raw = json.dumps(body).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


FULL = [{"type": "exceed_context_size_error"}, {"code": "context_length_exceeded"}]
OTHER = [{"error": {"type": "invalid_request_error"}}, {"error": "no"}, [], "text", {"error": {"type": ["x"]}}]


@pytest.mark.parametrize("error", FULL)
def test_a_full_context_is_told_apart(error: dict[str, str]) -> None:
    with refusing(400, {"error": error}) as url, pytest.raises(ContextFullError):
        ChatEndpoint(base_url=url).complete({"messages": []})


@pytest.mark.parametrize("body", OTHER, ids=str)
def test_any_other_400_is_an_endpoint_that_refuses(body: Any) -> None:
    with refusing(400, body) as url, pytest.raises(InputError, match="answered 400") as bad:
        ChatEndpoint(base_url=url).complete({"messages": []})
    assert not isinstance(bad.value, ContextFullError)


def test_an_agent_whose_context_is_full_leaves_its_run_as_it_stands(tmp_path: Path) -> None:
    port = UnguardedPort(Desk.create(tmp_path / "desk.db", Faults()).tools())
    with refusing(400, {"error": FULL[0]}) as url:
        ModelAgent(model="m", base_url=url).run(port, Job(request="Pay.", invoice="I-7", amount="1.00"))
    assert port.exchanges == []


def test_a_constrained_answer_keeps_numbers_exact_and_asks_for_the_schema() -> None:
    with serving(turn('{"amount": 0.10}')) as endpoint:
        found = ChatEndpoint(base_url=endpoint.url).constrained("m", [{"role": "user", "content": "?"}], SCHEMA)
    assert str(found["amount"]) == "0.10"
    (asked,) = endpoint.requests
    assert asked["response_format"]["json_schema"]["schema"] == SCHEMA
    assert asked["temperature"] == 0
    assert asked["max_tokens"] == 256


@pytest.mark.parametrize("said", ['{"amount": ', "", None, "sorry"])
def test_a_constrained_answer_that_is_not_whole_is_an_error(said: str | None) -> None:
    with serving(turn(said)) as endpoint, pytest.raises(InputError):
        ChatEndpoint(base_url=endpoint.url).constrained("m", [], SCHEMA)
