"""What the gateway need not read goes through byte for byte; a client that breaks the protocol hurts only itself."""

from __future__ import annotations

import json

import pytest

from tests.gateway.bench import Bench, told

FROM_CLIENT = [
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}',
    b'{ "jsonrpc" : "2.0", "method":"notifications/initialized" }',
    b'{"jsonrpc":"2.0","id":"r-1","method":"resources/read","params":{"uri":"file:///a","n":1e999}}',
    b'{"jsonrpc":"2.0","id":5,"method":"vendor/never-heard-of","params":{"x":"\\ud83d\\ude00"}}',
    b'{"jsonrpc":"2.0","method":"notifications/vendor"}',
    b'{"jsonrpc":"2.0","id":31,"result":{"roots":[]}}',
    b'{"jsonrpc":"2.0","id":6,"method":"logging/setLevel","params":{"level":"' + b"x" * 3_000_000 + b'"}}',
    b'{"jsonrpc":"2.0","id":7,"method":"ping","zz":{"b":1,"a":2},"params":{}}',
]
FROM_SERVER = [
    b'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}',
    b'{"jsonrpc":"2.0","id":31,"method":"roots/list"}',
    b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"' + b"y" * 3_000_000 + b'"}}',
    b'{ "method":"notifications/vendor","params":[1,2.50,"\\u0000"],"jsonrpc":"2.0" }',
    b'{"jsonrpc":"2.0","id":99,"result":{"answer":"to nobody"}}',
    b"this server logs on standard output",
    b'[{"jsonrpc":"2.0","id":1,"result":{}}]',
    b'{"jsonrpc":"2.0","id":{"a":1},"result":{}}',
    b"\xff\xfe",
]


@pytest.mark.parametrize("raw", FROM_CLIENT, ids=range(len(FROM_CLIENT)))
def test_a_clients_line_reaches_the_server_byte_for_byte(raw: bytes) -> None:
    bench = Bench()
    bench.client(raw)
    assert (bench.sent, bench.got) == ([raw + b"\n"], [])
    assert bench.kinds() == []


@pytest.mark.parametrize("raw", FROM_SERVER, ids=range(len(FROM_SERVER)))
def test_a_servers_line_reaches_the_client_byte_for_byte(raw: bytes) -> None:
    bench = Bench()
    bench.server(raw)
    assert (bench.sent, bench.got) == ([], [raw + b"\n"])


def test_an_admitted_call_and_its_answer_are_relayed_byte_for_byte_and_recorded() -> None:
    bench = Bench()
    asked = (
        b'{"id":7, "params":{"arguments":{ "invoice_id":"I-7" },"name":"get_invoice"},'
        b'"method":"tools/call","jsonrpc":"2.0"}'
    )
    body = json.dumps({"id": "I-7", "amount_due": "420.00", "currency": "EUR", "status": "open"})
    answered = b'{"id":7,  "result":{"isError":false,"content":[{"text":%s,"type":"text"}]},"jsonrpc":"2.0"}' % (
        json.dumps(body).encode()
    )
    bench.client(asked)
    assert bench.sent == [asked + b"\n"]
    bench.server(answered)
    assert bench.got == [answered + b"\n"]
    assert bench.kinds() == ["intent", "receipt"]
    (intent,), (receipt,) = bench.bodies("intent"), bench.bodies("receipt")
    assert intent.native_id == "7"
    assert intent.raw_args.raw == b'{ "invoice_id":"I-7" }'
    assert receipt.result.raw == body.encode()
    assert receipt.outcome == "ok"


def test_both_channels_of_a_result_are_kept_as_they_came() -> None:
    bench = Bench()
    bench.call(1, "payments", {"invoice_id": "I-7"})
    bench.server(
        b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"one payment"}],'
        b'"structuredContent":{ "count" : 1, "total":420.10 }}}'
    )
    (receipt,) = bench.bodies("receipt")
    assert receipt.result.raw == b"one payment"
    assert receipt.structured.raw == b'{ "count" : 1, "total":420.10 }'


@pytest.mark.parametrize(
    "result",
    [
        b'{"content":[]}',
        b'{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}',
        b'{"content":[{"type":"image","data":"aGk=","mimeType":"image/png"}]}',
        b'{"content":"not a list"}',
        b'{"isError":"yes","content":[{"type":"text","text":"a"}]}',
        b'{"anything":[1,2.5]}',
        b'"just text"',
    ],
    ids=range(7),
)
def test_a_result_that_is_no_single_text_is_kept_whole(result: bytes) -> None:
    bench = Bench()
    bench.call(1, "payments", {"invoice_id": "I-7"})
    bench.server(b'{"jsonrpc":"2.0","id":1,"result":' + result + b"}")
    (receipt,) = bench.bodies("receipt")
    assert receipt.result.raw == result
    assert bench.got == [b'{"jsonrpc":"2.0","id":1,"result":' + result + b"}\n"]


# ------------------------------------------------------------------ a client that breaks the protocol


@pytest.mark.parametrize("raw", [b"hello", b"[]", b"{}", b'{"jsonrpc":"2.0","id":null,"method":"tools/call"}'])
def test_garbage_gets_a_protocol_error_and_the_server_never_sees_it(raw: bytes) -> None:
    bench = Bench()
    bench.client(raw)
    assert bench.answer()["error"]["code"] in (-32700, -32600)
    assert bench.sent == []


