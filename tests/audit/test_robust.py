"""Whatever the JSON, an import refuses it clearly or yields traces that audit and fold; nothing else is raised."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.audit import audit_trace
from tallystick.contracts import EMPTY
from tallystick.errors import InputError
from tallystick.traces import parse, to_events
from tallystick.traces.to_events import Chain
from tallystick.view import View

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.sampled_from(["O-17", "Done.", "I've cancelled O-17", "$40", "{}", '{"id": "O-17"}', "user"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["status", "error", "id", "confirm", "amount", "text", "0"]), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def mostly(*good: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(good) | JUNK


NAME = mostly("cancel_order", "get_order", "refund")
FUNCTION = st.fixed_dictionaries({}, optional={"name": NAME, "arguments": mostly("{}", '{"order_id": "O-17"}')})
CALL = st.fixed_dictionaries(
    {}, optional={"id": mostly("1", "2"), "function": FUNCTION | JUNK, "name": NAME, "arguments": JUNK, "result": JUNK}
)
MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "role": mostly("user", "assistant", "tool", "function", "system"),
        "content": JUNK,
        "tool_calls": st.lists(CALL | JUNK, max_size=3) | JUNK,
        "tool_call_id": mostly("1", "2"),
        "function_call": FUNCTION | JUNK,
        "refusal": JUNK,
        "finish_reason": mostly("length", "stop"),
    },
)
MESSAGES = st.lists(MESSAGE | JUNK, max_size=6) | JUNK
CHUNK = st.fixed_dictionaries(
    {"object": st.just("chat.completion.chunk")}, optional={"id": JUNK, "choices": st.lists(JUNK, max_size=2) | JUNK}
)
RECORD = st.fixed_dictionaries(
    {},
    optional={
        "conversation": MESSAGES,
        "messages": MESSAGES,
        "request": st.fixed_dictionaries({"messages": MESSAGES}) | JUNK,
        "response": st.fixed_dictionaries({"choices": st.lists(st.fixed_dictionaries({"message": MESSAGE}))}) | JUNK,
        "choices": JUNK,
    },
)
DOCUMENT = RECORD | MESSAGES | st.lists(RECORD | CHUNK | MESSAGE | JUNK, max_size=4)


@settings(max_examples=400)
@given(st.lists(DOCUMENT, min_size=1, max_size=4), st.booleans())
def test_no_json_raises_anything_but_a_clear_refusal(documents: list[Any], lines: bool) -> None:
    data = b"\n".join(json.dumps(d).encode() for d in documents) if lines else json.dumps(documents[0]).encode()
    try:
        traces = list(parse(data, name="t"))
    except InputError:
        return
    for trace in traces:
        report = audit_trace(trace)
        assert report.paired <= report.calls
        json.dumps(report.to_json())
        chain = Chain(trace)
        view = View(EMPTY, run=chain.run)
        for sealed in chain.all(to_events(trace)):
            view.apply(sealed)
