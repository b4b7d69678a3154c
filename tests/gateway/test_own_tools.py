"""`tallystick_status` tells where the record stands; `tallystick_finish` asks the stop gate."""

from __future__ import annotations

import pytest

from tests.gateway.bench import PAID, PAY, Bench, codes


def test_status_names_what_is_owed_and_the_reads_that_would_help() -> None:
    bench = Bench()
    bench.call(1, "tallystick_status")
    result = bench.answer()["result"]
    found = result["structuredContent"]
    assert found["stage"] == "needs_information"
    assert [o["id"] for o in found["owed"]] == ["paid"]
    assert {"tool": "get_invoice", "args": {"invoice_id": "I-7"}} in found["missing"][0]["reads"]
    assert found["answer"] == [{"slot": "amount", "type": "money(EUR)", "required": True}]
    assert "owed: paid" in result["content"][0]["text"]
    assert (bench.sent, bench.kinds()) == ([], [])


def test_status_names_doubt_and_what_would_settle_it() -> None:
    bench = Bench()
    bench.read()
    bench.call(1, "pay", PAY)
    bench.result(1, "lost", isError=True)
    bench.got.clear()
    bench.call(2, "tallystick_status")
    (doubt,) = bench.answer()["result"]["structuredContent"]["in_doubt"]
    assert doubt["tool"] == "pay"
    assert doubt["settled_by"] == {"tool": "payments", "args": {"invoice_id": "I-7"}}


def test_finish_says_what_is_missing_and_is_accepted_when_nothing_is() -> None:
    bench = Bench()
    bench.call(1, "tallystick_finish", {"text": "done", "claims": {"amount": "420.00"}})
    answer = bench.answer()
    assert answer["result"]["isError"] is True
    assert "obligation.open" in codes(answer)
    bench.read()
    bench.call(2, "pay", PAY)
    bench.result(2, PAID)
    bench.got.clear()
    bench.call(3, "tallystick_finish", {"text": "paid", "claims": {"amount": "420.00"}})
    result = bench.answer()["result"]
    assert result["isError"] is False
    assert result["structuredContent"]["status"] == "CERTIFIED"
    assert bench.run.close("gateway.client_ended") == "CERTIFIED"


def test_finish_settles_doubt_through_the_server_before_it_answers() -> None:
    bench = Bench()
    bench.read()
    bench.call(1, "pay", PAY)
    bench.result(1, "lost", isError=True)
    bench.sent.clear()
    bench.got.clear()
    bench.call(2, "tallystick_finish", {"claims": {}})
    query = bench.forwarded()
    assert query["params"]["name"] == "payments"
    assert bench.got == []
    bench.result(query["id"], {"count": 1})
    assert "doubt.open" not in codes(bench.answer())
    assert not bench.run.view.doubts


def test_finish_said_twice_with_nothing_new_ends_the_run_honestly() -> None:
    bench = Bench()
    bench.call(1, "tallystick_finish", {})
    bench.got.clear()
    bench.call(2, "tallystick_finish", {})
    assert bench.answer()["result"]["structuredContent"]["status"] == "UNCERTIFIED"
    assert bench.run.status == "UNCERTIFIED"


@pytest.mark.parametrize(
    "args", [{"texts": "done"}, {"text": 7}, {"claims": []}, {"outcome": "success"}, {"outcome": ["acted"]}]
)
def test_finish_with_arguments_it_does_not_have_is_told_so_and_nothing_is_recorded(args: dict[str, object]) -> None:
    bench = Bench()
    bench.call(1, "tallystick_finish", args)
    answer = bench.answer()
    assert answer["result"]["isError"] is True
    assert codes(answer) == ["args.invalid"]
    assert bench.kinds() == []


def test_the_finish_tool_names_the_answer_slots() -> None:
    listed = Bench(listed=False).list([])
    finish = listed["tools"][-1]
    assert finish["inputSchema"]["properties"]["claims"]["properties"] == {"amount": {"description": "a money(EUR)"}}
