"""What a result says about its call: one table, read left to right."""

from __future__ import annotations

from typing import Any

import pytest

from tallystick.contracts.types import Batch, Tool
from tallystick.model import jsontext
from tallystick.view.outcome import MAX_NODES, judge
from tests.gates.worlds_kit import equals

BARE = Tool(name="pay", effect="write")
STRICT = Tool(name="pay", effect="write", ok=equals("result.status", "paid"), no_effect=equals("result.code", "closed"))
SLOW = Tool(name="pay", effect="write", pending=equals("result.phase", 1))
FINAL = Tool(name="pay", effect="write", status_at=("job", "state"), terminal=("paid",))
ECHO = Tool(name="pay", effect="write", echoes=(("id", ("invoice", "id")),))
MANY = Tool(name="pay", effect="write", batch=Batch(arg="ids", results=("results",)))
READ = Tool(name="get", effect="read", ok=equals("result.found", True))

TABLE: list[tuple[Tool | None, str, str, dict[str, Any], str, str]] = [
    # tool, effect, result, what the transport says besides, outcome, code
    (None, "read", '{"id": 1}', {}, "ok", "ok"),
    (None, "read", "[]", {}, "ok", "ok"),
    (None, "read", "null", {}, "ok", "result.empty"),
    (None, "read", '{"id": 1}', {"flag": "error"}, "no_effect", "result.error_flag"),
    (None, "read", '{"id": 1}', {"synthetic": True}, "no_effect", "result.synthetic"),
    (None, "read", "null", {"transport_error": "reset"}, "no_effect", "result.transport_error"),
    (None, "read", '{"data": {"error": "no such id"}}', {}, "no_effect", "result.nested_error"),
    # what a read found may itself be a failure: that is a fact, not an error of the read
    (None, "read", '{"job": "j-1", "state": "FAILED"}', {}, "ok", "ok"),
    (None, "read", '{"tests": [{"name": "a", "ok": false, "error": "boom"}]}', {}, "ok", "ok"),
    (None, "read", '{"status": "error", "reason": "invalid"}', {}, "no_effect", "result.nested_error"),
    (READ, "read", '{"found": true}', {}, "ok", "ok"),
    (READ, "read", '{"found": false}', {}, "no_effect", "result.not_ok"),
    (READ, "read", "{}", {}, "no_effect", "result.not_ok"),
    # a write is done only on positive evidence
    (BARE, "write", '{"id": 1}', {}, "ok", "ok"),
    (BARE, "write", "true", {}, "ok", "ok"),
    (BARE, "write", "false", {}, "unknown", "result.says_false"),
    (BARE, "write", '{"sent": false}', {}, "unknown", "result.says_false"),
    (BARE, "write", '{"mail_sent": false, "id": "m-1"}', {}, "unknown", "result.says_false"),
    (BARE, "write", '{"updated": true, "archived": false}', {}, "ok", "ok"),
    (BARE, "write", '{"id": "m-1", "is_gift": false, "signature_required": false}', {}, "ok", "ok"),
    (BARE, "write", '{"message": "could not send"}', {}, "unknown", "result.no_positive_evidence"),
    (BARE, "write", '{"message": "refund issued for I-1"}', {}, "ok", "result.names_target"),
    (BARE, "write", '{"code": 500}', {}, "unknown", "result.nested_error"),
    (BARE, "write", '{"status": 404, "id": "m-1"}', {}, "unknown", "result.nested_error"),
    (BARE, "write", '{"status": 201, "id": "m-1"}', {}, "ok", "ok"),
    (BARE, "write", '{"status": "declined"}', {}, "unknown", "result.nested_error"),
    (BARE, "write", '{"rows": 0}', {}, "unknown", "result.no_positive_evidence"),
    (BARE, "write", "0", {}, "unknown", "result.no_positive_evidence"),
    (BARE, "write", "[1]", {}, "unknown", "result.no_positive_evidence"),
    (BARE, "write", '[{"id": "m-1"}]', {}, "ok", "ok"),
    (BARE, "write", "{}", {}, "unknown", "result.no_positive_evidence"),
    (BARE, "write", "[]", {}, "unknown", "result.no_positive_evidence"),
    (BARE, "write", "null", {}, "unknown", "result.no_positive_evidence"),
    (BARE, "write", '"done"', {}, "unknown", "result.no_positive_evidence"),
    (BARE, "write", '"paid I-1"', {}, "ok", "result.names_target"),
    (BARE, "write", '"could not pay I-1"', {}, "unknown", "result.no_positive_evidence"),
    # an error from a write is unknown until shown otherwise
    (BARE, "write", '{"id": 1}', {"flag": "error"}, "unknown", "result.error_flag"),
    (BARE, "write", "null", {"transport_error": "timeout"}, "unknown", "result.transport_error"),
    (BARE, "write", '{"id": 1}', {"synthetic": True}, "unknown", "result.synthetic"),
    (BARE, "write", '{"isError": true}', {}, "unknown", "result.nested_error"),
    (BARE, "write", '{"success": false}', {}, "unknown", "result.nested_error"),
    (BARE, "write", '{"a": [{"b": {"errors": ["x"]}}]}', {}, "unknown", "result.nested_error"),
    (BARE, "write", '{"status": "FAILED"}', {}, "unknown", "result.nested_error"),
    (BARE, "write", '{"id": 1, "error": null, "errors": []}', {}, "ok", "ok"),
    (BARE, "write", '{"id": 1, "errors": 0}', {}, "ok", "ok"),
    (STRICT, "write", '{"status": "paid"}', {}, "ok", "ok"),
    (STRICT, "write", '{"status": "open"}', {}, "unknown", "result.not_ok"),
    (STRICT, "write", '{"status": "paid", "error": "after"}', {}, "unknown", "result.nested_error"),
    (STRICT, "write", '{"status": "paid"}', {"flag": "error"}, "unknown", "result.error_flag"),
    # a declared rejection is an answer, whatever the envelope says
    (STRICT, "write", '{"code": "closed"}', {}, "no_effect", "result.rejected"),
    (STRICT, "write", '{"code": "closed", "error": "x"}', {"flag": "error"}, "no_effect", "result.rejected"),
    (STRICT, "write", '{"code": "closed"}', {"transport_error": "http 409"}, "no_effect", "result.rejected"),
    (STRICT, "write", '{"code": "closed"}', {"synthetic": True}, "unknown", "result.synthetic"),
    # not finished is neither done nor failed
    (BARE, "write", '{"status": "queued"}', {}, "in_flight", "result.pending"),
    (BARE, "write", '{"job": {"state": "In_Progress"}}', {}, "in_flight", "result.pending"),
    (BARE, "write", '{"timed_out": true, "id": 1}', {}, "in_flight", "result.pending"),
    (SLOW, "write", '{"phase": 1}', {}, "in_flight", "result.pending"),
    (STRICT, "write", '{"status": "queued"}', {}, "in_flight", "result.pending"),
    (FINAL, "write", '{"job": {"state": "half"}}', {}, "in_flight", "result.pending"),
    (FINAL, "write", '{"job": {"state": "paid"}}', {}, "ok", "ok"),
    # simulated, partial, about something else
    (BARE, "write", '{"id": 1, "dry_run": true}', {}, "simulated", "result.simulated"),
    (BARE, "write", '{"id": 1}', {"dry_run": True}, "simulated", "result.simulated"),
    (BARE, "write", '{"id": 1, "dry_run": false}', {}, "ok", "ok"),
    (BARE, "write", '{"id": 1, "ignored_fields": ["note"]}', {}, "partial", "result.partial"),
    (BARE, "write", '{"id": 1, "ignored_fields": []}', {}, "ok", "ok"),
    (ECHO, "write", '{"invoice": {"id": "I-1"}}', {}, "ok", "ok"),
    (ECHO, "write", '{"invoice": {"id": "I-2"}}', {}, "unknown", "result.echo"),
    # a batch is judged per item, so an item's error is not the call's
    (MANY, "write", '{"results": [{"id": "a", "error": "x"}]}', {}, "ok", "ok"),
    (MANY, "write", '{"error": "x", "results": []}', {}, "unknown", "result.nested_error"),
]


