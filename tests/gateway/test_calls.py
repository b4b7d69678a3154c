"""`tools/call` under guard: refusals, doubt, time-outs, cancellation, questions of the server, tasks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tallystick import Guard
from tallystick.ledger.memory import MemoryStore
from tests.gateway.bench import CONTRACT, OPEN, PAID, PAY, Bench, codes, told
from tests.runtime.shop import Faulty


def test_a_refused_call_is_an_error_result_that_says_what_would_help() -> None:
    bench = Bench()
    bench.call(1, "pay", PAY)
    answer = bench.answer()
    result = answer["result"]
    assert result["isError"] is True
    assert result["structuredContent"] == told(answer)
    assert told(answer)["guard"] == "hold"
    reason = told(answer)["reasons"][0]
    assert reason["code"] == "evidence.missing"
    assert {"tool": "get_invoice", "args": {"invoice_id": "I-7"}} in reason["reads"]
    assert reason["code"] in result["content"][0]["text"]
    assert "get_invoice" in result["content"][0]["text"]
    assert bench.sent == []
    assert bench.kinds() == ["refusal"]


def test_a_refusal_fits_a_tool_with_an_output_schema() -> None:
    """Clients check structured content against the tool's schema, so there the reasons are in `_meta` only."""
    tool = {"name": "pay", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "required": ["x"]}}
    bench = Bench(tools=[tool])
    bench.call(1, "pay", PAY)
    answer = bench.answer()
    assert "structuredContent" not in answer["result"]
    assert codes(answer) == ["evidence.missing", "evidence.missing"]


def test_an_unmentioned_tool_is_refused() -> None:
    bench = Bench()
    bench.call(1, "drop_tables", {})
    assert codes(bench.answer()) == ["tool.unmentioned"]
    assert bench.sent == []


def test_what_was_read_supports_the_write_and_the_write_is_recorded_before_it_is_told() -> None:
    bench = Bench()
    bench.read()
    bench.call(1, "pay", PAY)
    assert bench.forwarded()["params"]["arguments"] == PAY
    assert bench.kinds()[-1] == "intent"
    bench.result(1, PAID)
    assert json.loads(bench.answer()["result"]["content"][0]["text"]) == PAID
    assert bench.run.view.obligations["paid"].discharged_by is not None


def test_the_same_effect_again_is_handed_back_and_not_run() -> None:
    bench = Bench()
    bench.read()
    bench.call(1, "pay", PAY)
    bench.result(1, PAID, structuredContent=PAID)
    bench.sent.clear()
    bench.got.clear()
    bench.call(2, "pay", PAY)
    answer = bench.answer()
    assert answer["result"]["isError"] is False
    assert answer["result"]["structuredContent"] == PAID
    assert json.loads(answer["result"]["content"][0]["text"]) == PAID
    assert told(answer)["guard"] == "return_recorded"
    assert bench.sent == []


def test_an_error_result_of_a_write_is_doubt() -> None:
    bench = Bench()
    bench.call(1, "refund", {"invoice_id": "I-7"})
    bench.result(1, "Error: connection reset", isError=True)
    assert bench.answer()["result"]["isError"] is True
    assert list(bench.run.view.doubts) == ["c1"]
    bench.sent.clear()
    bench.call(2, "refund", {"invoice_id": "I-7"})
    assert told(bench.answer())["guard"] == "reconcile"
    assert bench.sent == []


def test_a_protocol_error_of_a_write_is_doubt_and_is_kept_whole() -> None:
    bench = Bench()
    bench.call(1, "refund", {"invoice_id": "I-7"})
    bench.server({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "oh", "data": [1]}})
    assert bench.answer()["error"]["code"] == -32603
    assert list(bench.run.view.doubts) == ["c1"]
    (receipt,) = bench.bodies("receipt")
    assert json.loads(receipt.result.raw) == {"code": -32603, "message": "oh", "data": [1]}
    assert receipt.flag == "error"


def test_a_declared_rejection_is_no_doubt() -> None:
    bench = Bench()
    bench.read()
    bench.call(1, "pay", PAY)
    bench.result(1, {"rejected": "closed on sundays"}, isError=True)
    assert not bench.run.view.doubts


