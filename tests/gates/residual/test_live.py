"""The live half: values from live receipts only, receipts that match their node, and what is discharged by them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tallystick.contracts import build
from tallystick.contracts.types import Task
from tallystick.gates.residual import bound_args, construct, discharged, may_take_over, mismatch
from tallystick.model import events as e
from tallystick.model.decision import Reason
from tallystick.model.residual import Graph, Node, Residual
from tallystick.view import View
from tests.gates.residual.desk import (
    AFTER_PAYMENT,
    BEFORE_PAYMENT,
    NOW,
    PAID,
    PAY,
    SEND,
    SENT,
    Step,
    body,
    call,
    contract,
    view_of,
)
from tests.gates.residual.test_admit import FROM_PAY, PAY_NODE, WHOLE

PAY_LIVE = call("c-live", "pay_invoice", PAY, {**PAID, "receipt_file": "live-9.pdf"})


def admitted(*steps: Step, proposal: Any = WHOLE) -> tuple[Residual, Graph]:
    view = view_of(*steps)
    residual, _ = construct(view, view.contract, tenure="t-1")
    assert residual is not None
    decision, graph = may_take_over(view, view.contract, residual, json.dumps(proposal).encode(), (), NOW)
    assert decision.positive, decision
    assert graph is not None
    return residual, graph


def frozen(residual: Residual) -> Step:
    text = residual.canonical()
    return body(e.ResidualFrozen(tenure="t-1", to="x", trigger="explicit", residual=text,
                                 residual_sha256=residual.sha256), "runtime")  # fmt: skip


def test_a_dynamic_argument_takes_what_the_live_receipt_says() -> None:
    residual, graph = admitted(*BEFORE_PAYMENT)
    pay, send, _ = graph.nodes
    view = view_of(*BEFORE_PAYMENT, frozen(residual), PAY_LIVE)
    assert bound_args(view, pay, {}) == PAY
    assert bound_args(view, send, {"pay": "r-c-live"}) == {"invoice_id": "I-7", "file": "live-9.pdf"}


@pytest.mark.parametrize(
    ("args", "receipts"),
    [
        (FROM_PAY, {}),
        (FROM_PAY, {"pay": "r-nobody"}),
        (FROM_PAY, {"pay": "r-c-fork"}),
        (FROM_PAY, {"pay": "r-c-bad"}),
        ({"file": {"$from": "pay", "$at": "/nothing"}}, {"pay": "r-c-live"}),
        ({"file": [{"x": {"$from": "task", "$at": "/nothing"}}]}, {}),
    ],
)  # fmt: skip
def test_what_no_live_receipt_says_is_not_made_up(args: dict[str, Any], receipts: dict[str, str]) -> None:
    fork = call("c-fork", "payments", {"invoice_id": "I-7"}, {"receipt_file": "x"}, source="replica")
    bad = call("c-bad", "payments", {"invoice_id": "I-7"}, {"error": "down", "receipt_file": "x"})
    view = view_of(*BEFORE_PAYMENT, PAY_LIVE, fork, bad)
    found = bound_args(view, Node(id="n", tool="send_receipt", effect="write", args=json.dumps(args)), receipts)
    assert isinstance(found, Reason)
    assert found.code == "residual.unbound"


@pytest.mark.parametrize(
    ("step", "matches"),
    [
        (PAY_LIVE, True),
        (call("c-live", "pay_invoice", PAY, {"status": "failed"}), False),
        (call("c-live", "pay_invoice", PAY, None), False),
        (call("c-live", "pay_invoice", PAY, {"error": "no money"}), False),
        (call("c-live", "pay_invoice", {**PAY, "invoice_id": "I-8"}, {**PAID, "invoice_id": "I-8"}), False),
        (call("c-live", "send_receipt", SEND, SENT), False),
        (call("c-live", "pay_invoice", PAY, PAID, source="replica"), False),
        (call("c-live", "pay_invoice", PAY, PAID, synthetic=True), False),
        (call("c-other", "pay_invoice", PAY, PAID), False),
    ],
)
def test_a_live_receipt_matches_its_node_or_the_tenure_is_over(step: Step, matches: bool) -> None:
    residual, graph = admitted(*BEFORE_PAYMENT)
    view = view_of(*BEFORE_PAYMENT, frozen(residual), step)
    found = mismatch(view, view.contract, residual, graph.nodes[0], "c-live")
    assert (found is None) == matches
    assert found is None or found.code == "residual.unmatched"


def test_an_expected_value_is_looked_for_in_the_live_result() -> None:
    for value, matches in (("paid", True), ("queued", False)):
        expecting = {**WHOLE, "calls": [{**PAY_NODE, "expect": {"/status": value}}, *WHOLE["calls"][1:]]}
        residual, graph = admitted(*BEFORE_PAYMENT, proposal=expecting)
        view = view_of(*BEFORE_PAYMENT, frozen(residual), PAY_LIVE)
        assert (mismatch(view, view.contract, residual, graph.nodes[0], "c-live") is None) == matches


def test_only_live_effects_of_the_tenure_discharge() -> None:
    residual, _ = admitted(*BEFORE_PAYMENT)

    def now(*steps: Step) -> tuple[tuple[str, ...], tuple[str, ...]]:
        view = view_of(*BEFORE_PAYMENT, frozen(residual), *steps)
        return discharged(view, view.contract, residual, view.takeovers["t-1"])

    assert now() == ((), ())
    assert now(call("c-f", "pay_invoice", PAY, PAID, source="replica")) == ((), ())
    assert now(PAY_LIVE) == (("paid",), ())
    assert now(PAY_LIVE, call("c-s", "send_receipt", {**SEND, "file": "live-9.pdf"}, SENT)) == (
        ("paid", "delivered"),
        (),
    )


def step(found: tuple[tuple[str, ...], tuple[str, ...]]) -> Step:
    return body(e.ResidualStep(tenure="t-1", node="n", matched=True, discharged=list(found[0]),
                               invalidated=list(found[1])), "runtime")  # fmt: skip


def test_a_discharge_that_is_taken_back_stays_taken_back_in_its_tenure() -> None:
    shop = build({
        "contract": "shop/1", "entities": {"order": {"id": "id", "status": "string"}},
        "tools": {
            "get": {"effect": "read", "args": {"id": "id"}, "target": "order(args.id)",
                    "yields": {"order": {"id": "/id", "status": "/status"}}},
            "close": {"effect": "write", "args": {"id": "id"}, "target": "order(args.id)", "ok": "result.ok"},
        },
        "task": {"inputs": {"order": "id"}, "owes": [
            {"id": "closed", "kind": "state", "for": "order(task.order)", "fact": 'order.status == "closed"'}]},
    })  # fmt: skip
    task = Task(request="close it", bindings={"order": "O-1"})

    def seen(*steps: Step) -> View:
        first = call("c-0", "get", {"id": "O-1"}, {"id": "O-1", "status": "open"})
        return view_of(first, *steps, of=shop, run_task=task)

    residual, _ = construct(seen(), shop, tenure="t-1", allow=["close"])
    assert residual is not None
    closing = call("c-1", "close", {"id": "O-1"}, {"ok": True})
    look = call("c-2", "get", {"id": "O-1"}, {"id": "O-1", "status": "closed"})
    again = call("c-3", "close", {"id": "O-1"}, {"ok": True})
    fresh = call("c-4", "get", {"id": "O-1"}, {"id": "O-1", "status": "closed"})

    def now(*steps: Step) -> tuple[tuple[str, ...], tuple[str, ...]]:
        view = seen(frozen(residual), *steps)
        return discharged(view, shop, residual, view.takeovers["t-1"])

    assert now(closing) == ((), ())
    held = now(closing, look)
    assert held == (("closed",), ())
    lost = now(closing, look, step(held), again)
    assert lost == ((), ("closed",))
    # A fresh receipt cannot restore it under the same contract.
    assert now(closing, look, step(held), again, step(lost), fresh) == ((), ("closed",))
    assert now(closing, look, again, fresh) == (("closed",), ())


def test_what_is_undone_is_not_discharged() -> None:
    once = "    once_per: args.invoice_id "
    head = "  send_receipt:\n    effect: write"
    void = "  void:\n    effect: write\n    args: {invoice_id: id}\n    target: invoice(args.invoice_id)\n\n"
    undoing = contract((head, void + head), (once, "    undone_by: [void]\n" + once))
    view = view_of(*BEFORE_PAYMENT, of=undoing)
    residual, _ = construct(view, undoing, tenure="t-1")
    assert residual is not None
    undone = call("c-v", "void", {"invoice_id": "I-7"}, {"id": "v-1"})
    for steps, valid in (((PAY_LIVE,), ("paid",)), ((PAY_LIVE, undone), ())):
        later = view_of(*BEFORE_PAYMENT, frozen(residual), *steps, of=undoing)
        assert discharged(later, undoing, residual, later.takeovers["t-1"])[0] == valid
    assert AFTER_PAYMENT[0] is not None
