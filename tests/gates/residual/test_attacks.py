"""What an adversarial successor may try: each attempt is rejected, and the honest near twin of it is admitted."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from tallystick.contracts import build
from tallystick.contracts.types import Contract, Task
from tallystick.gates.residual import construct, may_take_over
from tallystick.gates.residual.proposal import MAX_CALLS
from tallystick.model import events as e
from tests.gates.residual.desk import NOW, Step, body, call, say, view_of

ONE = {"args": {"id": "id"}, "target": "order(args.id)"}
OK = {"ok": 'result.ok == "yes"'}
TOOLS: dict[str, Any] = {
    "get": {"effect": "read", **ONE, "yields": {"order": {"id": "/id", "status": "/status", "email": "/email"}}},
    "find": {"effect": "read", "yields": {"order": {"at": "/orders/*", "id": "/id", "status": "/status"}}},
    "cancel": {"effect": "write", **ONE, **OK, "undone_by": ["reopen"]},
    "reopen": {"effect": "write", **ONE, **OK},
    "refund": {"effect": "write", **ONE, **OK, "args": {"id": "id", "amount": "money(EUR)"}},
    "exchange": {"effect": "write", **ONE, **OK, "args": {"id": "id", "size": "string"},
                 "args_schema": {"type": "object", "properties": {"id": {"type": "string"},
                                                                  "size": {"enum": ["S", "M", "L"]}}}},
    "mail": {"effect": "preview unless args.go", **ONE, **OK, "args": {"id": "id", "go": "optional boolean",
                                                                     "to": "optional string"}},
    "ship": {"effect": "write", "args": {"ids": "list(id)"}, "target": "each order(args.ids)",
             "batch": {"arg": "ids", "results": "/results", "result_key": "/id", "ok": 'item.ok == "yes"'}},
    "move": {"effect": "write", "args": {"id": "id", "deep": "json"}, "target": "order(args.id)", **OK},
    "close": {"effect": "write", **ONE, **OK},
}  # fmt: skip


@cache
def shop(owes: str, **more: str) -> Contract:
    """Return the shop's contract with these obligations, as JSON text."""
    doc = {
        "contract": "shop/1",
        "entities": {"order": {"id": "id", "status": "string", "email": "string"}},
        "tools": json.loads(json.dumps(TOOLS)),
        "task": {"inputs": {"order": "id", "more": "list(id)"}, "owes": json.loads(owes)},
        **{name: json.loads(text) for name, text in more.items()},
    }
    for tool in doc["tools"].values():
        tool.pop("args_schema", None)
    return build(doc)


def judge(owes: list[dict[str, Any]], calls: list[dict[str, Any]], *steps: Step, allow: tuple[str, ...] = (),
          **more: Any) -> list[str]:  # fmt: skip
    contract = shop(json.dumps(owes), **{name: json.dumps(value) for name, value in more.items()})
    task = Task(request="see to it", bindings={"order": "O-1", "more": ("O-1", "O-2")})
    seen = [call(f"c-{n}", "get", {"id": n}, {"id": n, "status": "open", "email": f"{n}@x"}) for n in ("O-1", "O-2")]
    view = view_of(say("O-1, size M, and 5 back"), *seen, *steps, of=contract, run_task=task)
    residual, decision = construct(view, contract, tenure="t", allow=allow)
    assert residual is not None, decision
    raw = json.dumps({"calls": [{"id": f"n{i}", **c} for i, c in enumerate(calls)]}).encode()
    found, _ = may_take_over(view, contract, residual, raw, (), NOW)
    return sorted({code.removeprefix("residual.") for code in found.codes})


def do(tool: str, **args: Any) -> dict[str, Any]:
    return {"tool": tool, "args": args}


def owed(tool: str, **more: Any) -> dict[str, Any]:
    return {"id": f"o-{tool}", "by": tool, **more}


SHIP = [owed("ship", each="more", **{"for": "order(item)"})]
STATE = [
    {"id": "closed", "kind": "state", "by": "close", "for": "order(task.order)", "fact": 'order.status == "closed"'}
]


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ([do("ship", ids=["O-1", "O-2"])], []),
        ([do("ship", ids=["O-1"]), do("ship", ids=["O-2"])], []),
        ([do("ship", ids=["O-1"])], ["coverage"]),
        ([do("ship", ids=["O-1", "O-2", "O-2"])], ["duplicate", "effect"]),
        ([do("ship", ids=["O-1", "O-2"]), do("ship", ids=["O-2"])], ["duplicate", "effect"]),
        ([do("ship", ids=["O-1", "O-2", "O-3"])], ["effect", "grounding"]),
        ([do("find"), do("ship", ids=["O-1", {"$from": "n0", "$at": "/orders/0/id"}])],
         ["coverage", "effect", "grounding"]),
        ([do("find"), do("ship", ids={"$from": "n0", "$at": "/orders"})], ["coverage", "effect", "grounding"]),
        ([do("ship", ids=[])], ["coverage"]),
        ([do("ship", ids="O-1")], ["coverage", "grounding"]),
    ],
)  # fmt: skip
def test_each_item_of_a_batch_is_an_effect_of_its_own(calls: list[Any], found: list[str]) -> None:
    assert judge(SHIP, calls) == found