def test_doubt_is_settled_by_the_contracts_status_query_through_the_same_server() -> None:
    bench = Bench()
    bench.read()
    bench.call(1, "pay", PAY)
    bench.result(1, "gateway timeout", isError=True)
    bench.sent.clear()
    bench.got.clear()
    bench.call(2, "pay", PAY)
    query = bench.forwarded()  # the runtime asks before it answers
    assert (query["method"], query["params"]["name"]) == ("tools/call", "payments")
    assert query["params"]["arguments"] == {"invoice_id": "I-7"}
    assert bench.got == []
    bench.result(query["id"], {"count": 1})
    assert told(bench.answer())["guard"] == "return_recorded"
    assert not bench.run.view.doubts
    assert bench.sent == []


def test_an_effect_whose_own_answer_was_lost_is_told_with_its_evidence_and_never_as_the_tools_result() -> None:
    """Clients check a result without `isError` against the tool's output schema; nothing we know would satisfy it."""
    bench = Bench()
    bench.read()
    bench.call(1, "pay", PAY)
    bench.result(1, "gateway timeout", isError=True)
    bench.sent.clear()
    bench.got.clear()
    bench.call(2, "pay", PAY)
    bench.result(bench.forwarded()["id"], {"count": 1})
    answer = bench.answer()
    assert answer["result"]["isError"] is True
    assert "structuredContent" not in answer["result"]
    text = answer["result"]["content"][0]["text"]
    assert "pay took effect" in text
    assert "Its own answer was lost" in text
    evidence = json.loads(text.partition("Evidence: ")[2])
    assert (evidence["tool"], evidence["result"]) == ("payments", {"count": 1})
    assert told(answer)["guard"] == "return_recorded"
    assert told(answer)["result"]["happened"] is True


def test_a_query_that_shows_nothing_happened_lets_the_retry_through() -> None:
    bench = Bench()
    bench.read()
    bench.call(1, "pay", PAY)
    bench.result(1, "gateway timeout", isError=True)
    bench.sent.clear()
    bench.got.clear()
    bench.call(2, "pay", PAY)
    bench.result(bench.forwarded()["id"], {"count": 0})
    assert set(codes(bench.answer())) == {"evidence.stale"}  # the write may have changed it: read it again
    bench.read("again")
    bench.call(3, "pay", PAY)
    assert bench.forwarded()["id"] == 3


def test_the_runtimes_idempotency_key_is_added_to_what_is_forwarded() -> None:
    bench = Bench()
    bench.call(1, "order", {"sku": "S-1"})
    sent = bench.forwarded()
    assert sent["id"] == 1
    assert sent["params"]["name"] == "order"
    assert sent["params"]["arguments"]["sku"] == "S-1"
    key = sent["params"]["arguments"]["key"]
    assert len(key) == 32
    bench.result(1, "no answer", isError=True)
    bench.call(2, "order", {"sku": "S-1"})  # a retry under the same key is safe where the tool deduplicates
    assert bench.forwarded()["params"]["arguments"]["key"] == key


def test_amounts_keep_every_digit_when_arguments_are_rewritten() -> None:
    bench = Bench()
    bench.client(
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order","arguments":{"sku":"S-1","n":0.10}}}'
    )
    assert b'"n":0.10' in bench.sent[0]


# ------------------------------------------------------------------ time


def test_a_call_without_an_answer_is_given_up_and_in_doubt() -> None:
    bench = Bench(timeout=5)
    bench.call(1, "refund", {"invoice_id": "I-7"})
    bench.sent.clear()
    bench.timers.fire(5)
    assert bench.forwarded() == {
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}
    }  # fmt: skip
    answer = bench.answer()
    assert answer["result"]["isError"] is True
    assert "in_doubt" in told(answer)
    assert list(bench.run.view.doubts) == ["c1"]


def test_an_answer_that_comes_late_is_recorded_and_ends_the_doubt() -> None:
    bench = Bench(timeout=5)
    bench.call(1, "refund", {"invoice_id": "I-7"})
    bench.timers.fire(5)
    bench.got.clear()
    bench.result(1, {"status": "refunded"})
    assert bench.got == []  # the client was answered already
    assert not bench.run.view.doubts
    assert [r.late for r in bench.bodies("receipt")] == [False, True]


def test_progress_starts_the_clock_anew() -> None:
    bench = Bench(timeout=5)
    bench.call(1, "refund", {"invoice_id": "I-7"}, _meta={"progressToken": "t"})
    first = list(bench.timers.set)
    note = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}'
    bench.server(note)
    assert bench.got == [note + b"\n"]
    assert bench.timers.set != first
    assert len(bench.timers.set) == 1


