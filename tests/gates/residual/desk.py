"""The invoice desk in the middle of its task, for tests of the takeover gate: events as they fall, folded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from tallystick.contracts import parse
from tallystick.contracts.types import Contract, Task
from tallystick.model import events as e
from tallystick.model import jsontext
from tallystick.view import View
from tests.gates.worlds_kit import PRINCIPALS, RUN, Log

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
REQUEST = "pay invoice I-7 and send its receipt to the vendor"
OPEN = {
    "id": "I-7", "vendor": "Nord", "amount_due": jsontext.loads("420.00"), "currency": "EUR", "due": "2026-12-24",
    "status": "open",
}  # fmt: skip
PAID = {"status": "paid", "invoice_id": "I-7", "receipt_file": "rcpt-0007.pdf"}
SENT = {"status": "sent", "invoice_id": "I-7"}
PAY = {"invoice_id": "I-7", "amount": "420.00"}
SEND = {"invoice_id": "I-7", "file": "rcpt-0007.pdf"}

Step = Callable[[Log], object]


@cache
def contract(*changes: tuple[str, str]) -> Contract:
    """Return the demo's contract, with texts replaced."""
    text = (files("tallystick.demo") / "invoice-desk.yaml").read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse(text)


def task(**more: Any) -> Task:
    """Return the task of the demo."""
    return Task(request=REQUEST, bindings={"invoice": "I-7"}, principals=PRINCIPALS, **more)


def say(text: str = REQUEST, role: str = "user", by: e.Role = "user") -> Step:
    """Words."""
    return lambda log: log.add(e.Said(role=role, text=text), by)


def call(name: str, tool: str, args: Mapping[str, Any], answer: Any, **more: Any) -> Step:
    """A call and its answer."""
    return lambda log: log.done(name, tool, args, answer, **more)


def body(event: e.AnyBody, role: e.Role = "host") -> Step:
    """Any event."""
    return lambda log: log.add(event, role)


READ = call("c-read", "get_invoice", {"invoice_id": "I-7"}, OPEN)
PAY_IT = call("c-pay", "pay_invoice", PAY, PAID)
SEND_IT = call("c-send", "send_receipt", SEND, SENT)
READ_8 = call("c-read8", "get_invoice", {"invoice_id": "I-8"}, {**OPEN, "id": "I-8"})
AFTER_PAYMENT = (say(), READ, PAY_IT)
"""Somebody read the invoice and paid it; the receipt is still to be delivered."""
BEFORE_PAYMENT = (say(), READ)


def view_of(*steps: Step, of: Contract | None = None, run_task: Task | None = None) -> View:
    """Fold a run with these steps."""
    log = Log(real=True)
    log.add(e.Started(semantics=e.SEMANTICS, contract="", contract_sha256="", task="", task_sha256=""))
    for step in steps:
        step(log)
    view = View(of or contract(), run_task or task(), run=RUN)
    for sealed in log.events:
        view.apply(sealed)
    return view
