"""Certified runs of the invoice desk and of the shop, their exports, and envelopes made by securesystemslib alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner

from tallystick import Finish, Guard, Run
from tallystick.demo.desk import Desk
from tallystick.ledger.export import export
from tallystick.ledger.keys import public_bytes
from tallystick.model.canonical import canonical
from tallystick.model.certificate import PAYLOAD_TYPE, PREDICATE_TYPE, STATEMENT_TYPE, Certificate
from tests.runtime.shop import Clock

CONTRACT = Path(__file__).resolve().parents[2] / "examples" / "invoice-desk.yaml"
KEY = Ed25519PrivateKey.generate()
OTHER = Ed25519PrivateKey.generate()
PUBLIC = public_bytes(KEY)
NOW = datetime(2026, 3, 11, 12, 0, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Certified:
    """A run that ended CERTIFIED: its guard, its end, and the files of its envelope and its signed export."""

    guard: Guard
    run: str
    finish: Finish
    envelope: Path
    export: Path

    @property
    def certificate(self) -> Certificate:
        assert self.finish.certificate is not None
        return self.finish.certificate


def settle_invoice(run: Run, invoice: str = "I-7", amount: str = "420.00") -> Finish:
    """Do the desk's whole job and say so."""
    run.call("get_invoice", {"invoice_id": invoice})
    run.call("pay_invoice", {"invoice_id": invoice, "amount": amount})
    books = run.call("payments", {"invoice_id": invoice}).result
    run.call("send_receipt", {"invoice_id": invoice, "file": books["payments"][0]["receipt_file"]})
    run.call("payments", {"invoice_id": invoice})  # sending was a write to the invoice, so the books are read again
    return run.finish("done", {"amount_paid": amount})


def certified(folder: Path, run_id: str = "r", *, key: Ed25519PrivateKey = KEY, contract: Path = CONTRACT) -> Certified:
    """Run the desk to a certified end in `folder`, and write both files."""
    folder.mkdir(exist_ok=True)
    tools = Desk.create(folder / f"{run_id}-desk.db").tools()
    guard = Guard(contract, tools=tools, clock=Clock(), sign_with=key)
    with guard.run({"bindings": {"invoice": "I-7"}}, run_id=run_id) as run:
        finish = settle_invoice(run)
    assert finish.accepted, finish
    return written(folder, guard, run_id, finish, key=key)


def written(folder: Path, guard: Guard, run: str, finish: Finish, *, key: Ed25519PrivateKey = KEY) -> Certified:
    """Write the envelope and the export of a run that ended CERTIFIED."""
    envelope, file = folder / f"{run}.json", folder / f"{run}.jsonl"
    assert finish.envelope is not None
    envelope.write_bytes(finish.envelope)
    export(guard.store, run, file, key, now=NOW)
    return Certified(guard=guard, run=run, finish=finish, envelope=envelope, export=file)


def signed(payload: bytes, *keys: Ed25519PrivateKey, kind: str = PAYLOAD_TYPE) -> bytes:
    """Return an envelope of any payload, signed by anybody, in the form ours have; nothing of ours signs it."""
    made = Envelope(payload, kind, {})
    for key in keys:
        made.sign(CryptoSigner(key))
    return json.dumps(made.to_dict(), sort_keys=True, separators=(",", ":")).encode() + b"\n"


def stated(certificate: Certificate, **changes: Any) -> bytes:
    """Return the statement of a certificate with members of its predicate changed to anything."""
    predicate = {**msgspec.to_builtins(certificate), **changes}
    subject = [{"name": f"run:{predicate['run']}", "digest": {"sha256": predicate["head"]}}]
    whole = {"_type": STATEMENT_TYPE, "predicate": predicate, "predicateType": PREDICATE_TYPE, "subject": subject}
    return canonical(whole)
