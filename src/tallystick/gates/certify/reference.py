"""Check 4, ledger and reference: every reference resolves in this run's chain, with that digest, up to that event.

A forged id, another run's receipt, one that only a replica has, one imported into a live run, one that answers nothing,
the same evidence counted twice, and an account of an obligation that the record does not bear out are found here.
Source: evidence-carrying termination, check 4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tallystick.gates.certify.case import Case
from tallystick.gates.certify.deficits import Deficit
from tallystick.gates.certify.exhibits import Cited, Exhibit
from tallystick.gates.certify.obligations import discharge_of
from tallystick.gates.claim_evidence import replica
from tallystick.model.certificate import Check
from tallystick.model.pointer import MISSING, resolve
from tallystick.view import ReceiptRecord

CHECK: Check = "ledger_reference"


def ledger_reference(case: Case) -> Iterator[Deficit]:
    """Yield what is not in this run's record, or not as the certificate says."""
    stated, view = case.certificate, case.view
    if stated.upto != view.upto:
        yield _found("", "certificate.upto", f"the certificate rests on events up to {stated.upto}, the record was "
                     f"read up to {view.upto}", f"the record read up to {stated.upto}")  # fmt: skip
    if stated.head != view.head:
        yield _found("", "certificate.head", f"event {view.upto} of this run has another digest than the certificate "
                     "says", "a certificate of this run's chain")  # fmt: skip
    for exhibit in case.exhibits:
        yield from resolves(case, exhibit)
    for discharge in stated.obligations:
        owed = view.obligations.get(discharge.obligation)
        if owed is not None and discharge != discharge_of(view, case.contract, owed, case.stop):
            yield _found("", "obligation.open", f"the record does not show `{owed.id}` {discharge.how} by that event",
                         f"the effect that discharges `{owed.id}`")  # fmt: skip


def resolves(case: Case, exhibit: Exhibit) -> Iterator[Deficit]:
    """Yield how the references of a claim do not resolve to evidence of this run."""
    name = exhibit.claim.slot
    again = [r for r, times in Counter(exhibit.claim.references).items() if times > 1]
    for reference in again:
        yield _found(name, "evidence.repeated", f"`{reference.receipt}` is referred to twice: it is one receipt",
                     "each receipt once")  # fmt: skip
    for cited in exhibit.cited:
        yield from _reference(case, name, cited)
    yield from _repeats(case, name, exhibit)


def _reference(case: Case, slot: str, cited: Cited) -> Iterator[Deficit]:
    stated, receipt = cited.reference, cited.receipt
    if receipt is None:
        yield _found(slot, "receipt.forged", f"no receipt `{stated.receipt[:80]}` exists in this run",
                     "a receipt of this run")  # fmt: skip
        return
    if stated.digest != receipt.digest:
        yield _found(slot, "receipt.digest", f"`{receipt.id}` has another digest than the certificate says",
                     "the digest of that receipt's event", receipt)  # fmt: skip
    if receipt.seq > case.certificate.upto:
        yield _found(slot, "receipt.later", f"`{receipt.id}` came after event {case.certificate.upto}",
                     f"receipts up to event {case.certificate.upto}", receipt)  # fmt: skip
    if cited.tokens is None or resolve(receipt.value, cited.tokens) is MISSING:
        yield _found(slot, "receipt.pointer", f"nothing stands at `{stated.pointer[:80]}` in `{receipt.id}`",
                     "a JSON Pointer (RFC 6901) to what the receipt states", receipt)  # fmt: skip
    if receipt.call is None:
        yield _found(slot, "receipt.orphan", f"`{receipt.id}` answers no recorded call",
                     "a receipt of a recorded call", receipt)  # fmt: skip
        return
    reason = replica(receipt)
    if reason is not None:
        yield _found(slot, reason.code, reason.message, reason.reverses, receipt)
    if receipt.body.source == "imported" and case.live:
        yield _found(slot, "receipt.imported", f"`{receipt.id}` was imported; this run's evidence is live",
                     "a live receipt", receipt)  # fmt: skip


def _repeats(case: Case, slot: str, exhibit: Exhibit) -> Iterator[Deficit]:
    """A cached repeat is the evidence it repeats, not further evidence, and of a write it shows no second effect."""
    seen: dict[str, ReceiptRecord] = {}
    for receipt in exhibit.receipts:
        call, original = receipt.call, receipt
        if receipt.body.cached_from is not None:
            original = case.view.receipt(receipt.body.cached_from) or receipt
        assert call is not None
        write = receipt.body.cached_from is not None and call.effect == "write"
        if write or original.id in seen:
            yield _found(slot, "evidence.repeated", f"`{receipt.id}` only repeats another receipt",
                         "a receipt of a call that ran by itself", receipt)  # fmt: skip
        seen[original.id] = receipt


def _found(slot: str, code: str, message: str, closes: str, receipt: ReceiptRecord | None = None) -> Deficit:
    refs = (receipt.seq,) if receipt is not None else ()
    return Deficit(slot=slot, check=CHECK, code=code, message=message, closes=closes, refs=refs)
