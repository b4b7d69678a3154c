"""Theorems about audits: what may change a report, and what may not."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tallystick.audit import Report, audit_trace
from tallystick.traces import parse
from tests.audit.build import agent, audited, did, user

IDS = st.sampled_from(["O-1", "O-2", "O-31"])
RESULTS = st.sampled_from(
    [
        {"status": "cancelled"},
        {"status": "preview", "fee": 5},
        {"status": "rejected", "reason": "no"},
        {"error": "timeout"},
        {"status": "updated", "changes_applied": []},
        {"amount": 40},
        "Error: no",
        None,
        [],
    ]
)
CALLS = st.builds(
    lambda name, id_, confirm, result: did(name, {"order_id": id_, **confirm}, result),
    st.sampled_from(["cancel_order", "get_order", "refund_order", "frobnicate"]),
    IDS,
    st.sampled_from([{}, {"confirm": True}, {"confirm": False}]),
    RESULTS,
)
TEXTS = st.sampled_from(["Done.", "I've cancelled O-1.", "I should have asked.", "It failed.", "$40 for O-2.", ""])
TURNS = st.lists(
    st.builds(
        lambda ask, calls, text: [user(ask), agent(text, *calls)],
        st.sampled_from(["cancel O-1", "hold on", "and O-31 for $40"]),
        st.lists(CALLS, max_size=4),
        TEXTS,
    ),
    max_size=4,
)


def as_chat(turns: list[list[dict[str, Any]]], name: Any) -> bytes:
    """The same conversation as sequential chat messages, with call ids by `name`."""
    messages: list[dict[str, Any]] = []
    number = 0
    for said, answer in turns:
        messages.append(said)
        for made in answer.get("tool_calls", []):
            number += 1
            function = {"name": made["name"], "arguments": json.dumps(made["arguments"])}
            messages.append({"role": "assistant", "tool_calls": [{"id": name(number), "function": function}]})
            messages.append({"role": "tool", "tool_call_id": name(number), "content": json.dumps(made["result"])})
        messages.append({"role": "assistant", "content": answer["content"]})
    return json.dumps(messages).encode()


def report_of(data: bytes, name: str = "t") -> Report:
    (trace,) = parse(data, name=name)
    return audit_trace(trace)


@given(TURNS)
def test_call_ids_change_no_finding(turns: list[list[dict[str, Any]]]) -> None:
    if not turns:
        return
    unique = report_of(as_chat(turns, lambda n: f"call_{n}"))
    constant = report_of(as_chat(turns, lambda _: "call_0"))
    assert unique.findings == constant.findings


@given(TURNS, st.text(max_size=12))
def test_the_name_of_a_trace_changes_no_finding(turns: list[list[dict[str, Any]]], name: str) -> None:
    data = json.dumps({"conversation": [m for turn in turns for m in turn]}).encode()
    assert report_of(data).findings == report_of(data, name).findings


@given(TURNS)
def test_auditing_twice_says_the_same(turns: list[list[dict[str, Any]]]) -> None:
    messages = [m for turn in turns for m in turn]
    assert audited(*messages) == audited(*messages)


@given(TURNS)
def test_without_writes_there_is_no_finding_about_writes(turns: list[list[dict[str, Any]]]) -> None:
    report = audited(*[m for turn in turns for m in turn], writes=[])
    assert not [f for f in report.findings if f.code.startswith(("write.", "preview.", "args.", "result.", "effect."))]


@given(TURNS, st.integers(0, 30))
def test_losing_the_result_of_a_write_never_goes_unnoticed(turns: list[list[dict[str, Any]]], which: int) -> None:
    messages = [m for turn in turns for m in turn]
    writes = [c for m in messages for c in m.get("tool_calls", []) if c["name"].startswith(("cancel", "refund"))]
    if not writes:
        return
    lost = writes[which % len(writes)]
    messages = json.loads(json.dumps(messages, default=str))
    seen = 0
    for message in messages:
        for call in message.get("tool_calls", []):
            if call["name"].startswith(("cancel", "refund")):
                if seen == which % len(writes):
                    del call["result"]
                seen += 1
    assert lost["name"] in {f.message.split("`")[1] for f in audited(*messages).findings if f.code == "call.unanswered"}