@pytest.mark.parametrize("tool", ["refund", "get_invoice"])
def test_a_cancelled_call_is_forwarded_as_cancelled_and_a_write_is_in_doubt(tool: str) -> None:
    bench = Bench()
    bench.call(1, tool, {"invoice_id": "I-7"})
    bench.sent.clear()
    raw = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"bored"}}'
    bench.client(raw)
    assert bench.sent == [raw + b"\n"]
    assert bench.got == []
    assert (list(bench.run.view.doubts) == ["c1"]) is (tool == "refund")
    assert bench.kinds() == ["intent", "receipt"]


def test_a_call_cancelled_before_it_was_sent_never_runs() -> None:
    bench = Bench(listed=False)
    bench.call(1, "refund", {"invoice_id": "I-7"})
    listing = bench.forwarded()
    assert listing["method"] == "tools/list"
    bench.client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    bench.server({"jsonrpc": "2.0", "id": listing["id"], "result": {"tools": []}})
    assert (bench.sent, bench.got, bench.kinds()) == ([], [], [])


def test_a_call_cancelled_while_doubt_is_being_settled_never_runs() -> None:
    bench = Bench()
    bench.read()
    bench.call(1, "pay", PAY)
    bench.result(1, "gateway timeout", isError=True)
    bench.sent.clear()
    bench.got.clear()
    bench.call(2, "pay", PAY)
    query = bench.forwarded()
    bench.client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
    bench.result(query["id"], {"count": 0})
    assert (bench.sent, bench.got) == ([], [])
    assert bench.kinds().count("receipt") == 3  # what the query answered is recorded all the same


def test_of_two_identical_writes_at_once_one_runs() -> None:
    bench = Bench()
    bench.read()
    bench.call(1, "pay", PAY)
    bench.call(2, "pay", PAY)
    assert bench.forwarded()["id"] == 1
    bench.result(1, PAID)
    bench.timers.fire()
    first, second = (json.loads(line) for line in bench.got)
    assert first["id"] == 1
    assert told(second)["guard"] == "return_recorded"
    assert bench.sent == []


# ------------------------------------------------------------------ answers that are none yet


def test_a_question_of_the_server_is_no_result_and_the_answer_to_it_belongs_to_the_same_call() -> None:
    bench = Bench()
    bench.call(1, "refund", {"invoice_id": "I-7"})
    question = {"resultType": "input_required", "inputRequests": {"a": {}}, "requestState": "s1"}
    bench.server({"jsonrpc": "2.0", "id": 1, "result": question})
    assert bench.answer()["result"] == question
    assert bench.kinds() == ["intent"]
    bench.sent.clear()
    rest = {"inputResponses": {"a": {"action": "accept"}}, "requestState": "s1"}
    bench.call(2, "refund", {"invoice_id": "I-7"}, **rest)
    assert bench.forwarded()["params"]["requestState"] == "s1"
    assert bench.kinds() == ["intent"]
    bench.result(2, {"status": "refunded"})
    assert bench.answer()["id"] == 2
    assert bench.kinds() == ["intent", "receipt"]
    assert not bench.run.view.doubts


@pytest.mark.parametrize(
    "rest", [{"requestState": "other"}, {"inputResponses": {}}, {}], ids=["another state", "no state", "plain"]
)
def test_what_is_no_answer_to_that_question_is_a_proposal_of_its_own(rest: dict[str, object]) -> None:
    bench = Bench()
    bench.call(1, "refund", {"invoice_id": "I-7"})
    bench.server({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "input_required", "requestState": "s1"}})
    bench.sent.clear()
    bench.got.clear()
    bench.call(2, "refund", {"invoice_id": "I-7"}, **rest)
    assert bench.sent == []  # the first is still under way


def test_a_question_nobody_answers_leaves_the_write_in_doubt() -> None:
    bench = Bench()
    bench.call(1, "refund", {"invoice_id": "I-7"})
    bench.server({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "input_required", "requestState": "s1"}})
    bench.session.server_gone("over")
    assert list(bench.run.view.doubts) == ["c1"]


def _task(bench: Bench) -> None:
    bench.call(1, "refund", {"invoice_id": "I-7"}, task={"ttl": 1000})
    bench.server({"jsonrpc": "2.0", "id": 1, "result": {"task": {"taskId": "T", "status": "working"}}})
    assert bench.answer()["result"]["task"]["taskId"] == "T"
    assert bench.kinds() == ["intent"]


