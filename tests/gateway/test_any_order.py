"""Whatever client and server do in whatever order: nothing runs unrecorded, and nobody is answered twice."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.gateway.bench import OPEN, PAID, PAY, Bench

I7 = {"invoice_id": "I-7"}
CALLS = [("get_invoice", I7), ("payments", I7), ("pay", PAY), ("refund", I7), ("order", {"sku": "S"}), ("nothing", {}),
         ("tallystick_status", {}), ("tallystick_finish", {"text": "done", "claims": {}})]  # fmt: skip
RESULTS: list[Any] = [
    {"content": [{"type": "text", "text": json.dumps(OPEN)}]},
    {"content": [{"type": "text", "text": json.dumps(PAID)}]},
    {"content": [{"type": "text", "text": '{"count": 1}'}]},
    {"content": [{"type": "text", "text": '{"count": 0}'}]},
    {"content": [{"type": "text", "text": "lost"}], "isError": True},
    {"resultType": "input_required", "requestState": "s"},
    {"task": {"taskId": "T", "status": "working"}},
    {"tools": []},
    "damage",
    None,
]
id_ = st.integers(1, 40)
steps = st.one_of(
    st.tuples(st.just("call"), id_, st.sampled_from(CALLS), st.sampled_from([{}, {"requestState": "s"}])),
    st.tuples(st.just("request"), id_, st.sampled_from(["ping", "tools/list", "tasks/result", "tasks/cancel"])),
    st.tuples(st.just("cancel"), id_),
    st.tuples(st.just("answer"), st.integers(0, 8), st.sampled_from(RESULTS)),
    st.tuples(st.just("note"), st.sampled_from(["notifications/tools/list_changed", "notifications/message"])),
    st.tuples(st.just("time"), st.sampled_from([0, 5, 40])),
    st.tuples(st.just("raw"), st.sampled_from([b"garbage", b"[]", b'{"jsonrpc":"2.0","method":"tools/call"}'])),
)


def play(bench: Bench, step: Any, answered: set[Any]) -> None:
    kind, *rest = step
    if kind == "call":
        number, (tool, args), more = rest
        bench.call(number, tool, args, **more)
    elif kind == "request":
        bench.request(rest[0], rest[1], {"taskId": "T"})
    elif kind == "cancel":
        bench.client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": rest[0]}})
    elif kind == "note":
        bench.server({"jsonrpc": "2.0", "method": rest[0]})
    elif kind == "time":
        bench.timers.fire(rest[0])
    elif kind == "raw":
        bench.client(rest[0])
    elif kind == "answer":
        # A server answers what it was asked, once.
        asked = [m["id"] for m in map(json.loads, bench.sent) if "id" in m and m["id"] not in answered]
        if asked:
            answered.add(number := asked[-1 - rest[0] % len(asked)])
            body = {"error": {"code": -1, "message": "no"}} if rest[1] is None else {"result": rest[1]}
            bench.server({"jsonrpc": "2.0", "id": number, **body})


@settings(max_examples=400)
@given(st.lists(steps, max_size=40))
def test_no_call_reaches_the_server_without_its_intent_and_no_request_is_answered_twice(script: list[Any]) -> None:
    bench = Bench(timeout=5, listed=False)
    told: set[Any] = set()
    for step in script:
        before = len(bench.sent)
        play(bench, step, told)
        new = [json.loads(line) for line in bench.sent[before:]]
        calls = [m["params"]["name"] for m in new if m.get("method") == "tools/call"]
        if calls:
            # A call that goes on with an open one needs no second intent; any other has just been given one.
            going_on = step[0] == "call" and step[3] and calls == [step[2][0]]
            recent = [b.tool for b in bench.bodies("intent")]
            assert going_on or Counter(calls) <= Counter(recent)
    sent = [json.loads(line) for line in bench.sent]
    continued = sum("requestState" in m.get("params", {}) for m in sent if m.get("method") == "tools/call")
    assert sum(m.get("method") == "tools/call" for m in sent) <= bench.kinds().count("intent") + continued
    bench.session.server_gone("over")
    answered = Counter(m["id"] for m in map(json.loads, bench.got) if m.get("id") is not None and "method" not in m)
    asked = Counter(step[1] for step in script if step[0] in ("call", "request"))
    assert all(times <= asked[number] for number, times in answered.items() if number in asked)
    # Every intent has its receipt now: what nobody answered is recorded as unknown, never left open.
    assert not bench.run.view.open_calls
    assert bench.run.close() in ("CERTIFIED", "UNCERTIFIED", "IN_DOUBT", "BLOCKED")