def test_a_batch_that_is_half_done_is_owed_for_the_rest_only() -> None:
    half = call("c-s", "ship", {"ids": ["O-1"]}, {"results": [{"id": "O-1", "ok": "yes"}]})
    assert judge(SHIP, [do("ship", ids=["O-2"])], half) == []
    assert judge(SHIP, [do("ship", ids=["O-1", "O-2"])], half) == ["duplicate", "effect"]


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ([do("mail", id="O-1", go=True)], []),
        ([do("mail", id="O-1"), do("mail", id="O-1", go=True)], []),
        ([do("mail", id="O-1")], ["coverage"]),
        ([do("mail", id="O-1", go=False)], ["coverage"]),
        ([do("get", id="O-1"), do("mail", id="O-1", go={"$from": "n0", "$at": "/id"})], ["grounding"]),
        ([do("get", id="O-1"), do("mail", id={"$from": "n0", "$at": "/id"}, go=True)],
         ["coverage", "effect", "grounding"]),
        ([do("mail", id="O-1", go=True, to="O-1@x")], []),
        ([do("mail", id="O-1", go=True, to="evil@x")], ["grounding"]),
    ],
)  # fmt: skip
def test_which_effect_a_call_has_is_known_before_it_runs(calls: list[Any], found: list[str]) -> None:
    assert judge([owed("mail")], calls) == found


def test_undoing_is_refused_whatever_is_allowed_and_however_long_the_chain() -> None:
    cancelled = call("c-x", "cancel", {"id": "O-1"}, {"ok": "yes"})
    mail = do("mail", id="O-1", go=True)
    assert judge([owed("mail")], [mail], cancelled, allow=("reopen", "cancel")) == []
    undone = [do("reopen", id="O-1"), mail]
    assert judge([owed("mail")], undone, cancelled, allow=("reopen", "cancel")) == ["effect"]
    chain = [do("reopen", id="O-1"), do("cancel", id="O-1"), mail]
    assert judge([owed("mail")], chain, cancelled, allow=("reopen", "cancel")) == ["duplicate", "effect"]
    own = [do("cancel", id="O-1"), do("reopen", id="O-1")]
    assert judge([owed("cancel")], own, allow=("reopen",)) == ["effect"]
    assert judge([owed("cancel")], [do("reopen", id="O-1"), do("cancel", id="O-1")], allow=("reopen",)) == []


def test_an_allowed_effect_stays_with_the_entity_that_was_chosen() -> None:
    mail = do("mail", id="O-1", go=True)
    assert judge([owed("mail")], [mail, do("reopen", id="O-1")], allow=("reopen",)) == []
    assert judge([owed("mail")], [mail, do("reopen", id="O-2")], allow=("reopen",)) == ["effect"]
    two = body(e.Confirmation(entity_kind="order", entity_id="O-2"))
    assert judge([owed("mail")], [mail, do("reopen", id="O-2")], two, allow=("reopen",)) == []
    assert judge([owed("mail")], [mail, do("reopen", id="O-3")], allow=("reopen",)) == ["effect", "grounding"]
    assert judge([owed("mail")], [mail, do("reopen", id="O-1")]) == ["effect", "grounding"]