@pytest.mark.parametrize(("tool", "effect", "result", "transport", "outcome", "code"), TABLE)
def test_the_outcome_of_a_result(
    tool: Tool | None, effect: Any, result: str, transport: dict[str, Any], outcome: str, code: str
) -> None:
    value = jsontext.loads(result)
    judged = judge(tool, effect, {"id": "I-1"}, value, text=result, target_ids=("I-1",), **transport)
    assert (judged.outcome, judged.code) == (outcome, code)


def test_the_pointer_says_where_the_error_stands() -> None:
    assert judge(None, "write", {}, {"a": [{"b/c": {"error": "x"}}]}).pointer == "/a/0/b~1c/error"


def test_an_answer_too_large_to_search_is_no_success_of_a_write() -> None:
    big = {"items": [{"n": [i]} for i in range(MAX_NODES)]}
    assert judge(BARE, "write", {}, big).code == "result.too_large"
    assert judge(None, "read", {}, big).outcome == "ok"


def test_no_mark_of_trouble_makes_a_write_look_done() -> None:
    """Whatever else a body says, adding one mark of trouble never leaves it at ok."""
    bodies: list[dict[str, Any]] = [{"id": 1}, {"status": "paid", "id": 2}, {"items": [{"id": 1}]}]
    marks: list[dict[str, Any]] = [
        {"error": "x"}, {"errors": [1]}, {"is_error": True}, {"success": False}, {"ok": False}, {"state": "failed"},
        {"status": "pending"}, {"dry_run": True}, {"simulated": True}, {"rejected_fields": ["a"]}, {"timeout": True},
    ]  # fmt: skip
    for body in bodies:
        for mark in marks:
            for nested in (mark, {"inner": mark}, {"list": [mark]}):
                assert judge(BARE, "write", {}, {**body, **nested}).outcome != "ok", (body, nested)
