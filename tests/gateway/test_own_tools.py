"""`tallystick_status` tells where the record stands; `tallystick_finish` asks the stop gate."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from tests.gateway.bench import PAID, PAY, Bench, codes, told


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
    ("args", "says"),
    [
        ({"texts": "done"}, "no argument `texts`"),
        ({"text": 7}, "a number is no text"),
        ({"claims": []}, "one object"),
        ({"claims": {"amount": True}}, "claims.amount"),
        ({"claims": {"amount": "420.00 USD"}}, "expected EUR"),
        ({"claims": {"amounts": "420.00"}}, "no value `amounts`"),
        ({"outcome": "success"}, "no outcome"),
        ({"outcome": ["acted"]}, "no outcome"),
    ],
)
def test_finish_with_what_cannot_be_read_is_a_refused_stop_that_says_what_is_wrong(args: Any, says: str) -> None:
    bench = Bench()
    bench.call(1, "tallystick_finish", args)
    answer = bench.answer()
    assert answer["result"]["isError"] is True
    assert codes(answer) == ["claims.not_json"]
    deficit = told(answer)["deficits"][0]
    assert says in f"{deficit['where']} claims.{deficit['where']} {deficit['message']}"
    assert deficit["closes"]
    assert "stop.decided" in bench.kinds()


def test_finish_with_what_cannot_be_read_again_and_again_ends_the_run() -> None:
    bench = Bench()
    for n in range(4):
        bench.call(n, "tallystick_finish", {"text": 7})
        bench.got.clear()
    assert bench.run.status == "UNCERTIFIED"


def test_finish_reads_what_the_text_states_where_no_claims_are_given() -> None:
    bench = Bench()
    bench.read()
    bench.call(2, "pay", PAY)
    bench.result(2, PAID)
    bench.got.clear()
    bench.call(3, "tallystick_finish", {"text": "Paid 430.00 EUR on invoice I-7."})
    result = bench.answer()["result"]
    assert result["structuredContent"]["decision"] == "CONTINUE"
    assert result["structuredContent"]["deficits"][0]["code"] == "claim.mismatch"
    assert "420.00 EUR" in result["content"][0]["text"]
    bench.call(4, "tallystick_finish", {"text": "Paid EUR 420 on invoice I-7."})
    result = bench.answer()["result"]
    assert result["isError"] is False
    assert result["structuredContent"]["decision"] == "COMPLETE"


def test_the_finish_tool_has_a_place_for_each_answer_slot() -> None:
    listed = Bench(listed=False).list([])
    schema = listed["tools"][-1]["inputSchema"]
    amount = schema["properties"]["claims"]["properties"]["amount"]
    assert amount["type"] == "string"
    assert "420.00 EUR" in amount["description"]
    assert "of invoice I-7" in amount["description"]
    jsonschema.validate({"text": "paid", "claims": {"amount": "420.00 EUR"}, "outcome": "acted"}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"claims": {"amount": 420}}, schema)


def test_the_status_is_said_in_words_and_in_the_machines_value() -> None:
    bench = Bench()
    bench.read()
    bench.call(2, "pay", PAY)
    bench.result(2, PAID)
    bench.got.clear()
    bench.call(3, "tallystick_status")
    result = bench.answer()["result"]
    stage = result["structuredContent"]["stage"]
    assert stage in {"needs_information", "ready_for_action", "post_observation_continue", "completed"}
    assert stage not in result["content"][0]["text"] or stage == "completed"
    assert result["content"][0]["text"].startswith("stage: ")