def test_one_of_several_tools_takes_effect() -> None:
    one = [{"id": "one", "tools": ["refund", "exchange"], "per": "args.id"}]
    both = [do("refund", id="O-1", amount=5), do("exchange", id="O-1", size="M")]
    assert judge([owed("refund"), owed("exchange")], both) == []
    assert judge([owed("refund"), owed("exchange")], both, exclusive=one) == ["effect"]
    before = call("c-r", "refund", {"id": "O-1", "amount": 5}, {"ok": "yes"})
    assert judge([owed("refund"), owed("exchange")], both[1:], before, exclusive=one) == ["effect"]
    assert judge([owed("refund"), owed("exchange")], both[1:], before) == []


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ([do("close", id="O-1"), do("get", id="O-1")], []),
        ([do("close", id="O-1")], ["coverage"]),
        ([do("get", id="O-1")], ["coverage"]),
        ([do("get", id="O-1"), do("close", id="O-1")], ["coverage"]),
        ([do("close", id="O-1"), do("get", id="O-2")], ["coverage"]),
        ([do("close", id="O-1"), do("find")], []),
        ([do("close", id="O-1"), do("get", id="O-1"), do("reopen", id="O-1")], ["coverage"]),
        ([do("close", id="O-2"), do("get", id="O-1")], ["coverage", "effect"]),
        ([do("close", id="O-1"), {**do("get", id="O-1"), "covers": ["closed"]}], []),
        ([{**do("close", id="O-1"), "covers": ["closed"]}, do("get", id="O-1")], []),
        ([do("close", id="O-1"), do("get", id="O-1"), {**do("find"), "covers": ["closed"]}], []),
        ([do("close", id="O-1"), do("get", id="O-1"), {**do("get", id="O-2"), "covers": ["closed"]}], ["coverage"]),
    ],
)  # fmt: skip
def test_a_state_that_is_owed_is_changed_and_then_looked_at(calls: list[Any], found: list[str]) -> None:
    assert judge(STATE, calls, allow=("reopen",)) == found


def test_a_state_that_holds_is_progress_and_is_shown_again_after_a_write() -> None:
    closed = call("c-c", "get", {"id": "O-1"}, {"id": "O-1", "status": "closed", "email": "O-1@x"})
    mail = do("mail", id="O-1", go=True)
    assert judge([owed("mail"), *STATE], [mail], closed) == ["coverage"]
    assert judge([owed("mail"), *STATE], [mail, do("get", id="O-1")], closed) == []
    assert judge([owed("mail"), *STATE], [do("get", id="O-1"), mail], closed) == ["coverage"]
    assert judge([owed("mail")], [mail], closed) == []


def test_a_read_that_a_blocker_removes_is_no_part_of_a_remainder() -> None:
    mail, look = do("mail", id="O-1", go=True), do("get", id="O-1")
    stop = body(e.Raised(id="stop", removes=["get"]))
    assert judge([owed("mail")], [mail, look]) == []
    assert judge([owed("mail")], [mail, look], stop) == ["effect"]
    assert judge([owed("mail")], [mail, do("find")], stop) == []


def test_a_duty_that_the_remainder_brings_about_is_part_of_it() -> None:
    duty = [{"id": "told", "after": "cancel", "owes": "mail", "with": "args.id == call.id"}]
    told = do("mail", id="O-1", go=True)
    assert judge([owed("cancel")], [do("cancel", id="O-1"), told], duties=duty) == []
    assert judge([owed("cancel")], [do("cancel", id="O-1")], duties=duty) == ["coverage"]
    assert judge([owed("cancel")], [told, do("cancel", id="O-1")], duties=duty) == ["coverage", "effect"]
    assert judge([owed("cancel")], [do("cancel", id="O-1"), told]) == ["effect"]
    twice = [do("cancel", id="O-1"), told, do("mail", id="O-1", go=True, to="O-1@x")]
    assert judge([owed("cancel")], twice, duties=duty) == ["effect"]
    never = [{**duty[0], "when": 'order.status == "lost"'}]
    assert judge([owed("cancel")], [do("cancel", id="O-1")], duties=never) == []


def test_names_and_values_deep_inside_an_argument_have_sources_too() -> None:
    for deep, found in (
        ({"id": "O-1", "email": ["O-2@x"]}, []),
        ({"id": ["nobody"]}, ["grounding"]),
        ({"nobody": "O-1"}, ["grounding"]),
        ({"id": {"$from": "r-c-O-1", "$at": "/email"}}, []),
        ({"id": [{"email": {"$from": "r-c-O-1", "$at": "/no"}}]}, ["grounding"]),
        ({"id": [{"email": {"$from": "replica-1", "$at": ""}}]}, ["grounding"]),
        ({"$$from": "O-1"}, ["grounding"]),
    ):
        assert judge([owed("move")], [do("move", id="O-1", deep=deep)]) == found, deep
    level: Any = "O-1"
    for _ in range(150):
        level = [level]
    assert judge([owed("move")], [do("move", id="O-1", deep=level)]) == []


def test_what_the_users_word_names_is_a_word_and_not_a_part_of_one() -> None:
    exchange = [do("exchange", id="O-1", size="M")]
    assert judge([owed("exchange")], exchange) == []
    assert judge([owed("exchange")], [do("exchange", id="O-1", size="siz")]) == ["grounding"]
    refund = [owed("refund")]
    assert judge(refund, [do("refund", id="O-1", amount="5.00 EUR")]) == []
    assert judge(refund, [do("refund", id="O-1", amount=1)]) == ["grounding"]  # `O-1` says no number
    assert judge(refund, [do("refund", id="O-1", amount=50)]) == ["grounding"]


