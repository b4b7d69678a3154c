"""Which result answers which call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tallystick.traces import parse
from tests.traces.chat import assistant, call, codes, tool, traced, user


def test_one_id_for_every_call_pairs_turn_by_turn() -> None:
    trace = traced(
        assistant(None, call("call_0", "get", {"n": "a"})),
        tool("call_0", {"n": 1}),
        assistant(None, call("call_0", "get", {"n": "b"})),
        tool("call_0", {"n": 2}),
    )
    assert [c.result.body for c in trace.calls if c.result] == [{"n": 1}, {"n": 2}]
    assert [c.id for c in trace.calls] == ["m0.c0", "m2.c0"]
    assert not trace.damage


def test_two_open_calls_with_one_id_are_ambiguous_and_quarantine_the_trace() -> None:
    trace = traced(assistant(None, call("x", "cancel", {"id": 1}), call("x", "cancel", {"id": 2})), tool("x", "ok"))
    assert codes(trace) == ["pairing.ambiguous"]
    assert trace.quarantined
    assert [c.result for c in trace.calls] == [None, None]
    assert [o.body for o in trace.orphans] == ["ok"]


def test_a_name_settles_which_of_two_calls_with_one_id_is_meant() -> None:
    trace = traced(assistant(None, call("x", "a"), call("x", "b")), tool("x", "B", name="b"), tool("x", "A", name="a"))
    assert [c.result.body for c in trace.calls if c.result] == ["A", "B"]
    assert not trace.damage


def test_an_unanswered_call_of_an_earlier_turn_with_the_same_id_makes_it_ambiguous() -> None:
    trace = traced(assistant(None, call("x", "a")), user("well?"), assistant(None, call("x", "a")), tool("x", "1"))
    assert trace.quarantined


def test_a_result_without_id_pairs_only_where_one_call_is_open() -> None:
    one = traced(assistant(None, call("c1", "get")), tool(None, "1"))
    assert [c.result.body for c in one.calls if c.result] == [1]
    assert codes(one) == ["result.unaddressed"]
    two = traced(assistant(None, call("c1", "get"), call("c2", "get")), tool(None, "1"), tool(None, "2"))
    assert codes(two) == ["pairing.ambiguous"] * 2


def test_missing_ids_on_both_sides_pair_by_name() -> None:
    trace = traced(
        assistant(None, call(None, "a"), call("", "b")), tool(None, "2", name="b"), tool(None, "1", name="a")
    )
    assert [c.result.body for c in trace.calls if c.result] == [1, 2]
    assert not trace.quarantined


def test_a_result_that_answers_no_call_is_an_orphan_and_kept() -> None:
    trace = traced(assistant(None, call("1", "get")), tool("9", {"state": "paid"}))
    assert codes(trace) == ["result.orphan"]
    assert trace.orphans[0].body == {"state": "paid"}
    assert trace.calls[0].result is None


def test_a_second_result_for_one_id_is_kept_apart() -> None:
    trace = traced(assistant(None, call("1", "start")), tool("1", "pending"), tool("1", "done"))
    assert codes(trace) == ["result.repeated"]
    assert trace.calls[0].result is not None
    assert trace.calls[0].result.body == "pending"


def test_a_result_after_somebody_spoke_is_late() -> None:
    trace = traced(assistant(None, call("1", "start")), user("hello?"), tool("1", "done"))
    assert trace.calls[0].result is not None
    assert trace.calls[0].result.late


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=4), st.randoms())
def test_unique_ids_pair_whatever_the_order_of_the_results_of_a_turn(turns: list[list[int]], random: Any) -> None:
    messages = []
    for t, numbers in enumerate(turns):
        messages.append(assistant(None, *[call(f"{t}-{i}", "get", {"n": n}) for i, n in enumerate(numbers)]))
        results = [tool(f"{t}-{i}", {"n": n, "i": i}) for i, n in enumerate(numbers)]
        random.shuffle(results)
        messages += results
    trace = traced(*messages)
    assert not trace.damage
    assert all(c.result is not None and c.result.body == {"n": c.args["n"], "i": c.index} for c in trace.calls)


def test_the_recorded_cases_pair_as_they_say(shared: Path) -> None:
    for line in (shared / "cases" / "cases.jsonl").read_text("utf-8").splitlines():
        case = json.loads(line)
        if case["format"] != "openai_chat" or case["raw"] is None:
            continue
        for trace in parse(json.dumps(case["raw"]).encode(), name=case["id"]):
            wanted = case["expected"]["reason_kind"]
            assert trace.quarantined == (wanted == "ambiguous_pairing"), case["id"]
            assert ("result.orphan" in codes(trace)) == (wanted == "unpaired_result"), case["id"]
            assert ("args.unparseable" in codes(trace)) == (wanted == "args_unparseable"), case["id"]
