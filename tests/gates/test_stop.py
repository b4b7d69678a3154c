"""The stop gate and the final status: what an end needs, and the three ways of ending well."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tallystick.contracts.build import EMPTY, build
from tallystick.contracts.task import load_task
from tallystick.contracts.types import Task
from tallystick.gates.act import may_act
from tallystick.gates.stop import final_status, may_stop
from tallystick.gates.undone import WITHDRAWN
from tallystick.model import events as e
from tallystick.model import jsontext
from tallystick.model.decision import Decision, Verdict
from tallystick.model.proposal import Call, Claim, Stop
from tallystick.model.values import EntityRef
from tallystick.view import View
from tests.gates.claim_worlds import NOW, folded, intent, receipt, sealed

CONTRACT = build(
    {
        "contract": "stop/1",
        "entities": {"bill": {"id": "id", "due": "money(EUR)", "state": "string"}},
        "tools": {
            "get": {
                "effect": "read",
                "target": "bill(args.id)",
                "yields": {"bill": {"id": "/id", "due": "/due", "state": "/state"}},
            },
            "pay": {
                "effect": "write",
                "target": "bill(args.id)",
                "ok": 'result.state == "paid"',
                "requires": [{"id": "open", "fact": 'bill.state == "open"'}],
            },
            "schedule": {"effect": "write", "target": "bill(args.id)"},
        },
        "conditions": [
            {"id": "big", "when": "bill.due > 1000.00", "removes": ["pay"], "status": "do not pay",
             "prerequisite": "a second signature", "authority": "finance", "fallback": "schedule it",
             "fallback_tools": ["schedule"]},
        ],
        "task": {
            "inputs": {"bill": "id"},
            "owes": [
                {"id": "paid", "by": "pay", "for": "bill(task.bill)"},
                {"id": "settled", "kind": "state", "for": "bill(task.bill)", "fact": 'bill.state == "paid"',
                 "when": 'bill.state != "void"'},
            ],
            "answer": [{"slot": "due", "type": "money(EUR)", "scope": "bill", "derive": "get./due"}],
        },
    }
)  # fmt: skip
TASK = load_task({"bindings": {"bill": "B"}}, CONTRACT)
Bodies = list[tuple[e.AnyBody, e.Role]]


def get(n: int, state: str = "open", due: str = "5.00") -> Bodies:
    return [intent(f"g{n}", "get", {"id": "B"}), receipt(f"gr{n}", f"g{n}", {"id": "B", "state": state, "due": due})]


def pay(n: int, state: str | None = "paid", **more: Any) -> Bodies:
    value = None if state is None else {"id": "B", "state": state}
    return [intent(f"p{n}", "pay", {"id": "B"}), receipt(f"pr{n}", f"p{n}", value, **more)]


def raised(name: str, *, lifted: str | None = None, **more: Any) -> Bodies:
    found: Bodies = [(e.Raised(id=name, removes=["pay"], **more), "host")]
    if lifted is not None:
        found.append((e.Lifted(id=name, how=lifted, by="runtime"), "runtime"))  # type: ignore[arg-type]
    return found


def refused(view: View, contract: Any = CONTRACT) -> Bodies:
    args = {"id": "B"}
    decision = may_act(view, contract, Call(tool="pay", args=args, now=NOW))
    blob = e.blob(jsontext.dumps(args).encode())
    body = e.Refusal(tool="pay", args=blob, decision=decision.text(), now="2026-03-01T11:00:00Z")
    return [(body, "runtime")]


DUE = Claim(slot="due", field="due", value="5.00")
WHOLE = [*get(1), *pay(1), *get(2, "paid")]


def ends(bodies: Bodies, *claims: Claim, contract: Any = CONTRACT, task: Task = TASK, **more: Any) -> Decision:
    return may_stop(folded(sealed(bodies), contract, task), contract, Stop(now=NOW, claims=claims, **more))


def test_done_read_back_and_answered_is_an_end() -> None:
    decision = ends(WHOLE, DUE)
    assert decision.verdict is Verdict.ACCEPT
    assert decision.reasons == ()
    assert len(decision.basis) == 2  # the payment's receipt and the read the answer is derived from


@pytest.mark.parametrize(
    ("bodies", "claims", "more", "codes"),
    [
        (WHOLE, (DUE,), {"truncated": True}, {"turn.truncated"}),
        (WHOLE, (), {}, {"coverage.open"}),
        (WHOLE, (DUE, DUE), {}, {"coverage.twice"}),
        (WHOLE, (replace(DUE, value="6.00"),), {}, {"claim.mismatch"}),
        (WHOLE[:-2], (DUE,), {}, {"obligation.open", "evidence.stale"}),
        (get(1), (DUE,), {}, {"obligation.open"}),
        ([*get(1), *pay(1, None, error="timeout")], (), {}, {"obligation.open", "doubt.open", "coverage.open"}),
        ([*WHOLE, intent("x", "pay", {"id": "C"})], (DUE,), {}, {"doubt.open"}),
        ([*WHOLE, intent("x", "get", {"id": "C"})], (DUE,), {}, {"call.open"}),
        ([*WHOLE, (e.Ended(status="UNCERTIFIED"), "runtime")], (DUE,), {}, {"run.closed"}),
        ([*WHOLE, *raised("b", prerequisite="legal has signed")], (DUE,), {}, {"condition.open"}),
        ([*WHOLE, *raised("b", fallback="leave it")], (DUE,), {}, {"condition.open"}),
        ([*WHOLE, *raised("b", fallback="leave it", lifted="fallback")], (DUE,), {}, set()),
        ([*WHOLE, *raised("k", status="never twice")], (DUE,), {}, set()),  # a constraint asks for nothing
        ([*get(1), *raised("k", status="not now")], (DUE,), {}, {"condition.open", "obligation.open"}),
    ],
)  # fmt: skip
def test_each_thing_in_the_way_of_an_end_has_its_code(
    bodies: Bodies, claims: tuple[Claim, ...], more: dict[str, Any], codes: set[str]
) -> None:
    decision = ends(bodies, *claims, **more)
    assert set(decision.codes) == codes
    assert (decision.verdict is Verdict.ACCEPT) == (not codes)


def test_conflicting_evidence_alone_holds_the_end() -> None:
    structured = e.blob(b'{"id":"B","state":"paid","due":5}')
    last: Bodies = [intent("g3", "get", {"id": "B"}), receipt("gr3", "g3", "due: 7", structured=structured)]
    assert ends([*WHOLE, *last], DUE).verdict is Verdict.HOLD
    assert ends([*WHOLE, *last], DUE).codes == ("evidence.conflict",)
    assert ends([*WHOLE, *last], DUE, truncated=True).verdict is Verdict.REJECT


def test_waived_and_impossible_obligations_are_not_owed() -> None:
    waived: Bodies = [(e.Settled(id=i, how="waived", by="boss"), "importer") for i in ("paid", "settled")]
    view = folded(sealed([*get(1), *waived], format="test"), CONTRACT, TASK)
    assert may_stop(view, CONTRACT, Stop(now=NOW, claims=(DUE,))).verdict is Verdict.ACCEPT
    shown: Bodies = [
        (e.Settled(id=i, how="impossible", by="host", evidence=["gr1"]), "host") for i in ("paid", "settled")
    ]
    assert ends([*get(1), *shown], DUE).verdict is Verdict.ACCEPT
    unshown: Bodies = [(e.Settled(id="paid", how="impossible", by="host", evidence=["none"]), "host")]
    assert "obligation.open" in ends([*get(1), *unshown], DUE).codes


def test_an_unsigned_waiver_has_no_force() -> None:
    waived: Bodies = [(e.Settled(id="paid", how="waived", by="boss"), "principal")]
    assert "obligation.open" in ends([*get(1), *waived], DUE).codes


# ---------------------------------------------------------------- rightly not acting


NO_STATE = replace(CONTRACT, owes=CONTRACT.owes[:1])


def declined(bodies: Bodies, contract: Any = NO_STATE) -> Decision:
    return ends(bodies, contract=contract, outcome="declined")


def test_declining_is_right_where_the_gate_refused_for_what_the_evidence_says() -> None:
    paid = get(1, "paid")
    view = folded(sealed(paid), NO_STATE, TASK)
    assert declined([*paid, *refused(view, NO_STATE)]).verdict is Verdict.ACCEPT


def test_declining_is_not_right_where_nothing_was_tried_or_only_evidence_was_missing() -> None:
    assert declined(get(1, "paid")).codes == ("obligation.open",)
    unread = folded(sealed([]), NO_STATE, TASK)
    assert declined(refused(unread, NO_STATE)).codes == ("obligation.open",)


def test_declining_is_not_right_once_the_evidence_has_changed() -> None:
    paid = get(1, "paid")
    view = folded(sealed(paid), NO_STATE, TASK)
    assert declined([*paid, *refused(view, NO_STATE), *get(2, "open")]).codes == ("obligation.open",)


AMOUNTS: Any = {
    "contract": "amounts/1",
    "entities": {"bill": {"id": "id", "due": "money(EUR)", "state": "string"}, "card": {"id": "id", "live": "boolean"}},
    "tools": {
        "get": {"effect": "read", "target": "bill(args.id)",
                "yields": {"bill": {"id": "/id", "due": "/due", "state": "/state"}}},
        "look": {"effect": "read", "target": "card(args.card)", "yields": {"card": {"id": "/id", "live": "/live"}}},
        "pay": {
            "effect": "write", "target": ["bill(args.id)", "card(args.card)"], "args": {"amount": "money(EUR)"},
            "ok": 'result.state == "paid"',
            "requires": [
                {"id": "open", "fact": 'bill.state == "open"'},
                {"id": "amount", "fact": "args.amount == bill.due"},
                {"id": "live", "fact": "card.live"},
                {"id": "same", "arg": "state", "equals": "get./state"},
            ],
        },
    },
    "task": {"inputs": {"bill": "id"}, "owes": [{"id": "paid", "by": "pay", "for": "bill(task.bill)"}]},
}  # fmt: skip


@pytest.mark.parametrize(
    ("state", "live", "args", "fixed", "right"),
    [
        ("open", True, {"amount": "1.00"}, {}, False),
        ("open", False, {}, {}, False),  # another card might have been live
        ("open", True, {"state": "shut"}, {}, False),
        ("paid", True, {"state": "paid"}, {}, True),
        ("paid", True, {"amount": "1.00", "state": "paid"}, {}, True),
        ("open", True, {"amount": "1.00"}, {"amount": '"1.00"'}, True),  # the task itself owes that amount
        ("open", False, {}, {"card": '"K"'}, True),
    ],
)
def test_a_call_made_to_be_refused_does_not_make_declining_right(
    state: str, live: bool, args: dict[str, str], fixed: dict[str, str], right: bool
) -> None:
    owes = [{**AMOUNTS["task"]["owes"][0], **({"args": fixed} if fixed else {})}]
    contract = build({**AMOUNTS, "task": {**AMOUNTS["task"], "owes": owes}})
    task = load_task({"bindings": {"bill": "B"}}, contract)
    read: Bodies = [
        *get(1, state),
        intent("l", "look", {"card": "K"}),
        receipt("lr", "l", {"id": "K", "live": live}),
    ]
    asked = {"id": "B", "card": "K", "amount": "5.00", "state": "open", **args}
    decision = may_act(folded(sealed(read), contract, task), contract, Call(tool="pay", args=asked, now=NOW))
    assert decision.verdict is Verdict.REFUSE
    body = e.Refusal(
        tool="pay", args=e.blob(jsontext.dumps(asked).encode()), decision=decision.text(), now="2026-03-01T11:00:00Z"
    )
    found = ends([*read, (body, "runtime")], contract=contract, task=task, outcome="declined")
    assert found.codes == (() if right else ("obligation.open",))


def test_declining_before_an_open_blocker_needs_its_fallback() -> None:
    big = get(1, due="5000.00")
    assert declined(big).codes == ("obligation.open",)
    scheduled: Bodies = [
        intent("s", "schedule", {"id": "B"}),
        receipt("sr", "s", {"scheduled": True}),
        *get(2, due="5000.00"),
    ]
    assert declined([*big, *scheduled]).verdict is Verdict.ACCEPT
    other: Bodies = [intent("s", "schedule", {"id": "C"}), receipt("sr", "s", {"scheduled": True})]
    assert declined([*big, *other]).codes == ("obligation.open",)
    laid = raised("b", prerequisite="a signature", fallback="leave it", lifted="fallback")
    assert declined([*get(1), *laid]).verdict is Verdict.ACCEPT
    assert "condition.open" in declined([*get(1), *laid[:1]]).codes


def test_whoever_did_everything_did_not_decline() -> None:
    assert "outcome.unsupported" in declined([*get(1), *pay(1)]).codes


def test_whoever_owed_nothing_and_acted_did_not_decline() -> None:
    nothing_owed = replace(CONTRACT, owes=())
    assert "outcome.unsupported" in declined([*get(1), *pay(1)], nothing_owed).codes
    assert "outcome.unsupported" not in declined(get(1), nothing_owed).codes


def test_a_wrong_claim_is_wrong_in_any_outcome() -> None:
    paid = get(1, "paid")
    view = folded(sealed(paid), NO_STATE, TASK)
    bodies = [*paid, *refused(view, NO_STATE)]
    assert ends(bodies, replace(DUE, value="6.00"), contract=NO_STATE, outcome="declined").codes == ("claim.mismatch",)


# ---------------------------------------------------------------- the request taken back


def test_a_request_is_taken_back_by_the_host_and_by_nobody_else() -> None:
    back: Bodies = [(e.Stated(field=WITHDRAWN, value="true"), "host")]
    assert ends(back, outcome="withdrawn").verdict is Verdict.ACCEPT
    assert "outcome.unsupported" in ends([], outcome="withdrawn").codes
    words: Bodies = [(e.Said(role="user", text="never mind"), "agent")]
    assert "outcome.unsupported" in ends(words, outcome="withdrawn").codes
    by_agent: Bodies = [(e.Stated(field=WITHDRAWN, value="true"), "agent")]
    assert "outcome.unsupported" in ends(by_agent, outcome="withdrawn").codes
    assert "obligation.open" in ends(back, DUE).codes  # taken back is not done


def test_what_is_taken_back_may_still_be_in_doubt() -> None:
    back: Bodies = [(e.Stated(field=WITHDRAWN, value="true"), "host")]
    assert ends([*pay(1, None, error="timeout"), *back], outcome="withdrawn").codes == ("doubt.open",)


# ---------------------------------------------------------------- nothing to certify, and the final status


def test_an_end_about_nothing_certifies_nothing() -> None:
    assert ends([], contract=EMPTY, task=Task()).codes == ("coverage.empty",)
    said = Claim(field="state", value="open", subject=EntityRef("bill", "B"), cites=("gr1",))
    free = replace(CONTRACT, owes=(), answer=())
    assert ends(get(1), said, contract=free).verdict is Verdict.ACCEPT


def status(bodies: Bodies, *claims: Claim, contract: Any = CONTRACT, stop: bool = True) -> tuple[str, str]:
    view = folded(sealed(bodies), contract, TASK)
    decision = may_stop(view, contract, Stop(now=NOW, claims=claims)) if stop else None
    return final_status(view, contract, decision)


def test_final_status_has_one_precedence() -> None:
    assert status(WHOLE, DUE) == ("CERTIFIED", "stop.accepted")
    assert status(WHOLE, DUE, stop=False) == ("UNCERTIFIED", "stop.missing")
    assert status(get(1)) == ("UNCERTIFIED", "obligation.open")
    assert status(get(1, due="5000.00")) == ("BLOCKED", "condition.open")
    assert status([*get(1), *raised("b", prerequisite="x")]) == ("BLOCKED", "condition.open")
    doubtful = [*get(1, due="5000.00"), *pay(1, None, error="timeout")]
    assert status([*doubtful, *raised("b", prerequisite="x")]) == ("IN_DOUBT", "doubt.open")
    assert status([*get(1), intent("p", "pay", {"id": "B"})]) == ("IN_DOUBT", "doubt.open")


def test_an_accepted_end_is_void_once_the_record_has_moved_on() -> None:
    view = folded(sealed(WHOLE), CONTRACT, TASK)
    accepted = may_stop(view, CONTRACT, Stop(now=NOW, claims=(DUE,)))
    assert final_status(view, CONTRACT, accepted)[0] == "CERTIFIED"
    for event in sealed([*WHOLE, *get(3, "open")])[len(WHOLE) + 1 :]:
        view.apply(event)
    assert final_status(view, CONTRACT, accepted)[0] == "UNCERTIFIED"


def test_a_rejected_end_is_no_end() -> None:
    view = folded(sealed(WHOLE), CONTRACT, TASK)
    rejected = may_stop(view, CONTRACT, Stop(now=NOW))
    assert final_status(view, CONTRACT, rejected)[0] == "UNCERTIFIED"