def test_one_effect_in_another_spelling_is_one_effect() -> None:
    refunds = [owed("refund"), {**owed("refund"), "id": "again"}]
    one = do("refund", id="O-1", amount=5)
    for amount in ("5.00", "5 EUR", 5):
        assert judge(refunds, [one, do("refund", amount=amount, id="O-1")]) == ["duplicate"]
    kept = call("c-r", "refund", {"id": "O-1", "amount": "5.00"}, {"ok": "yes"})
    assert judge([owed("refund"), owed("mail")], [do("mail", id="O-1", go=True), one], kept) == [
        "duplicate",
        "effect",
        "grounding",
    ]


def test_a_made_up_argument_makes_no_new_effect() -> None:
    twice = [owed("mail"), {**owed("mail"), "id": "again"}]
    mail = do("mail", id="O-1", go=True)
    assert judge(twice, [mail, do("mail", id="O-1", go=True, to="O-1@x")]) == []
    assert judge(twice, [mail, do("mail", id="O-1", go=True, to=None)]) == ["duplicate"]
    assert judge(twice, [mail, do("mail", id="O-1", go=True, email="O-1@x")]) == ["duplicate"]
    late = do("mail", id="O-1", go=True, email={"$from": "n0", "$at": "/email"})
    assert judge(twice, [do("get", id="O-1"), mail, late]) == ["duplicate"]
    allowed = [mail, do("reopen", id="O-1"), do("reopen", id="O-1", email=["O-1@x"])]
    assert judge([owed("mail")], allowed, allow=("reopen",)) == ["duplicate"]


def test_an_identity_that_a_result_decides_may_be_any_other() -> None:
    look, amount = do("get", id="O-1"), {"$from": "n0", "$at": "/email"}
    late = do("refund", id="O-1", amount=amount)
    assert judge([owed("refund")], [look, late]) == []
    kept = call("c-r", "refund", {"id": "O-1", "amount": "5.00"}, {"ok": "yes"})
    extra = body(e.Obliged(id="more", tool="refund", entity=["order", "O-1"]))
    assert judge([owed("refund")], [look, late], kept, extra) == ["grounding"]
    two = body(e.Obliged(id="more", tool="refund", entity=["order", "O-1"]))
    assert judge([owed("refund")], [look, late, late], two) == ["duplicate"]
    other = do("refund", id="O-1", amount={"$from": "n0", "$at": "/status"})
    assert judge([owed("refund")], [look, late, other], two) == ["grounding"]
    elsewhere = body(e.Obliged(id="more", tool="refund", entity=["order", "O-2"]))
    assert judge([owed("refund")], [look, late, do("refund", id="O-2", amount=amount)], elsewhere) == []


def test_thousands_of_calls_are_judged_and_more_than_ten_thousand_are_no_proposal() -> None:
    mail = do("mail", id="O-1", go=True)
    assert judge([owed("mail")], [*([do("get", id="O-1")] * 3_000), mail]) == []
    assert judge([owed("mail")], [*([do("get", id="O-1")] * MAX_CALLS), mail]) == ["malformed"]


def test_many_calls_that_leave_their_identity_open_in_many_ways_are_not_told_apart() -> None:
    names = [f"a{i}" for i in range(6)]
    wide = build({
        "contract": "wide/1", "entities": {"order": {"id": "id"}},
        "tools": {"get": TOOLS["find"] | {"yields": {"order": {"at": "/orders/*", "id": "/id"}}},
                  "put": {"effect": "write", "target": "order(args.id)", **OK,
                          "args": {"id": "id", **dict.fromkeys(names, "optional json")}}},
        "task": {"inputs": {"order": "id"}, "owes": [owed("put", **{"for": "order(task.order)"})]},
    })  # fmt: skip
    view = view_of(call("c-1", "get", {}, {"orders": [{"id": "O-1"}]}), of=wide,
                   run_task=Task(request="x", bindings={"order": "O-1"}))  # fmt: skip
    residual, decision = construct(view, wide, tenure="t", allow=["put"])
    assert residual is not None, decision
    calls: list[Any] = [{"id": "look", "tool": "get"}]
    for i in range(64):
        mine = {n: ({"$from": "look", "$at": "/orders"} if i >> bit & 1 else "O-1") for bit, n in enumerate(names)}
        calls.append({"id": f"p{i}", "tool": "put", "args": {"id": "O-1", **mine}})
    found, _ = may_take_over(view, wide, residual, json.dumps({"calls": calls}).encode(), (), NOW)
    assert "residual.grounding" in found.codes
    few, _ = may_take_over(view, wide, residual, json.dumps({"calls": calls[:2]}).encode(), (), NOW)
    assert few.positive, few