def test_a_task_handle_is_no_result_and_its_result_is() -> None:
    bench = Bench()
    _task(bench)
    bench.request(2, "tasks/get", {"taskId": "T"})
    bench.server({"jsonrpc": "2.0", "id": 2, "result": {"taskId": "T", "status": "working"}})
    assert bench.kinds() == ["intent"]
    bench.request(3, "tasks/result", {"taskId": "T"})
    bench.result(3, {"status": "refunded"})
    assert bench.kinds() == ["intent", "receipt"]
    assert not bench.run.view.doubts
    assert [json.loads(line)["id"] for line in bench.got] == [2, 3]


@pytest.mark.parametrize("how", ["get", "cancel", "notification"])
def test_a_task_that_failed_leaves_a_write_in_doubt(how: str) -> None:
    bench = Bench()
    _task(bench)
    failed = {"taskId": "T", "status": "failed"}
    if how == "notification":
        bench.server({"jsonrpc": "2.0", "method": "notifications/tasks/status", "params": failed})
    else:
        bench.request(2, f"tasks/{how}", {"taskId": "T"})
        bench.server({"jsonrpc": "2.0", "id": 2, "result": failed})
    assert bench.kinds() == ["intent", "receipt"]
    assert list(bench.run.view.doubts) == ["c1"]


def test_a_task_that_completed_with_its_result_is_done() -> None:
    bench = Bench()
    _task(bench)
    result = {"content": [{"type": "text", "text": '{"status": "refunded"}'}]}
    bench.request(2, "tasks/get", {"taskId": "T"})
    bench.server({"jsonrpc": "2.0", "id": 2, "result": {"taskId": "T", "status": "completed", "result": result}})
    assert not bench.run.view.doubts
    assert bench.kinds() == ["intent", "receipt"]


# ------------------------------------------------------------------ the server dies, the ledger fails, a new tenure


def test_a_server_that_dies_in_a_call_leaves_a_write_in_doubt() -> None:
    bench = Bench()
    bench.call(1, "refund", {"invoice_id": "I-7"})
    bench.session.server_gone("the server has ended")
    error = bench.answer()["error"]
    assert error["code"] == -32000
    assert "not known whether refund ran" in error["message"]
    assert list(bench.run.view.doubts) == ["c1"]
    assert bench.run.close("gateway.server_ended") == "IN_DOUBT"


def test_what_the_ledger_cannot_record_does_not_run() -> None:
    store = Faulty(MemoryStore())
    bench = Bench(guard=Guard(CONTRACT, store))
    store.fails = {"intent"}
    bench.call(1, "get_invoice", {"invoice_id": "I-7"})
    assert codes(bench.answer()) == ["ledger.unavailable"]
    assert bench.sent == []


@pytest.mark.parametrize("tool", ["refund", "get_invoice"])
def test_a_result_the_ledger_cannot_take_is_still_told_and_nothing_else_runs(tool: str) -> None:
    store = Faulty(MemoryStore())
    bench = Bench(guard=Guard(CONTRACT, store))
    bench.call(1, tool, {"invoice_id": "I-7"})
    store.fails = {"receipt"}
    bench.result(1, OPEN)
    assert json.loads(bench.answer()["result"]["content"][0]["text"]) == OPEN
    bench.sent.clear()
    bench.call(2, "get_invoice", {"invoice_id": "I-8"})
    assert codes(bench.answer()) == ["ledger.broken"]
    assert bench.sent == []


def test_after_a_tenure_that_was_killed_its_open_write_is_in_doubt(tmp_path: Path) -> None:
    first = Bench(guard=Guard(CONTRACT, tmp_path / "l.db", ids=lambda: "r"))
    first.call(1, "refund", {"invoice_id": "I-7"})
    guard = Guard(CONTRACT, tmp_path / "l.db")
    second = Bench(guard=guard, run=guard.resume("r", force=True))
    assert list(second.run.view.doubts) == ["c1"]
    second.call(1, "refund", {"invoice_id": "I-7"})
    assert told(second.answer())["guard"] == "reconcile"
    first.got.clear()
    first.call(2, "get_invoice", {"invoice_id": "I-7"})  # the old writer is refused by the store
    assert codes(first.answer()) == ["lease.lost"]
    guard.close()
    first.guard.close()


def test_a_run_that_has_ended_runs_nothing() -> None:
    bench = Bench()
    bench.run.close()
    bench.call(1, "get_invoice", {"invoice_id": "I-7"})
    assert codes(bench.answer()) == ["run.closed"]
    assert bench.sent == []