def test_a_call_without_an_id_is_not_forwarded() -> None:
    bench = Bench()
    bench.client({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "refund", "arguments": {}}})
    assert bench.answer()["error"]["code"] == -32600
    assert (bench.sent, bench.kinds()) == ([], [])


@pytest.mark.parametrize(
    "params",
    [None, {}, {"name": 7}, {"name": "pay", "arguments": []}, {"name": "pay", "arguments": "{}"},
     {"name": "pay", "arguments": {"amount": "1", "Amount": "2"}}],
)  # fmt: skip
def test_a_call_of_the_wrong_form_gets_a_protocol_error(params: object) -> None:
    bench = Bench()
    bench.request(1, "tools/call", params)
    assert bench.answer()["error"]["code"] == -32602
    assert (bench.sent, bench.kinds()) == ([], [])


def test_an_id_may_be_used_once() -> None:
    bench = Bench()
    bench.read(1)
    bench.call(1, "get_invoice", {"invoice_id": "I-8"})
    answer = bench.answer()
    assert (answer["id"], answer["error"]["code"]) == (1, -32600)
    assert bench.sent == []


def test_an_id_in_use_is_refused_without_answering_the_call_it_belongs_to() -> None:
    bench = Bench()
    bench.call(1, "get_invoice", {"invoice_id": "I-7"})
    bench.sent.clear()
    bench.call(1, "refund", {"invoice_id": "I-7"})
    bench.request(1, "ping")
    assert [json.loads(line)["id"] for line in bench.got] == [None, None]
    assert bench.sent == []
    assert bench.kinds() == ["intent"]


def test_the_number_one_and_the_text_one_are_two_ids() -> None:
    bench = Bench()
    bench.call(1, "get_invoice", {"invoice_id": "I-7"})
    bench.call("1", "payments", {"invoice_id": "I-7"})
    bench.result("1", {"count": 0})
    assert bench.answer()["id"] == "1"
    bench.result(1, {"id": "I-7"})
    assert bench.answer()["id"] == 1
    assert [b.result.raw for b in bench.bodies("receipt")] == [b'{"count": 0}', b'{"id": "I-7"}']


def test_a_server_cannot_answer_for_a_call_it_was_not_asked() -> None:
    bench = Bench()
    bench.result("nobody", {"status": "paid"})
    assert bench.kinds() == []


def test_our_own_failure_means_that_the_call_did_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(bench.run, "steps", broken)
    bench.call(1, "get_invoice", {"invoice_id": "I-7"})
    error = bench.answer()["error"]
    assert error["code"] == -32603
    assert "did not run" in error["message"]
    assert bench.sent == []


def test_a_gate_that_fails_refuses_and_the_server_never_sees_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()

    def broken(*_: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr("tallystick.runtime.calls.may_act", broken)
    bench.call(1, "get_invoice", {"invoice_id": "I-7"})
    answer = bench.answer()
    assert answer["result"]["isError"] is True
    assert [r["code"] for r in told(answer)["reasons"]] == ["guard.error"]
    assert bench.sent == []


def test_a_server_that_has_ended_is_told_to_whoever_waits() -> None:
    bench = Bench()
    bench.request(1, "resources/list")
    bench.sent.clear()
    bench.session.server_gone("the server has ended")
    assert bench.answer()["error"] == {"code": -32000, "message": "the server has ended"}
    bench.request(2, "ping")
    assert bench.answer()["error"]["code"] == -32000
    assert bench.sent == []


@pytest.mark.parametrize("tool", ["get_invoice", "refund"])
def test_our_own_failure_after_the_tool_ran_still_gives_the_client_what_came_back(
    monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    bench = Bench()
    bench.call(1, tool, {"invoice_id": "I-7"})

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(bench.run._calls, "_conclude", broken)
    bench.result(1, {"status": "refunded"})
    assert json.loads(bench.answer()["result"]["content"][0]["text"]) == {"status": "refunded"}
    bench.request(2, "ping")
    assert bench.sent[-1] == b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n'


def test_our_own_failure_while_doubt_is_settled_is_told_and_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    bench.read()
    bench.call(1, "pay", {"invoice_id": "I-7", "amount": "420.00"})
    bench.result(1, "lost", isError=True)
    bench.sent.clear()
    bench.got.clear()
    bench.call(2, "pay", {"invoice_id": "I-7", "amount": "420.00"})

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(bench.run._calls, "_conclude", broken)
    bench.result(bench.forwarded()["id"], {"count": 1})
    answer = bench.answer()
    assert (answer["id"], answer["error"]["code"]) == (2, -32603)
    assert "did not run" in answer["error"]["message"]


def test_a_line_of_the_server_that_breaks_us_does_not_take_the_next_one_with_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench()

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(bench.session, "_about", broken)
    bench.server({"jsonrpc": "2.0", "method": "notifications/x"})
    assert "ZeroDivisionError" in caplog.text
    bench.request(1, "ping")
    bench.server({"jsonrpc": "2.0", "id": 1, "result": {}})
    assert bench.answer() == {"jsonrpc": "2.0", "id": 1, "result": {}}
