"""The residual contract: what it holds, byte for byte the same each time, and when there is none (⊥)."""

from __future__ import annotations

import pytest

from tallystick.errors import InputError
from tallystick.gates.residual import construct, ground
from tallystick.model import events as e
from tallystick.model.decision import Verdict
from tallystick.model.residual import Residual, residual_of
from tallystick.view import View
from tests.gates.residual.desk import (
    AFTER_PAYMENT,
    BEFORE_PAYMENT,
    OPEN,
    PAID,
    PAY,
    PAY_IT,
    READ,
    SEND,
    SEND_IT,
    Step,
    body,
    call,
    contract,
    say,
    view_of,
)
from tests.gates.worlds_kit import signed


def made(view: View, **more: object) -> Residual:
    residual, decision = construct(view, view.contract, tenure="t-1", **more)  # type: ignore[arg-type]
    assert residual is not None, decision
    assert decision.verdict is Verdict.ADMIT
    assert decision.judged_upto == view.upto
    return residual


def codes(*steps: Step, **more: object) -> tuple[str, ...]:
    view = view_of(*steps)
    residual, decision = construct(view, view.contract, tenure="t-1", **more)  # type: ignore[arg-type]
    assert (residual is None) == (decision.verdict is Verdict.REFUSE)
    return decision.codes


def test_after_payment_the_payment_is_kept_and_only_delivery_is_owed() -> None:
    view = view_of(*AFTER_PAYMENT)
    found = made(view)
    assert [(k.tool, k.call, k.receipt) for k in found.kept] == [("pay_invoice", "c-pay", "r-c-pay")]
    assert [(o.id, o.kind, o.tools, o.entity, o.origin) for o in found.owed] == [
        ("delivered", "event", ["send_receipt"], ["invoice", "I-7"], "task")
    ]
    assert [(s.tool, s.obligation, s.entity, s.times) for s in found.effects] == [
        ("send_receipt", "delivered", ["invoice", "I-7"], 1)
    ]
    assert "pay_invoice" not in found.interfaces
    assert {"send_receipt", "get_invoice", "payments"} <= set(found.interfaces)
    assert [(x.kind, x.id) for x in found.entities] == [("invoice", "I-7")]
    assert [x.receipt for x in found.receipts] == ["r-c-read", "r-c-pay"]
    assert [(b.kind, b.id, b.name, b.source) for b in found.bindings] == [("invoice", "I-7", "invoice", "task")]
    assert len(found.words) == 1
    assert (found.upto, found.head) == (view.upto, view.head)


def test_every_entry_has_the_support_of_a_recorded_event() -> None:
    view = view_of(*AFTER_PAYMENT)
    found = made(view)
    entries = (*found.bindings, *found.kept, *found.entities, *found.receipts, *found.owed)
    assert all(view.has_event(entry.support, view.upto) for entry in entries)
    assert all(view.has_event(word, view.upto) for word in found.words)


def test_the_same_record_makes_the_same_contract_byte_for_byte() -> None:
    one, two = made(view_of(*AFTER_PAYMENT)), made(view_of(*AFTER_PAYMENT))
    assert one.canonical() == two.canonical()
    assert residual_of(one.canonical()) == one
    assert made(view_of(*AFTER_PAYMENT, say("hello"))).sha256 != one.sha256


def test_an_agents_words_and_a_replicas_receipts_support_nothing() -> None:
    chosen = e.Confirmation(entity_kind="invoice", entity_id="I-7")
    view = view_of(
        say(), READ, say("pay 999", by="agent"), body(chosen, "agent"),
        call("c-x", "pay_invoice", PAY, PAID, source="replica"), call("c-y", "payments", {"invoice_id": "I-7"}, {},
                                                                      source="replica"),
    )  # fmt: skip
    found = ground(view, view.contract)
    assert not found.kept
    assert [x.receipt for x in found.receipts] == ["r-c-read"]
    assert {b.source for b in found.bindings} == {"task"}
    assert len(found.words) == 1


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (AFTER_PAYMENT, None),
        (BEFORE_PAYMENT, None),
        ((*AFTER_PAYMENT, SEND_IT), "residual.nothing_open"),
        ((say(),), "residual.nothing_fixed"),
        ((say(), READ, body(e.Ended(status="UNCERTIFIED"), "runtime")), "run.closed"),
        ((*AFTER_PAYMENT, lambda log: log.intent("c-open", "send_receipt", SEND)), "residual.doubt"),
        ((*BEFORE_PAYMENT, call("c-pay", "pay_invoice", PAY, {"status": "?"})), "residual.doubt"),
        ((*AFTER_PAYMENT, body(e.Obliged(id="x", tool="no_tool", text="?"))), "residual.unsupported"),
        ((*AFTER_PAYMENT, body(e.Obliged(id="x", text="be kind"))), "residual.unsupported"),
        ((*AFTER_PAYMENT, body(e.Obliged(id="x", tool="pay_invoice", entity=["invoice", "I-9"]))), None),
        ((*AFTER_PAYMENT, body(e.Raised(id="stop", removes=["send_receipt"]))), "residual.blocked"),
        ((*AFTER_PAYMENT, body(e.Raised(id="stop", removes=["pay_invoice"]))), None),
        ((say(), call("c-read", "get_invoice", {"invoice_id": "I-7"}, {**OPEN, "amount_due": "20000.00"})),
         "residual.blocked"),
    ],
)  # fmt: skip
def test_there_is_no_contract_where_one_could_not_be_kept(steps: tuple[Step, ...], reason: str | None) -> None:
    assert codes(*steps) == (() if reason is None else (reason,))


