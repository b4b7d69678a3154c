"""A client's line means one thing to every reader, or it is refused; streams are cut into lines however they come."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.gateway.frames import GarbledError, Lines, UsedIds, error_line, read_client, read_server

STRICT = frozenset({"tools/call"})
CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{}}}'

REFUSED = {
    "no json": (b"hello", -32700),
    "cut": (CALL[:-1].encode(), -32700),
    "two values": (CALL.encode() + b" " + CALL.encode(), -32700),
    "not utf-8": (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700),
    "byte order mark": (b"\xef\xbb\xbf" + CALL.encode(), -32700),
    "a carriage return some readers take for a line end": (b'{"x":\r' + CALL.encode() + b"\r}", -32700),
    "nan": (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":NaN}}', -32700),
    "nested too deep": (b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
                        -32700),
    "a member twice": (b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', -32700),
    "a member twice, further in": (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1,"a":2}}', -32700),
    "batch": (f"[{CALL}]".encode(), -32600),
    "empty batch": (b"[]", -32600),
    "a string": (b'"tools/call"', -32600),
    "no version": (b'{"id":1,"method":"ping"}', -32600),
    "other version": (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
    "id null": (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    "id true": (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
    "id list": (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600),
    "id with a fraction": (b'{"jsonrpc":"2.0","id":1.0,"method":"ping"}', -32600),
    "id beyond 2^53": (b'{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}', -32600),
    "id of twenty digits": (b'{"jsonrpc":"2.0","id":10000000000000000000,"method":"ping"}', -32600),
    "neither request nor answer": (b'{"jsonrpc":"2.0","id":1}', -32600),
    "result and error": (b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', -32600),
    "request and answer": (b'{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}', -32600),
    "method of another type": (b'{"jsonrpc":"2.0","id":1,"method":["tools/call"]}', -32600),
    "params of another type": (b'{"jsonrpc":"2.0","id":1,"method":"x","params":"name=pay"}', -32600),
    "a member in other letter case": (b'{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}', -32600),
    "a member with a letter that folds": (
        '{"jsonrpc":"2.0","id":1,"method":"ping","param\u017f":{}}'.encode(), -32600),
    "strict params as a list": (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["pay"]}', -32602),
    "strict params not exact": (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"a":"\\ud800"}}}', -32602),
    "a strict param in other letter case": (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Name":"b"}}', -32600),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "code"), REFUSED.values(), ids=REFUSED)
def test_a_line_that_could_mean_two_things_or_nothing_is_refused(raw: bytes, code: int) -> None:
    with pytest.raises(GarbledError) as bad:
        read_client(raw, STRICT)
    assert bad.value.code == code
    assert json.loads(error_line(bad.value.id, bad.value.code, bad.value.message))["error"]["code"] == code


@pytest.mark.parametrize(
    "raw",
    [
        CALL.encode(),
        b' { "jsonrpc" : "2.0" , "id" : "a" , "method" : "x/y" , "extra" : [ 1e999, "\\ud800", 12345678901234567 ] } ',
        b'{"jsonrpc":"2.0","method":"notifications/x","params":{"deep":' + b"[" * 300 + b"]" * 300 + b"}}",
        b'{"jsonrpc":"2.0","id":-3,"method":"x","params":[1,2]}',
        b'{"jsonrpc":"2.0","id":5,"result":{"a":"\\ud800"}}',
        b'{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"no"}}',
    ],
    ids=range(6),
)
def test_what_is_only_relayed_may_hold_anything_json_can(raw: bytes) -> None:
    assert read_client(raw, STRICT).raw == raw


def test_exact_parameters_are_read_exactly() -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":0.10}}}'
    frame = read_client(raw, STRICT)
    assert frame.params is not None
    assert str(frame.params["arguments"]["amount"]) == "0.10"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.one_of(st.binary(max_size=200), json_values.map(lambda v: json.dumps(v).encode())))
def test_whatever_a_client_sends_is_a_message_or_a_protocol_error(raw: bytes) -> None:
    code, kept = 0, raw
    try:
        kept = read_client(raw, STRICT).raw
    except GarbledError as bad:
        code = bad.code
    assert kept == raw
    assert code == 0 or -32700 <= code <= -32600


@given(st.binary(max_size=200))
def test_whatever_a_server_sends_is_paired_or_left_alone(raw: bytes) -> None:
    frame = read_server(raw)
    assert frame is None or isinstance(frame.method, str)


def test_a_servers_result_keeps_its_bytes() -> None:
    frame = read_server(b'{"jsonrpc":"2.0","id":7,"result":{ "a" : 1.10 }}')
    assert frame is not None
    assert (frame.id, frame.result, frame.is_response) == (7, b'{ "a" : 1.10 }', True)


@given(st.lists(st.one_of(st.integers(-30, 30), st.text(max_size=2)), max_size=60))
def test_an_id_was_used_exactly_if_it_was_added(ids: list[Any]) -> None:
    used, plain = UsedIds(), set()
    for one in ids:
        assert (one in used) == (one in plain)
        used.add(one)
        plain.add(one)
    assert all(one in used for one in ids)


def test_counted_ids_take_no_room() -> None:
    used = UsedIds()
    for i in range(5, 2_000):
        used.add(i)
    assert not used._others
    assert 4 not in used
    assert 2_000 not in used


def _cut(pieces: list[bytes], limit: int) -> tuple[list[bytes], bytes]:
    lines: list[bytes] = []
    excess: list[bytes] = []
    cutter = Lines(lines.append, lambda piece, _: excess.append(piece), limit)
    for piece in pieces:
        cutter.feed(piece)
    cutter.close()
    return lines, b"".join(excess)


@given(st.lists(st.text("ab{}", max_size=12), max_size=12), st.data())
def test_lines_do_not_depend_on_how_the_stream_was_cut(lines: list[str], data: st.DataObject) -> None:
    stream = "".join(line + "\n" for line in lines).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert _cut(pieces, 1_000) == ([line.encode() for line in lines if line], b"")


def test_a_line_that_is_too_long_is_handed_over_unread_and_the_next_one_is_read() -> None:
    assert _cut([b"x" * 50, b"x" * 50 + b"\nnext\n"], 64) == ([b"next"], b"x" * 100 + b"\n")
    assert _cut([b"x" * 100 + b"\nnext\n"], 64) == ([b"next"], b"x" * 100 + b"\n")
    assert _cut([b"x" * 70, b"x" * 30, b"\nnext\n"], 64) == ([b"next"], b"x" * 100 + b"\n")
    assert _cut([b"carriage\r\n\n  \nlast"], 64) == ([b"carriage", b"last"], b"")
