"""JSON Lines: conversations a line, messages a line, resent histories, damage."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tallystick.errors import InputError
from tallystick.model.trace import Trace
from tallystick.traces import parse
from tests.traces.chat import assistant, call, codes, tool, user

TALK = [
    user("cancel O-1"), assistant(None, call("1", "cancel", {"id": "O-1"})), tool("1", {"ok": True}), assistant("done"),
    user("and O-2"), assistant(None, call("1", "cancel", {"id": "O-2"})), tool("1", {"ok": True}), assistant("done"),
]  # fmt: skip


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(v).encode() + b"\n" for v in values)


def read(data: bytes) -> list[Trace]:
    return list(parse(data, name="t"))


def shape(trace: Trace) -> list[Any]:
    return [(m.role, m.text, [(c.tool, c.args, c.result and c.result.body) for c in m.calls]) for m in trace.messages]


def test_a_conversation_a_line() -> None:
    traces = read(lines({"messages": TALK[:4]}, {"messages": [user("other")]}, [user("a list")]))
    assert [t.id for t in traces] == ["t#1", "t#2", "t#3"]


def test_a_message_a_line_is_one_conversation() -> None:
    (trace,) = read(lines(*TALK))
    assert trace.id == "t"
    assert shape(trace) == shape(next(parse(json.dumps(TALK).encode(), name="t")))


@given(st.lists(st.integers(1, len(TALK)), min_size=1, max_size=8))
def test_resending_the_history_adds_nothing(lengths: list[int]) -> None:
    traces = read(lines(*({"model": "m", "messages": TALK[:n]} for n in lengths), {"messages": TALK}))
    (whole,) = read(lines({"messages": TALK}))
    assert [shape(t) for t in traces] == [shape(whole)]


def test_a_response_that_is_resent_with_other_fields_is_the_same_message() -> None:
    answer = {"role": "assistant", "content": "done", "refusal": None, "annotations": []}
    first = {"request": {"messages": TALK[:3]}, "response": {"choices": [{"message": answer}]}}
    (trace,) = read(lines(first, {"messages": [*TALK[:4], user("thanks")]}))
    assert len(trace.messages) == 4  # user, call, done, thanks


def test_two_conversations_that_part_ways_are_two() -> None:
    traces = read(lines({"messages": [user("a"), user("b")]}, {"messages": [user("a"), user("c")]}))
    assert [t.id for t in traces] == ["t#1", "t#2"]


def test_a_truncated_line_is_recorded_and_the_rest_recovered() -> None:
    data = lines({"messages": TALK[:4]}, {"messages": [user("next")]})
    cut = data[:-20]
    traces = read(cut)
    assert [codes(t) for t in traces] == [["line.unreadable"], []]
    assert len(traces[1].messages) == 3
    cut_messages = lines(*TALK)[:-20]
    (trace,) = read(cut_messages)
    assert codes(trace) == ["line.unreadable"]
    assert len(trace.messages) == len([m for m in TALK[:-1] if m["role"] != "tool"])


def test_a_torn_line_followed_by_a_whole_record_keeps_the_record() -> None:
    torn = json.dumps(TALK[1]).encode()[:30] + json.dumps(TALK[1]).encode() + b"\n"
    (trace,) = read(lines(TALK[0]) + torn + lines(*TALK[2:4]))
    assert codes(trace) == ["line.torn"]
    assert trace.calls[0].result is not None


def test_glued_records_are_both_kept() -> None:
    glued = json.dumps(TALK[0]).encode() + json.dumps(TALK[3]).encode() + b"\n"
    (trace,) = read(lines(user("first")) + glued)
    assert codes(trace) == ["line.glued"]
    assert [m.text for m in trace.messages] == ["first", "cancel O-1", "done"]


def test_a_stray_line_is_recorded() -> None:
    traces = read(lines({"messages": [user("x")]}, {"event": "ping"}))
    assert [codes(t) for t in traces] == [["line.stray"], []]


def test_a_first_line_that_is_torn_does_not_lose_the_file() -> None:
    traces = read(b'{"messages": [{"role": "us\n' + lines({"messages": [user("x")]}))
    assert [codes(t) for t in traces] == [["line.unreadable"], []]


@given(st.binary(max_size=60), st.integers(0, 7))
def test_importing_the_same_bytes_again_gives_the_same_traces(noise: bytes, at: int) -> None:
    data = lines(*({"messages": TALK[: n + 1]} for n in range(8)))
    parts = data.splitlines(keepends=True)
    broken = b"".join([*parts[:at], noise.replace(b"\0", b""), *parts[at:]])
    try:
        once = read(broken)
    except InputError:
        return  # a clear refusal; anything else fails the test
    assert once == read(broken)
    assert all(t.sha256 or not t.messages for t in once)