def test_a_confirmation_alone_is_something_real() -> None:
    chosen = e.Confirmation(entity_kind="invoice", entity_id="I-7")
    assert codes(say(), body(chosen)) == ()
    guessed = e.Confirmation(entity_kind="invoice", entity_id="I-7", guessed=True)
    assert codes(say(), body(guessed)) == ("residual.nothing_fixed",)


def test_one_tenure_at_a_time() -> None:
    frozen = e.ResidualFrozen(tenure="t-0", to="strong", trigger="explicit", residual="{}", residual_sha256="")
    assert codes(*AFTER_PAYMENT, body(frozen, "runtime")) == ("residual.tenure",)
    ended = e.ResidualEnded(tenure="t-0", status="bottom", reason="x")
    assert codes(*AFTER_PAYMENT, body(frozen, "runtime"), body(ended, "runtime")) == ()


def test_an_obligation_that_would_undo_what_is_kept_makes_no_contract() -> None:
    tool = "  void:\n    effect: write\n    args: {invoice_id: id}\n    target: invoice(args.invoice_id)\n\n"
    head, once = "  send_receipt:\n    effect: write", "    once_per: args.invoice_id "
    undoing = contract((head, tool + head), (once, "    undone_by: [void]\n" + once))
    owed = body(e.Obliged(id="voided", tool="void", entity=["invoice", "I-7"]))
    view = view_of(*AFTER_PAYMENT, owed, of=undoing)
    assert construct(view, undoing, tenure="t")[1].codes == ("residual.blocked",)
    before = view_of(*BEFORE_PAYMENT, owed, of=undoing)
    assert construct(before, undoing, tenure="t")[0] is not None


def test_what_principals_settled_is_kept_and_what_they_waived_is_not_owed() -> None:
    lost = call("c-pay", "pay_invoice", PAY, None)
    settled = signed(e.DoubtSettled(call="c-pay", outcome="ok", by="principal", principal="fin"), "fin")
    found = made(view_of(say(), READ, lost, body(settled, "principal")))
    assert [(k.call, k.receipt) for k in found.kept] == [("c-pay", "r-c-pay")]
    waived = signed(e.Settled(id="paid", how="waived", by="fin"), "fin")
    assert [o.id for o in made(view_of(*BEFORE_PAYMENT, body(waived, "principal"))).owed] == ["delivered"]
    assert [o.id for o in made(view_of(*BEFORE_PAYMENT, PAY_IT)).owed] == ["delivered"]


def test_the_host_may_allow_effects_and_free_text_of_known_tools_only() -> None:
    found = made(view_of(*AFTER_PAYMENT), allow=["pay_invoice"], free=[["send_receipt", "file"]])
    assert found.effects[-1].tool == "pay_invoice"
    assert (found.effects[-1].times, found.effects[-1].obligation) == (0, "")
    assert found.free == [["send_receipt", "file"]]
    view = view_of(*AFTER_PAYMENT)
    for bad in ({"allow": ["nothing"]}, {"free": [["send_receipt"]]}, {"free": [["nothing", "x"]]}):
        with pytest.raises(InputError):
            construct(view, view.contract, tenure="t", **bad)  # type: ignore[arg-type]


def test_what_an_extractor_added_is_marked_as_its() -> None:
    added = body(e.Obliged(id="x", tool="pay_invoice", entity=["invoice", "I-9"], args=[["amount", "5"]]))
    found = made(view_of(*AFTER_PAYMENT, added), extracted=["x", "delivered"])
    assert [(o.id, o.origin, o.args) for o in found.owed] == [
        ("delivered", "task", []), ("x", "extracted", [["amount", "5"]]),
    ]  # fmt: skip
