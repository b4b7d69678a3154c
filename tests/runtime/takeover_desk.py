"""The invoice desk at a post-payment frontier: I-7 was read, confirmed and paid; its receipt is not delivered yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tallystick import Guard, Run
from tallystick.contracts import parse
from tallystick.demo.desk import Desk, Faults
from tallystick.runtime.recheck import Recheck, recheck
from tallystick.runtime.replicas import Fork, sqlite_replica

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = ROOT / "examples" / "invoice-desk.yaml"
INVOICE, AMOUNT = "I-7", "420.00"
TASK = {"request": "Pay invoice I-7 and send its receipt to the vendor.", "bindings": {"invoice": INVOICE}}
TEXT = "Paid {amount_paid} EUR, the vendor has the receipt."


@contextmanager
def frontier(
    folder: Path, *, faults: Faults | None = None, tools: Callable[[Desk], dict[str, Any]] | None = None, **options: Any
) -> Iterator[tuple[Run, Desk, str]]:
    """Yield (run, desk, id of the payment's receipt), right after the payment."""
    desk = Desk.create(folder / "desk.db", faults)
    served = tools(desk) if tools is not None else dict(desk.tools())
    guard = Guard(CONTRACT, options.pop("ledger", None), tools=served, **options)
    with guard.run(TASK, run_id="run") as run:
        receipt = pay(run)
        yield run, desk, receipt
    guard.close()


def pay(run: Run) -> str:
    """Do the first half of the task; return the id of the payment's receipt."""
    run.says("user", "Pay I-7, please, and send its receipt.")
    run.call("get_invoice", {"invoice_id": INVOICE})
    run.confirm("invoice", INVOICE)
    paid = run.call("pay_invoice", {"invoice_id": INVOICE, "amount": AMOUNT})
    assert paid.receipt_id is not None
    return paid.receipt_id


def send(file: Any, **more: Any) -> dict[str, Any]:
    """Return the call that delivers the receipt."""
    return {"id": "send", "tool": "send_receipt", "args": {"invoice_id": INVOICE, "file": file}, **more}


def check(**more: Any) -> dict[str, Any]:
    """Return the call that asks the books."""
    return {"id": "check", "tool": "payments", "args": {"invoice_id": INVOICE}, **more}


def answer(source: str = "check") -> dict[str, Any]:
    """Return the answer, with the amount the books say."""
    return {"text": TEXT, "claims": {"amount_paid": {"$from": source, "$at": "/total"}}}


def rest(receipt: str) -> dict[str, Any]:
    """Return the valid continuation, written symbolically."""
    return {
        "calls": [
            send({"$from": receipt, "$at": "/receipt_file"}, covers=["delivered"], expect={"/status": "sent"}),
            check(after=["send"]),
        ],
        "answer": answer(),
    }


def forked(desk: Desk) -> Fork:
    """Return the fork of the desk's file."""
    return sqlite_replica(desk.path, lambda path: Desk(path).tools())


def rechecked(run: Run) -> Recheck:
    """Return what a recheck of the run's whole record finds."""
    return recheck(run._journal.store.events(run.id), run.contract)


PAYOUT = parse("""
contract: payout/1
entities:
  claim: {id: id, status: string}
tools:
  get_claim:
    effect: read
    args: {claim: id}
    target: claim(args.claim)
    yields: {claim: {id: /id, status: /status}}
  pay_out:
    effect: write
    args: {claim: id}
    target: claim(args.claim)
    needs_approval: finance
    ok: result.ok == true
task:
  owes: [{id: paid, by: pay_out}]
""")
"""Somebody has to approve each payment."""
