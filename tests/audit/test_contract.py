"""With a contract: what the act gate would have said."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallystick.audit import audit_paths, audit_trace
from tallystick.contracts import Contract, parse
from tests.audit.build import agent, audited, did, trace_of, user

PAY = """
contract: desk/1
entities:
  invoice: {id: id, amount_due: money(EUR), status: string}
tools:
  get_invoice:
    effect: read
    args: {invoice_id: id}
    target: invoice(args.invoice_id)
    yields: {invoice: {id: /id, amount_due: /amount_due, status: /status}}
  pay_invoice:
    effect: write
    args: {invoice_id: id, amount: money(EUR)}
    target: invoice(args.invoice_id)
    once_per: [args.invoice_id]
    ok: result.status == "paid"
    requires:
      - {id: amount, fact: args.amount == invoice.amount_due, fresh: since last write}
      - {id: chosen, confirmed: invoice}
"""
READ = did("get_invoice", {"invoice_id": "I-7"}, {"id": "I-7", "amount_due": "420.00", "status": "open"})


def paid(amount: str = "420.00", status: str = "paid") -> dict[str, object]:
    return did("pay_invoice", {"invoice_id": "I-7", "amount": amount}, {"status": status})


@pytest.fixture(scope="module")
def contract() -> Contract:
    return parse(PAY)


def act(contract: Contract, *messages: dict[str, object]) -> list[tuple[str, str, tuple[str, ...]]]:
    report = audit_trace(trace_of(*messages), contract=contract)
    return [(f.code, f.severity, f.reasons) for f in report.findings if f.code.startswith("act.")]


def test_a_call_with_its_evidence_is_not_mentioned(contract: Contract) -> None:
    assert act(contract, user("Pay I-7."), agent("Paid.", READ, paid())) == []


def test_a_call_without_evidence_is_an_error_only_where_it_took_effect(contract: Contract) -> None:
    ((code, severity, reasons),) = act(contract, user("Pay I-7."), agent("Paid.", paid()))
    assert (code, severity) == ("act.hold", "error")
    assert reasons[0].startswith("evidence.")
    failed = act(contract, user("Pay I-7."), agent("Sorry, it failed.", paid(status="failed")))
    assert [s for _, s, _ in failed] == ["warning"]


def test_a_wrong_amount_is_refused(contract: Contract) -> None:
    ((code, severity, _),) = act(contract, user("Pay I-7."), agent("Paid.", READ, paid("42.00")))
    assert (code, severity) == ("act.refuse", "error")


def test_a_second_payment_is_answered_from_the_record(contract: Contract) -> None:
    codes = [c for c, _, _ in act(contract, user("Pay I-7."), agent("Paid.", READ, paid(), READ, paid()))]
    assert codes == ["act.return_recorded"]


def test_what_the_user_chose_is_guessed_from_words(contract: Contract) -> None:
    listed = did("get_invoice", {"invoice_id": "I-7"}, {"id": "I-7", "amount_due": "420.00", "status": "open"})
    unsaid = act(contract, user("Pay what is due."), agent("Paid.", listed, paid()))
    assert [c for c, _, _ in unsaid] == ["act.hold"]
    agreed = act(
        contract, user("What is due?"), agent("I-7 is.", listed), user("Yes, go ahead."), agent("Paid.", paid())
    )
    assert agreed == []


def test_tools_of_the_contract_are_declared_not_guessed(contract: Contract) -> None:
    report = audited(user("Pay I-7."), agent("Paid.", READ, paid()), contract=contract)
    assert not any(use.guess for use in report.tools.values())


def test_a_tool_the_contract_does_not_mention_is_a_warning(contract: Contract) -> None:
    odd = did("send_gift", {"to": "I-7"}, {"status": "sent"})
    report = audited(user("Send a gift to I-7."), agent("Sent.", odd), contract=contract)
    assert [(f.code, f.severity) for f in report.findings] == [("act.refuse", "warning")]


def test_the_second_remedy_is_refused_for_that_reason(shared: Path, root: Path) -> None:
    folder = shared / "data" / "state-bench" / "trajectories" / "customer_support"
    (path,) = folder.glob("28-*.json")
    (report,) = audit_paths([path], contract=root / "examples" / "state-bench" / "customer_support.yaml")
    refused = [f for f in report.findings if f.code == "act.refuse"]
    assert [(f.call, f.severity, f.reasons) for f in refused] == [("m2.c8", "error", ("exclusion.taken",))]
