"""OpenAI chat: what is in a message, and what is never guessed."""

from __future__ import annotations

import json
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest

from tallystick.errors import InputError
from tallystick.traces import detect, parse
from tests.traces.chat import assistant, call, codes, tool, traced, user


@pytest.mark.parametrize("text", ['{"a":1}{"b":2}', '{"a":', "", "[1]", "null", '{"a":1,"a":2}', '{"a": NaN}'])
def test_arguments_that_are_not_one_object_are_kept_as_text(text: str) -> None:
    trace = traced(assistant(None, call("1", "pay", text)), tool("1", "ok"))
    assert codes(trace) == ["args.unparseable"]
    assert trace.calls[0].args is None
    assert trace.calls[0].args_text == text
    assert not trace.quarantined


def test_numbers_in_arguments_and_results_are_exact() -> None:
    trace = traced(
        assistant(None, call("1", "pay", '{"id": 9223372036854775808, "amount": 10.10}')), tool("1", '{"paid": 0.1}')
    )
    assert trace.calls[0].args == {"id": 2**63, "amount": Decimal("10.10")}
    assert trace.calls[0].result is not None
    assert trace.calls[0].result.body == {"paid": Decimal("0.1")}
    assert trace.calls[0].result.text == '{"paid": 0.1}'


def test_text_that_only_resembles_json_stays_text() -> None:
    trace = traced(assistant(None, call("1", "get")), tool("1", '{"a": 1'))
    assert trace.calls[0].result is not None
    assert trace.calls[0].result.body == '{"a": 1'


def test_old_function_calls_pair_by_name() -> None:
    old = {"role": "assistant", "content": None, "function_call": {"name": "get", "arguments": '{"n": 1}'}}
    trace = traced(old, {"role": "function", "name": "get", "content": "7"})
    assert trace.calls[0].args == {"n": 1}
    assert trace.calls[0].result is not None
    assert trace.calls[0].result.body == 7
    assert not trace.damage


def test_content_parts_are_joined_and_nothing_vanishes() -> None:
    parts = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "x"}}]
    trace = traced(user("x"), {"role": "user", "content": parts})
    assert trace.messages[1].text == "see\n[image_url]"


def test_a_refusal_and_a_length_stop_are_no_answers() -> None:
    trace = traced(
        user("x"), assistant(None, refusal="I cannot"), user("y"), assistant("X has 1, Y has", finish_reason="length")
    )
    assert trace.messages[1].text == "I cannot"
    assert [m.truncated for m in trace.messages] == [False, True, False, True]


def test_custom_tools_and_decoded_arguments_are_read() -> None:
    custom = {"id": "1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    decoded = {"id": "2", "function": {"name": "get", "arguments": {"n": 1}}}
    trace = traced(assistant(None, custom, decoded), tool("1", "1"), tool("2", "2"))
    assert [c.args for c in trace.calls] == [{"input": "select 1"}, {"n": 1}]


def test_a_stream_is_joined_by_index_and_never_repaired() -> None:
    def chunk(**delta: Any) -> dict[str, Any]:
        return {"id": "s", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}

    good = [
        chunk(role="assistant", tool_calls=[{"index": 0, "id": "1", "function": {"name": "get", "arguments": '{"n"'}}]),
        chunk(tool_calls=[{"index": 1, "id": "2", "function": {"name": "put", "arguments": "{}"}}]),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": ": 1}"}}]),
    ]
    (trace,) = parse(json.dumps(good).encode(), name="t")
    assert [(c.tool, c.args) for c in trace.calls] == [("get", {"n": 1}), ("put", {})]
    glued = [*good[:1], chunk(tool_calls=[{"index": 0, "function": {"arguments": '{"n": 2}'}}])]
    (trace,) = parse("\n".join(map(json.dumps, glued)).encode(), name="t")
    assert codes(trace) == ["args.unparseable"]


def test_a_record_of_request_and_response_is_one_conversation() -> None:
    record = {
        "request": {"model": "m", "messages": [user("hi")]},
        "response": {"choices": [{"finish_reason": "length", "message": {"role": "assistant", "content": "he"}}]},
    }
    (trace,) = parse(json.dumps(record).encode(), name="t")
    assert [(m.role, m.text, m.truncated) for m in trace.messages] == [("user", "hi", False), ("assistant", "he", True)]


def test_several_choices_are_not_guessed_between() -> None:
    both = [{"index": i, "message": {"role": "assistant", "content": str(i)}} for i in range(2)]
    (trace,) = parse(json.dumps({"messages": [user("hi")], "choices": both}).encode(), name="t")
    assert codes(trace) == ["choices.ambiguous"]
    assert [m.role for m in trace.messages] == ["user"]


def test_what_is_no_message_is_recorded() -> None:
    trace = traced(user("x"), {"role": "martian", "content": "?"}, {"role": "user", "content": 7})
    assert codes(trace) == ["message.unreadable", "message.unreadable"]


def test_formats_are_told_apart() -> None:
    assert detect(b'{"conversation": []}') == "state-bench"
    assert detect(b'[{"role": "user", "content": "x"}]') == "openai-chat"
    assert detect(b'{"messages": []}') == "openai-chat"


@pytest.mark.parametrize(
    "value",
    [
        [{"role": ["user"], "content": "x"}],
        [{"role": {"a": 1}}, {"role": "user", "content": "x"}],
        [{"object": "chat.completion.chunk", "choices": 7}],
        [{"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"tool_calls": 7}}]}],
    ],
)
def test_members_of_a_wrong_type_are_refused_or_damage_and_never_a_crash(value: Any) -> None:
    traces = []
    with suppress(InputError):
        traces = list(parse(json.dumps(value).encode(), name="t", format="openai-chat"))
    assert not any(t.calls for t in traces)
