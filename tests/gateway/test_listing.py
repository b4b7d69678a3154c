"""The server's tools against the contract: drift is recorded and judged by, our tools are added, pages respected."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tallystick.contracts import parse
from tests.gateway.bench import Bench, codes

SCHEMA = {"type": "object", "properties": {"invoice_id": {"type": "string"}}, "required": ["invoice_id"]}
CONTRACT = parse(f"""
contract: reviewed/1
tools:
  get_invoice: {{effect: read, schema: {json.dumps(SCHEMA)}}}
  payments: {{effect: read, args: {{invoice_id: id}}}}
  refund: {{effect: write, args: {{invoice_id: id}}}}
""")
READ = {"invoice_id": "I-7"}


def tool(name: str, schema: Any = None, **rest: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": SCHEMA if schema is None else schema, **rest}


def names(result: Any) -> list[str]:
    return [t["name"] for t in result["tools"]]


def bench(**options: Any) -> Bench:
    return Bench(contract=CONTRACT, task=None, **options)


def test_two_tools_are_added_to_the_first_page_and_all_else_keeps_its_bytes() -> None:
    one = bench()
    one.request(1, "tools/list")
    one.server(
        b'{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a", "x":1.50}],"nextCursor":"p2", "_meta":{"z": 1}}}'
    )
    (line,) = one.got
    assert b'{"name":"a", "x":1.50}' in line
    assert b'"_meta":{"z": 1}' in line
    listed = json.loads(line)["result"]
    assert listed["nextCursor"] == "p2"
    assert names(listed) == ["a", "tallystick_status", "tallystick_finish"]
    one.got.clear()
    one.request(2, "tools/list", {"cursor": "p2"})
    raw = b'{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"b", "x":2.50}],"ttlMs": 5}}'
    one.server(raw)
    assert one.got == [raw + b"\n"]


def test_the_names_on_all_pages_are_known_before_ours_are_told() -> None:
    one = bench(listed=False)
    one.request(1, "tools/list")
    asked = one.forwarded()
    one.server({"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": [tool("a")], "nextCursor": "p2"}})
    later = one.forwarded()
    one.server({"jsonrpc": "2.0", "id": later["id"], "result": {"tools": [tool("tallystick_finish")]}})
    assert one.forwarded()["id"] == 1
    one.server({"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool("a")], "nextCursor": "p2"}})
    assert names(one.answer()["result"]) == ["a", "tallystick_status", "tallystick_finish_2"]


def test_a_list_that_is_none_is_relayed_as_it_is() -> None:
    for result in (b'{"tools":7}', b'"text"', b'{"tools":[{"noname":1}]}'):
        one = bench()
        one.request(1, "tools/list")
        raw = b'{"jsonrpc":"2.0","id":1,"result":' + result + b"}"
        one.server(raw)
        assert one.got == [raw + b"\n"]


def test_an_error_in_the_place_of_a_list_is_relayed() -> None:
    one = bench()
    one.request(1, "tools/list")
    one.server({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no tools here"}})
    assert one.answer()["error"]["code"] == -32601


def test_our_tools_step_aside_for_tools_of_the_same_name() -> None:
    one = bench(listed=False)
    listed = one.list([tool("tallystick_status")])
    assert names(listed) == ["tallystick_status", "tallystick_status_2", "tallystick_finish"]
    one.call(1, "tallystick_status_2")
    assert one.answer()["result"]["structuredContent"]["run"] == one.run.id
    one.call(2, "tallystick_status")
    assert codes(one.answer()) == ["tool.unmentioned"]


def test_the_first_call_waits_until_the_tools_were_compared_page_by_page() -> None:
    one = bench(listed=False)
    one.call(1, "get_invoice", READ)
    one.call(2, "payments", READ)
    first = one.forwarded()
    assert first["method"] == "tools/list"
    page = {"tools": [tool("get_invoice", {"type": "object", "required": ["other"]})], "nextCursor": "p2"}
    one.server({"jsonrpc": "2.0", "id": first["id"], "result": page})
    second = one.forwarded()
    assert second["params"] == {"cursor": "p2"}
    one.server({"jsonrpc": "2.0", "id": second["id"], "result": {"tools": []}})
    assert codes(one.answer()) == ["schema.mismatch"]
    assert one.forwarded()["id"] == 2


def test_a_server_without_a_list_is_judged_by_the_contract_alone() -> None:
    one = bench(listed=False)
    one.call(1, "get_invoice", READ)
    one.server({"jsonrpc": "2.0", "id": one.forwarded()["id"], "error": {"code": -32601, "message": "no"}})
    assert one.forwarded()["id"] == 1


@pytest.mark.parametrize("how", ["silence", "damage"])
def test_without_a_usable_list_nothing_is_called(how: str) -> None:
    one = bench(listed=False)
    one.call(1, "refund", READ)
    asked = one.forwarded()
    if how == "silence":
        one.timers.fire(15)
    else:
        one.server({"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": "none"}})
    assert "did not run" in one.answer()["error"]["message"]
    assert one.kinds() == []
    one.call(2, "refund", READ)
    assert one.forwarded()["method"] == "tools/list"  # asked again


def test_the_reviewed_schema_is_no_drift() -> None:
    one = bench(tools=[tool("get_invoice", dict(reversed(SCHEMA.items())))])
    assert one.kinds() == []
    one.call(1, "get_invoice", READ)
    assert one.forwarded()["id"] == 1


def test_another_schema_is_recorded_and_judged_by() -> None:
    one = bench(tools=[tool("get_invoice", {**SCHEMA, "required": ["invoice_id", "reason"]})])
    (body,) = one.bodies("schema.changed")
    assert body.tool == "get_invoice"
    one.call(1, "get_invoice", READ)
    assert codes(one.answer()) == ["schema.mismatch"]
    assert one.sent == []


def test_a_schema_with_decimals_is_compared_exactly() -> None:
    schema = {"type": "object", "properties": {"x": {"multipleOf": 0.01}}}
    one = bench(tools=[tool("get_invoice", schema)])
    assert len(one.bodies("schema.changed")) == 1


def test_a_schema_that_cannot_be_read_fits_nothing() -> None:
    one = bench()
    one.request(1, "tools/list")
    one.server(b'{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"get_invoice","inputSchema":{"a":1,"a":2}}]}}')
    one.got.clear()
    one.call(2, "get_invoice", READ)
    assert codes(one.answer()) == ["schema.mismatch"]


def test_a_read_that_says_it_changes_something_is_refused() -> None:
    one = bench(tools=[tool("payments", annotations={"readOnlyHint": False})])
    one.call(1, "payments", READ)
    assert codes(one.answer()) == ["schema.effect_changed"]


@pytest.mark.parametrize(
    ("name", "hints"),
    [("payments", {}), ("payments", {"readOnlyHint": True}), ("refund", {"readOnlyHint": True}), ("payments", None)],
)
def test_a_hint_never_makes_a_call_less_consequential(name: str, hints: Any) -> None:
    one = bench(tools=[tool(name, annotations=hints)])
    assert one.kinds() == []


def test_a_tool_that_changes_during_the_session_is_recorded_again_when_it_changes_back() -> None:
    one = bench(tools=[tool("payments")])
    one.server({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    one.got.clear()
    one.call(1, "payments", READ)
    asked = one.forwarded()
    assert asked["method"] == "tools/list"
    changed = tool("payments", {"type": "object", "required": ["reason"]})
    one.server({"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": [changed]}})
    assert codes(one.answer()) == ["schema.mismatch"]
    one.list([tool("payments")])
    one.call(2, "payments", READ)
    assert one.forwarded()["id"] == 2
    assert len(one.bodies("schema.changed")) == 2


def test_a_request_of_our_own_carries_what_the_clients_version_demands() -> None:
    one = bench(listed=False)
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 4,
    }
    one.call(1, "get_invoice", READ, _meta=meta)
    sent = one.forwarded()
    assert sent["params"]["_meta"] == {k: v for k, v in meta.items() if k != "progressToken"}
    one.server({"jsonrpc": "2.0", "id": sent["id"], "result": {"tools": []}})
    one.sent.clear()
    one.call(2, "unknown", {}, _meta=meta)
    assert one.answer()["result"]["resultType"] == "complete"
