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
from tests.gates.residual.desk import AFTER_PAYMENT, BEFORE_PAYMENT, NOW, view_of

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
