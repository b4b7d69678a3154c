"""Whole-graph admission on the invoice desk: what is wrong is rejected before the first write, its near twin is not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tallystick.gates.residual import construct, may_take_over
from tallystick.model import events as e
from tallystick.model.decision import Decision, Verdict
from tallystick.model.residual import Graph
from tallystick.view import View
from tests.gates.residual.desk import (
    AFTER_PAYMENT,
    BEFORE_PAYMENT,
    NOW,
    PAID,
    PAY,
    PAY_IT,
    READ,
    READ_8,
    SENT,
    Step,
    body,
    call,
    contract,
    say,
    view_of,
)

SEND = {"id": "send", "tool": "send_receipt", "args": {"invoice_id": "I-7", "file": "rcpt-0007.pdf"}}
CHECK = {"id": "check", "tool": "payments", "args": {"invoice_id": "I-7"}, "after": ["send"]}
CLAIM = {"amount_paid": {"$from": "check", "$at": "/total"}}
ANSWER = {"text": "paid {amount_paid}, delivered", "claims": CLAIM}
GOOD = {"calls": [SEND, CHECK], "answer": ANSWER}


def judged(
    view: View, proposal: object, replica: tuple[e.ReplicaCall, ...] = (), **more: Any
) -> tuple[Decision, Graph | None]:
    residual, decision = construct(view, view.contract, tenure="t-1", **more)
    assert residual is not None, decision
    raw = proposal if isinstance(proposal, bytes) else json.dumps(proposal).encode()
    return may_take_over(view, view.contract, residual, raw, replica, NOW)


def test_the_valid_continuation_is_admitted_and_closed() -> None:
    decision, graph = judged(view_of(*AFTER_PAYMENT), GOOD)
    assert decision.verdict is Verdict.ADMIT, decision
    assert graph is not None
    assert [(n.id, n.effect, n.covers, n.after) for n in graph.nodes] == [
        ("send", "write", ["delivered"], []), ("check", "read", [], ["send"]),
    ]  # fmt: skip


def codes(proposal: object, *steps: Step, **more: Any) -> list[str]:
    decision, _ = judged(view_of(*(steps or AFTER_PAYMENT)), proposal, **more)
    assert (decision.verdict is Verdict.ADMIT) == (not decision.reasons)
    assert (decision.verdict is Verdict.HOLD) == (set(decision.codes) == {"residual.hold"})
    return sorted({code.removeprefix("residual.") for code in decision.codes})


def with_calls(*calls: dict[str, Any], **answer: Any) -> dict[str, Any]:
    return {"calls": list(calls), "answer": answer or ANSWER}


def send(**more: Any) -> dict[str, Any]:
    return {**SEND, **more}


def args(**more: Any) -> dict[str, Any]:
    return send(args={**SEND["args"], **more})


PAY_NODE = {"id": "pay", "tool": "pay_invoice", "args": PAY}
FROM_PAY = {"invoice_id": "I-7", "file": {"$from": "pay", "$at": "/receipt_file"}}
WHOLE = with_calls(PAY_NODE, send(args=FROM_PAY, after=["pay"]), CHECK)


@pytest.mark.parametrize(
    ("what", "proposal", "found"),
    [
        ("repaying", with_calls({"id": "pay", "tool": "pay_invoice", "args": PAY}, SEND, CHECK),
         ["duplicate", "effect", "grounding"]),
        ("switching the invoice", with_calls(args(invoice_id="I-8"), CHECK),
         ["coverage", "dependency", "effect", "grounding"]),
        ("omitting delivery", with_calls({**CHECK, "after": []}), ["coverage"]),
        ("claiming success without delivery", {"calls": [], "answer": {"text": "paid and delivered"}},
         ["claim", "coverage"]),
        ("declaring false coverage", with_calls({**CHECK, "after": [], "covers": ["delivered"]}), ["coverage"]),
        ("declaring what is not owed", with_calls(send(covers=["paid"]), CHECK), ["coverage"]),
        ("declaring rightly", with_calls(send(covers=["delivered"]), CHECK), []),
        ("a file nobody stated", with_calls(args(file="other.pdf"), CHECK), ["dependency", "grounding"]),
        ("the file by its source", with_calls(args(file={"$from": "r-c-pay", "$at": "/receipt_file"}), CHECK), []),
        ("a place where nothing is", with_calls(args(file={"$from": "r-c-pay", "$at": "/nothing"}), CHECK),
         ["grounding"]),
        ("an unknown source", with_calls(args(file={"$from": "r-x", "$at": "/receipt_file"}), CHECK), ["grounding"]),
        ("the task as source", with_calls(args(invoice_id={"$from": "task", "$at": "/invoice"}), CHECK), []),
        ("a missing argument", with_calls(send(args={"invoice_id": "I-7"}), CHECK), ["grounding"]),
        ("an ill-typed argument", with_calls(args(invoice_id=True), CHECK), ["coverage", "effect", "grounding"]),
        ("delivering twice", with_calls(SEND, send(id="again"), {**CHECK, "after": ["again"]}),
         ["duplicate", "effect"]),
        ("a call named twice", with_calls(SEND, SEND, CHECK), ["dependency"]),
        ("a call named task", with_calls(send(id="task"), {**CHECK, "after": []}), ["dependency"]),
        ("a call named like a receipt", with_calls(send(id="r-c-pay"), {**CHECK, "after": []}), ["dependency"]),
        ("a circle", with_calls(send(after=["check"]), CHECK), ["dependency"]),
        ("itself", with_calls(send(after=["send"]), CHECK), ["dependency"]),
        ("a call it does not have", with_calls(send(after=["x"]), CHECK), ["dependency"]),
        ("a later call's value", with_calls(args(file={"$from": "check", "$at": "/file"}), {**CHECK, "after": []}),
         ["dependency"]),
        ("its own value", with_calls(args(file={"$from": "send", "$at": "/file"}), CHECK), ["dependency"]),
        ("no claim", with_calls(SEND, CHECK, text="done"), ["claim"]),
        ("an unknown slot", with_calls(SEND, CHECK, claims={**CLAIM, "tip": 1}), ["claim"]),
        ("a claim from memory", with_calls(SEND, CHECK, claims={"amount_paid": 420}), ["claim"]),
        ("a claim from another call", with_calls(SEND, CHECK, claims={"amount_paid": {"$from": "send", "$at": "/x"}}),
         ["claim"]),
        ("a claim read too early", with_calls({**CHECK, "after": []}, SEND), ["claim"]),
        ("a claim of another invoice", with_calls(SEND, {**CHECK, "args": {"invoice_id": "I-8"}}),
         ["claim", "grounding"]),
        ("a tool nobody declared", with_calls(SEND, CHECK, {"id": "x", "tool": "wire"}), ["grounding"]),
        ("a reference inside a list", with_calls(SEND, CHECK, claims={"amount_paid": [{"$from": "no", "$at": ""}]}),
         ["claim"]),
        ("escaped data is no reference", with_calls(args(file={"$$from": "r-c-pay"}), CHECK), ["grounding"]),
        ("no calls at all", b"{}", ["malformed"]),
        ("not JSON", b"pay", ["malformed"]),
        ("a float of no end", b'{"calls": [], "answer": {"claims": {"amount_paid": NaN}}}', ["malformed"]),
        ("half a reference", with_calls(args(file={"$from": "r-c-pay", "at": "/x"}), CHECK), ["malformed"]),
        ("a reference that is expected", with_calls(send(expect={"/status": {"$from": "send"}}), CHECK), ["malformed"]),
        ("too deep", b'{"calls": ' + b"[" * 300 + b"]" * 300 + b"}", ["malformed"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_rejected_before_the_first_write(what: str, proposal: object, found: list[str]) -> None:
    assert codes(proposal) == found, what


@pytest.mark.parametrize(
    ("what", "proposal", "found"),
    [
        ("pay, deliver what paying returns, check", WHOLE, []),
        ("a file from memory", with_calls(PAY_NODE, send(args={**FROM_PAY, "file": "rcpt-0007.pdf"}), CHECK),
         ["dependency", "grounding"]),
        ("delivering first", with_calls(send(args={**FROM_PAY, "file": "I-7"}), PAY_NODE, {**CHECK, "after": ["pay"]}),
         ["dependency"]),
        ("which invoice hangs on a result",
         with_calls({**PAY_NODE, "args": {**PAY, "invoice_id": {"$from": "look", "$at": "/id"}}},
                    send(args=FROM_PAY), CHECK), ["grounding"]),
        ("which invoice hangs on an earlier result",
         with_calls({"id": "look", "tool": "get_invoice", "args": {"invoice_id": "I-7"}},
                    {**PAY_NODE, "args": {**PAY, "invoice_id": {"$from": "look", "$at": "/id"}}},
                    send(args=FROM_PAY), CHECK), ["coverage", "effect", "grounding", "hold"]),
        ("the amount may hang on it",
         with_calls({"id": "look", "tool": "get_invoice", "args": {"invoice_id": "I-7"}},
                    {**PAY_NODE, "args": {**PAY, "amount": {"$from": "look", "$at": "/amount_due"}}},
                    send(args=FROM_PAY), CHECK), []),
        ("one amount in another spelling", with_calls({**PAY_NODE, "args": {**PAY, "amount": 420}},
                                                      send(args=FROM_PAY), CHECK), []),
        ("another amount", with_calls({**PAY_NODE, "args": {**PAY, "amount": "42.00"}}, send(args=FROM_PAY), CHECK),
         ["effect", "grounding"]),
        ("paying twice in two spellings",
         with_calls(PAY_NODE, {**PAY_NODE, "id": "two", "args": {"amount": 420, "invoice_id": "I-7"}},
                    send(args=FROM_PAY), {**CHECK, "after": ["send", "two"]}), ["dependency", "duplicate", "effect"]),
        ("two deliveries that may be one",
         with_calls(PAY_NODE, send(args=FROM_PAY), send(id="two", args={**FROM_PAY, "file": "I-7"}),
                    {**CHECK, "after": ["send", "two"]}), ["dependency", "effect", "grounding"]),
        ("the same delivery by the same source",
         with_calls(PAY_NODE, send(args=FROM_PAY), send(id="two", args=FROM_PAY), {**CHECK, "after": ["send", "two"]}),
         ["duplicate", "effect"]),
    ],
)  # fmt: skip
def test_before_payment_the_whole_remainder_is_judged(what: str, proposal: object, found: list[str]) -> None:
    assert codes(proposal, *BEFORE_PAYMENT) == found, what


def replica(name: str, tool: str, given: dict[str, Any], answer: Any) -> e.ReplicaCall:
    return e.ReplicaCall(
        id=name, tool=tool, args=e.blob(json.dumps(given).encode()), result=e.blob(json.dumps(answer).encode())
    )


TRIED = (
    replica("replica-1", "pay_invoice", PAY, {**PAID, "receipt_file": "sandbox-1.pdf"}),
    replica("replica-2", "send_receipt", {"invoice_id": "I-7", "file": "sandbox-1.pdf"}, SENT),
    replica("replica-3", "payments", {"invoice_id": "I-7"}, {"total": 420}),
)


def test_values_seen_on_a_replica_are_bound_to_the_calls_that_will_say_them() -> None:
    view = view_of(*BEFORE_PAYMENT)
    literal = with_calls(PAY_NODE, send(args={"invoice_id": "I-7", "file": "sandbox-1.pdf"}), CHECK,
                         text="x", claims={"amount_paid": 420})  # fmt: skip
    decision, graph = judged(view, literal, TRIED)
    assert decision.verdict is Verdict.ADMIT, decision
    assert graph is not None
    assert json.loads(graph.nodes[1].args) == FROM_PAY
    assert graph.nodes[1].after == ["pay"]
    assert [[slot, json.loads(value)] for slot, value in graph.terminal.claims] == [
        ["amount_paid", {"$from": "check", "$at": "/total"}]
    ]
    assert not judged(view, literal)[0].positive


def test_a_replicas_receipt_is_no_proof() -> None:
    view = view_of(*AFTER_PAYMENT)
    tried = (replica("replica-1", "send_receipt", SEND["args"], SENT), TRIED[2])
    cited = with_calls(args(file={"$from": "replica-1", "$at": "/file"}), CHECK)
    assert judged(view, cited, tried)[0].codes == ("residual.grounding",)
    claimed = with_calls(SEND, CHECK, claims={"amount_paid": {"$from": "replica-3", "$at": "/total"}})
    assert judged(view, claimed, tried)[0].codes == ("residual.claim",)
    assert judged(view, GOOD, tried)[0].positive


def test_what_only_people_can_give_is_held_and_what_a_read_gives_is_not() -> None:
    asked = contract(("      - {id: amount,", "      - {id: chosen, confirmed: invoice}\n      - {id: amount,"))
    chosen = body(e.Confirmation(entity_kind="invoice", entity_id="I-7"))
    for steps, verdict in ((BEFORE_PAYMENT, Verdict.HOLD), ((*BEFORE_PAYMENT, chosen), Verdict.ADMIT)):
        decision, graph = judged(view_of(*steps, of=asked), WHOLE)
        assert decision.verdict is verdict, decision
        assert graph is not None
    look = {"id": "look", "tool": "get_invoice", "args": {"invoice_id": "I-7"}}
    listed = call("c-list", "list_invoices", {}, {"invoices": [{"id": "I-7", "vendor": "Nord"}]})
    unread = (say("pay 420.00 for I-7"), listed)
    held, _ = judged(view_of(*unread), WHOLE)
    assert held.verdict is Verdict.HOLD
    assert {read.tool for reason in held.reasons for read in reason.reads} == {"get_invoice", "list_invoices"}
    assert codes(with_calls(look, *WHOLE["calls"]), *unread) == []
    late = with_calls(*WHOLE["calls"], {**look, "after": ["check"]})
    assert codes(late, *unread) == ["dependency"]


def test_an_open_blocker_rejects_the_whole_and_a_lifted_one_does_not() -> None:
    raised = body(e.Raised(id="stop", removes=["pay_invoice"]))
    residual, _ = construct(view := view_of(*BEFORE_PAYMENT), view.contract, tenure="t")
    assert residual is not None
    later = view_of(*BEFORE_PAYMENT, raised)
    decision, _ = may_take_over(later, later.contract, residual, json.dumps(WHOLE).encode(), (), NOW)
    assert set(decision.codes) == {"residual.effect"}
    over = view_of(*BEFORE_PAYMENT, raised, body(e.Lifted(id="stop", how="expired", by="host")))
    assert may_take_over(over, over.contract, residual, json.dumps(WHOLE).encode(), (), NOW)[0].positive


def test_a_choice_of_the_user_binds_every_write() -> None:
    eight = body(e.Confirmation(entity_kind="invoice", entity_id="I-8"))
    owed_8 = body(e.Obliged(id="more", tool="pay_invoice"))
    both = (say(), READ, READ_8, PAY_IT, owed_8)
    pay_8 = {"id": "pay8", "tool": "pay_invoice", "args": {**PAY, "invoice_id": "I-8"}}
    assert codes(with_calls(SEND, pay_8, CHECK), *both) == ["effect"]
    assert codes(with_calls(SEND, pay_8, CHECK), *both, eight) == []
    value = body(e.Confirmation(entity_kind="invoice", entity_id="I-8", name="amount", value="17"))
    assert codes(with_calls(SEND, pay_8, CHECK), *both, eight, value) == ["effect"]
    same = body(e.Confirmation(entity_kind="invoice", entity_id="I-8", name="amount", value='"420.00"'))
    assert codes(with_calls(SEND, pay_8, CHECK), *both, eight, same) == []
    stated = body(e.Stated(field="amount", value="17", entity=["invoice", "I-8"]))
    assert codes(with_calls(SEND, pay_8, CHECK), *both, eight, stated) == ["effect"]
    newer = body(e.Stated(field="amount", value="420", entity=["invoice", "I-8"]))
    assert codes(with_calls(SEND, pay_8, CHECK), *both, eight, stated, newer) == []


def test_what_is_frozen_is_what_it_is_judged_by() -> None:
    view = view_of(*AFTER_PAYMENT)
    residual, _ = construct(view, view.contract, tenure="t-1")
    assert residual is not None
    raw = json.dumps(GOOD).encode()

    def judge(later: View, raw: bytes = raw) -> tuple[str, ...]:
        return may_take_over(later, later.contract, residual, raw, (), NOW)[0].codes

    assert judge(view_of(*AFTER_PAYMENT, say("and?"))) == ()
    assert judge(view_of(say("other"), *AFTER_PAYMENT)) == ("residual.foreign",)
    frozen = e.ResidualFrozen(tenure="t-1", to="x", trigger="explicit", residual="", residual_sha256=residual.sha256)
    assert judge(view_of(*AFTER_PAYMENT, body(frozen, "runtime"))) == ()
    other = e.ResidualFrozen(tenure="t-1", to="x", trigger="explicit", residual="", residual_sha256="0")
    assert judge(view_of(*AFTER_PAYMENT, body(other, "runtime"))) == ("residual.foreign",)
    paid_8 = call("c-8", "pay_invoice", {**PAY, "invoice_id": "I-8"}, {**PAID, "invoice_id": "I-8"})
    assert judge(view_of(*AFTER_PAYMENT, paid_8)) == ("residual.stale",)
    assert "residual.doubt" in judge(view_of(*AFTER_PAYMENT, call("c-8", "pay_invoice", PAY, None)))
    # A value read after the freeze is not in E: nothing later widens the contract.
    read = call("c-new", "payments", {"invoice_id": "I-7"}, {"file": "new.pdf"})
    fresh = with_calls(args(file="new.pdf"), CHECK)
    later = view_of(*AFTER_PAYMENT, read)
    assert (
        "residual.grounding"
        in may_take_over(later, later.contract, residual, json.dumps(fresh).encode(), (), NOW)[0].codes
    )


def test_the_host_frees_an_argument_or_allows_an_effect() -> None:
    assert codes(with_calls(args(file="other.pdf"), CHECK), free=[["send_receipt", "file"]]) == ["dependency"]
    owed = with_calls(SEND, {"id": "pay8", "tool": "pay_invoice", "args": {**PAY, "invoice_id": "I-8"}}, CHECK)
    steps = (*AFTER_PAYMENT, READ_8)
    assert codes(owed, *steps) == ["effect", "grounding"]
    # What was chosen stays chosen: the task is about I-7.
    assert codes(owed, *steps, allow=["pay_invoice"]) == ["effect"]
    eight = body(e.Confirmation(entity_kind="invoice", entity_id="I-8"))
    assert codes(owed, *steps, eight, allow=["pay_invoice"]) == []


def test_our_own_exception_is_a_refusal() -> None:
    view = view_of(*AFTER_PAYMENT)
    residual, _ = construct(view, view.contract, tenure="t")
    assert residual is not None
    decision, graph = may_take_over(view, view.contract, residual, None, (), NOW)  # type: ignore[arg-type]
    assert (decision.verdict, decision.codes, graph) == (Verdict.REFUSE, ("gate.error",), None)


def test_every_verdict_comes_out_again_byte_for_byte() -> None:
    for proposal in (GOOD, WHOLE, with_calls(args(invoice_id="I-8"), CHECK)):
        one, two = judged(view_of(*AFTER_PAYMENT), proposal), judged(view_of(*AFTER_PAYMENT), proposal)
        assert one[0].text() == two[0].text()
        assert one[1] is not None
        assert two[1] is not None
        assert one[1].canonical() == two[1].canonical()
