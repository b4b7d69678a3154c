"""Streamable HTTP: who may ask, sessions, streams, and the same gate behind it."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tallystick.errors import InputError
from tallystick.gateway.http import check_address
from tests.gateway.process import I7, PAY, Place

pytest.importorskip("uvicorn", reason="the extra `mcp` is not installed")

JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
MODERN = {"mcp-protocol-version": "2026-07-28"}


class Server:
    """A gateway that serves HTTP, as a process."""

    def __init__(self, place: Place, *options: str, fault: str = "", env: dict[str, str] | None = None) -> None:
        self.place = place
        self.process = subprocess.Popen(
            place.gateway("--http", "--port", "0", *options, fault=fault),
            stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})},
        )  # fmt: skip
        assert self.process.stderr is not None
        for line in self.process.stderr:
            found = re.search(r"http://[^:]+:(\d+)/mcp", line)
            if found:
                self.port = int(found[1])
                break
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def http(
        self, method: str, body: Any = None, path: str = "/mcp", **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection.request(method, path, raw, {k.replace("_", "-"): v for k, v in headers.items()})
        answer = connection.getresponse()
        told = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        connection.close()
        return told

    def rpc(self, id_: Any, method: str, params: Any = None, **headers: str) -> tuple[int, Any]:
        message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params or {}}
        status, _, raw = self.http("POST", message, **{**JSON, **headers})
        return status, json.loads(raw)

    def end(self) -> None:
        self.process.terminate()
        assert self.process.wait(30) == 0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One gateway for all tests that leave it as it was."""
    made = Server(Place(tmp_path_factory.mktemp("http")))
    yield made
    made.end()
    status, reason = made.place.status()
    assert (status, reason) == ("UNCERTIFIED", "gateway.signal_ended")


HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


def start(server: Server) -> str:
    """Begin a session and return its id."""
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
    status, headers, _ = server.http("POST", message, **JSON)
    assert status == 200
    return headers["mcp-session-id"]


def test_it_does_not_listen_beyond_loopback_without_a_token() -> None:
    for host in ("127.0.0.1", "localhost", "::1", "127.9.9.9"):
        check_address(host, None)
    for host in ("0.0.0.0", "::", "192.168.1.2", "example.org", ""):
        with pytest.raises(InputError):
            check_address(host, None)
        check_address(host, "secret")


def test_requests_of_other_sites_are_refused(server: Server) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert server.http("POST", message, **JSON, origin="https://evil.example")[0] == 403
    assert server.http("POST", message, **JSON, host="evil.example")[0] == 421
    assert server.http("POST", message, **JSON, **MODERN, origin="http://localhost:3000")[0] == 200


def test_garbage_gets_a_protocol_error_and_reaches_no_server(server: Server) -> None:
    before = server.place.seen()
    for raw in (b"hello", b"[]", b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', b""):
        status, _, told = server.http("POST", raw, **JSON, **MODERN)
        assert status == 400
        assert json.loads(told)["error"]["code"] in (-32700, -32600)
    assert server.http("POST", b"{}", content_type="text/plain")[0] == 415
    assert server.http("POST", b"{}", path="/other", **JSON)[0] == 404
    assert server.http("PUT", b"{}", **JSON)[0] == 405
    assert server.place.seen() == before


def test_a_stateless_request_is_gated_and_its_ids_may_come_again(server: Server) -> None:
    for _ in range(2):
        status, answer = server.rpc(1, "tools/call", {"name": "get_invoice", "arguments": I7}, **MODERN)
        assert (status, answer["id"]) == (200, 1)
        assert json.loads(answer["result"]["content"][0]["text"])["id"] == "I-7"
    _, refused = server.rpc(2, "tools/call", {"name": "pay_invoice", "arguments": {**PAY, "amount": "1.00"}}, **MODERN)
    assert refused["result"]["isError"] is True


def test_line_ends_within_a_message_do_not_cut_it(server: Server) -> None:
    raw = b'{\r\n "jsonrpc": "2.0",\n "id": 5, "method": "vendor/echo",\n "params": {"a": 1}\n}'
    status, _, told = server.http("POST", raw, **JSON, **MODERN)
    assert (status, json.loads(told)["result"]) == (200, {"echo": {"a": 1}})


def test_a_session_has_an_id_and_a_new_one_ends_it(server: Server) -> None:
    assert server.rpc(1, "ping")[0] == 400  # no session
    first = start(server)
    assert server.rpc(1, "vendor/echo", mcp_session_id=first)[0] == 200
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert server.http("POST", note, **JSON, mcp_session_id=first)[0] == 202
    second = start(server)
    assert server.rpc(2, "vendor/echo", mcp_session_id=first)[0] == 404
    assert server.rpc(2, "vendor/echo", mcp_session_id=second)[0] == 200
    assert server.http("GET", accept="text/event-stream", mcp_session_id=first)[0] == 404
    assert server.http("GET", accept="text/event-stream")[0] == 405
    assert server.http("DELETE", mcp_session_id=second)[0] == 204
    assert server.rpc(3, "vendor/echo", mcp_session_id=second)[0] == 404


def test_a_token_is_demanded_where_one_is_set(tmp_path: Path) -> None:
    server = Server(Place(tmp_path), "--token-env", "DESK_TOKEN", env={"DESK_TOKEN": "s3cret"})
    try:
        message = {"jsonrpc": "2.0", "id": 1, "method": "vendor/echo"}
        for wrong in ({}, {"authorization": "Bearer other"}, {"authorization": "s3cret"}):
            assert server.http("POST", message, **JSON, **MODERN, **wrong)[0] == 401
        good = {"authorization": "Bearer s3cret"}
        assert server.http("POST", message, **JSON, **MODERN, **good)[0] == 200
        assert server.place.seen() == [json.dumps(message).encode() + b"\n"]
    finally:
        server.end()


def test_a_client_that_closes_its_stream_cancels_and_a_payment_is_then_in_doubt(tmp_path: Path) -> None:
    server = Server(Place(tmp_path), fault="hang-in-pay")
    try:
        server.rpc(1, "tools/call", {"name": "get_invoice", "arguments": I7}, **MODERN)
        message = {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "pay_invoice", "arguments": PAY},
        }
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.request("POST", "/mcp", json.dumps(message).encode(), {**JSON, **MODERN})
        while server.place.desk.truth("I-7").payments == 0:
            pass
        connection.close()
        status, answer = server.rpc(3, "tools/call", {"name": "pay_invoice", "arguments": PAY}, **MODERN)
        assert status == 200
        assert answer["result"]["_meta"]["tallystick/decision"]["guard"] == "return_recorded"
        assert server.place.desk.truth("I-7").payments == 1
        assert any(b"notifications/cancelled" in line for line in server.place.seen())
    finally:
        server.end()


def test_a_port_that_is_taken_is_one_line(server: Server, tmp_path: Path) -> None:
    place = Place(tmp_path)
    done = subprocess.run(
        place.gateway("--http", "--port", str(server.port)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "cannot listen" in done.stderr
    assert not place.ledger.exists()
