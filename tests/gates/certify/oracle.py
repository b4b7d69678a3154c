"""An independent, naive judge of certificates over `claim_worlds`: it scans the history and knows the rules by heart.

It shares with the verifier how one result is judged (through `claim_twin`) and nothing else: it reads no contract,
parses no derivation and evaluates none. It says of a certificate whether it may be believed, not why not.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from tallystick.model import events as e
from tallystick.model.certificate import BoundClaim, Certificate
from tests.gates import claim_twin
from tests.gates.claim_twin import Asked, Found
from tests.gates.claim_worlds import CONTRACT, RUN

TYPES = {"amount": "money(EUR)", "open": "money(EUR)", "status": "string"}
POINTERS = {"amount": "/amount", "open": "/items"}
DERIVED = {
    "amount": ("pay./amount", "last(pay./amount)"),
    "status": ("invoice.status",),
    "open": ('sum(list./items/*/amount_due where item.status == "open")',),
}


def believable(events: tuple[e.Sealed, ...], certificate: Certificate, task: str) -> bool:
    """Return whether a certificate may be believed on this record."""
    calls, _ = claim_twin.history(events, CONTRACT)
    return (
        certificate.run == RUN
        and certificate.upto == len(events)
        and certificate.head == events[-1].digest
        and certificate.contract == CONTRACT.sha256
        and certificate.task == task
        and certificate.semantics == e.SEMANTICS
        and instant(certificate.now)
        and covered(certificate)
        and owed(events, calls, certificate)
        and all(supported(events, calls, claim) for claim in certificate.claims)
    )


def instant(text: str) -> bool:
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", text, re.ASCII):
        return False
    try:
        return bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def covered(certificate: Certificate) -> bool:
    names = [claim.slot for claim in certificate.claims]
    if len(set(names)) != len(names) or any(name not in TYPES for name in names):
        return False
    return "amount" in names or certificate.outcome != "acted"


def owed(events: tuple[e.Sealed, ...], calls: list[Asked], certificate: Certificate) -> bool:
    """The invoice's payment is discharged by the first receipt that shows one."""
    if len(certificate.obligations) != 1 or certificate.obligations[0].obligation != "paid":
        return False
    done = sorted(
        a.seq for c in calls if c.tool == "pay" and c.args["id"] == "I-1" for a in c.live if a.outcome == "ok"
    )
    stated = certificate.obligations[0]
    return bool(done) and stated.how == "discharged" and stated.event == events[done[0] - 1].digest


def supported(events: tuple[e.Sealed, ...], calls: list[Asked], claim: BoundClaim) -> bool:
    about = ("invoice", "I-1") if claim.slot in ("amount", "status") else None
    if claim.type != TYPES[claim.slot] or claim.quantifier != "one" or claim.scope.entity != about:
        return False
    if claim.scope.dates is not None or squeezed(claim.derivation) not in map(squeezed, DERIVED[claim.slot]):
        return False
    found: Found = {"amount": claim_twin.amount, "open": claim_twin.open_sum, "status": claim_twin.status}[claim.slot](
        calls
    )
    right, used, wrong = found
    if wrong or not same_text(claim, right):
        return False
    if claim.slot == "status":
        return len(claim.references) == 1 and at_status(events, calls, claim, used[0])
    seqs = {a.id: a.seq for c in calls for a in c.answers}
    wanted = [(name, events[seqs[name] - 1].digest, POINTERS[claim.slot]) for name in used]
    return [(r.receipt, r.digest, r.pointer) for r in claim.references] == wanted


def same_text(claim: BoundClaim, right: Any) -> bool:
    if claim.slot == "status":
        return bool(claim.value == right)
    written = re.fullmatch(r"(\d+)(\.\d+)? EUR", claim.value, re.ASCII) if isinstance(claim.value, str) else None
    if written is None:
        return False
    number = claim.value.removesuffix(" EUR")
    return bool(number == "0" or "." in number or not number.startswith("0")) and _cents(number) == _cents(str(right))


def _cents(number: str) -> tuple[str, str]:
    whole, _, part = number.partition(".")
    return whole, part.rstrip("0")


def at_status(events: tuple[e.Sealed, ...], calls: list[Asked], claim: BoundClaim, used: str) -> bool:
    """The newest statement of the invoice's status; the pointer must lead to it inside that very receipt."""
    (reference,) = claim.references
    call, answer = next((c, a) for c in calls for a in c.answers if a.id == used)
    if (reference.receipt, reference.digest) != (used, events[answer.seq - 1].digest):
        return False
    if call.tool == "get":
        return reference.pointer == "/status"
    places = [i for i, item in enumerate(answer.value["items"]) if item["id"] == "I-1"]
    return reference.pointer == f"/items/{places[-1]}/status"


def squeezed(text: str) -> str:
    """Drop blanks outside quotes that stand beside punctuation; the words of `where` keep theirs."""
    return re.sub(r"\s*([(),=])\s*", r"\1", re.sub(r"[ ]+", " ", text.strip()))
