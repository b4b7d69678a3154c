"""A small made-up run at an invoice desk, and the verifier over what its agent says at the end."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tallystick.model.trace import Trace, TraceCall, TraceMessage, TraceResult
from tallystick.prose.grounds import Judged
from tallystick.prose.judge import Verifier

I7 = {"invoice_id": "I-7", "supplier": {"supplier_id": "S-1", "name": "Blue Harbour Supplies"}, "status": "open",
      "amount_due": Decimal("120.50"), "late_fee": 0, "due_date": "2026-03-04", "currency": "EUR", "discount_pct": 5,
      "payment_method": "bank_transfer", "disputed": False}  # fmt: skip
I8 = {"invoice_id": "I-8", "supplier": {"supplier_id": "S-2", "name": "Green Mill Foods"}, "status": "overdue",
      "amount_due": Decimal("80.25"), "late_fee": 15, "due_date": "2026-02-11", "currency": "EUR", "discount_pct": 0,
      "payment_method": "card", "disputed": True}  # fmt: skip
CALLS: list[tuple[str, dict[str, Any], Any]] = [
    ("list_invoices", {"account_id": "A-1"}, {"account_id": "A-1", "invoice_ids": ["I-7", "I-8"]}),
    ("get_invoice", {"invoice_id": "I-7"}, I7),
    ("get_invoice", {"invoice_id": "I-8"}, I8),
    ("get_policy", {"topic": "late_fees"},
     {"rules": {"late_fee": "Invoices overdue by more than 10 days incur a late fee of $15.",
                "early": "Invoices paid early earn a 5% discount."}}),
    ("pay_invoice", {"invoice_id": "I-7", "amount": Decimal("120.50"), "confirm": False},
     {"status": "preview", "invoice_id": "I-7", "amount": Decimal("120.50"), "fee": 2}),
    ("pay_invoice", {"invoice_id": "I-7", "amount": Decimal("120.50"), "confirm": True},
     {"status": "paid", "invoice_id": "I-7", "amount_paid": Decimal("120.50"), "fee": 2, "payment_id": "PAY-31"}),
    ("pay_invoice", {"invoice_id": "I-8", "amount": Decimal("80.25"), "confirm": False},
     {"status": "preview", "invoice_id": "I-8", "amount": Decimal("80.25"), "fee": 2}),
    ("get_invoice", {"invoice_id": "I-7"}, {**I7, "status": "paid", "amount_due": 0}),
]  # fmt: skip


def trace_saying(text: str, calls: list[tuple[str, dict[str, Any], Any]] | None = None) -> Trace:
    """Return the run, ending in `text`."""
    made = tuple(
        TraceCall(id=f"m1.c{at}", message=1, index=at, tool=tool, args=args, result=TraceResult(body=result, index=1))
        for at, (tool, args, result) in enumerate(CALLS if calls is None else calls)
    )
    return Trace(
        id="desk", source="desk", format="test",
        messages=(
            TraceMessage(index=0, role="user", text="Please pay I-7, and tell me about I-8. My budget is $200."),
            TraceMessage(index=1, role="assistant", text=text, calls=made),
        ),
    )  # fmt: skip


def judged(text: str, span: str | None = None) -> Judged:
    """Return what the record says of a span of a text (the whole of it where none is given)."""
    span = text if span is None else span
    return Verifier(trace_saying(text)).judge(1, text.index(span), span)
