"""Claims with a fixed meaning: an answer slot's value, put before the six checks; an obligation's being done.

Source: evidence-carrying termination, "Verifier: six checks" (`gates.certify`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from tallystick.contracts.types import Contract, Slot
from tallystick.gates.certify.binding import bound
from tallystick.gates.certify.exhibits import scope_of_slot
from tallystick.gates.certify.verify import deficits_of
from tallystick.gates.claim_evidence import DONE, cited, outcome
from tallystick.gates.derive import OF_THE_VALUE, evidence_lacks, mended_first
from tallystick.gates.stage import holds_now
from tallystick.model.decision import Decision, Reason, Verdict
from tallystick.model.proposal import Claim
from tallystick.model.values import EntityRef
from tallystick.view import ReceiptRecord, View

OBLIGATION: Final = "obligation"
"""Kind of a subject that names an obligation of the run: `obligation(delivered)`, field `done`."""


def verdict_of(view: View, reasons: Sequence[Reason], conflicts: Sequence[Reason], basis: Sequence[str]) -> Decision:
    """Return reject where anything rejects, else hold where evidence conflicts, else accept."""
    digests = tuple(dict.fromkeys(basis))
    if reasons:
        verdict, given = Verdict.REJECT, reasons
    elif conflicts:
        verdict, given = Verdict.HOLD, conflicts
    else:
        verdict, given = Verdict.ACCEPT, ()
    return Decision(verdict=verdict, reasons=tuple(dict.fromkeys(given)), basis=digests, judged_upto=view.upto)


def obligation_claim(view: View, claim: Claim, subject: EntityRef) -> Decision:
    """Return whether the record agrees that an obligation is (not) done, by the receipt that discharged it."""
    owed = view.obligations.get(subject.id)
    if owed is None:
        reason = Reason(
            code="claim.scope",
            message=f"this run owes no `{subject.id}`",
            reverses="the id of an obligation of this run",
            where=subject.id,
        )
        return verdict_of(view, [reason], [], [])
    done = holds_now(view, owed)
    receipts, reasons = cited(view, claim)
    for receipt in receipts:
        reasons.extend(outcome(receipt))
    if claim.field != DONE or not isinstance(claim.value, bool):
        reasons.append(
            Reason(
                code="claim.type",
                message=f"of an obligation only `{DONE}` can be claimed, true or false",
                reverses=f"a claim of `{DONE}`",
                where=claim.field,
            )
        )
    elif claim.value and not done:
        reasons.append(
            Reason(
                code="obligation.open",
                message=f"`{subject.id}` is open: nothing in the record discharges it",
                reverses=f"the effect that discharges `{subject.id}`",
                where=subject.id,
            )
        )
    elif not claim.value and done:
        by = owed.discharged_by.receipt if owed.discharged_by is not None else None
        reasons.append(
            Reason(
                code="claim.contradicted_earlier",
                message=f"`{subject.id}` is discharged",
                reverses="a claim that agrees with the record",
                where=subject.id,
                refs=(by.seq,) if by else (),
            )
        )
    effect = owed.discharged_by
    if claim.value is True and effect is not None and effect.receipt not in receipts:
        name = effect.receipt.id if effect.receipt is not None else "?"
        reasons.append(
            Reason(
                code="claim.unsupported",
                message=f"`{subject.id}` was discharged by a receipt the claim does not cite",
                reverses=f"a citation of `{name}`",
                where=subject.id,
                refs=(effect.call.seq,),
            )
        )
    return verdict_of(view, reasons, [], [r.digest for r in receipts])


def slot_of(contract: Contract, name: str) -> Slot | None:
    """Return the contract's answer slot `name`, or None."""
    return next((s for s in contract.answer if s.name == name), None)


def slot_claim(view: View, contract: Contract, claim: Claim) -> Decision:
    """A slot's claim is completed from contract and record, and put before the six checks of the verifier.

    What follows from a gap in the evidence is not said again: of its reasons a claim gets those of its type, and of the
    rest the ones to be mended first.
    """
    slot = slot_of(contract, claim.slot or "")
    if slot is None:
        reason = Reason(
            code="coverage.unknown_slot",
            message=f"the contract asks for no `{claim.slot}`",
            reverses=f"one of: {', '.join(s.name for s in contract.answer) or 'no slots'}",
            where=claim.slot or "",
        )
        return verdict_of(view, [reason], [], [])
    receipts, reasons = cited(view, claim)
    own = bound(view, contract, replace(claim, subject=None), slot, cites=False)
    found, used = deficits_of(view, contract, own)
    others = [r for r in receipts if all(r is not u for u in used)]
    for receipt in receipts:
        reasons.extend(outcome(receipt))
    reasons.extend(_subject(view, slot, claim))
    typed = [d for d in found if d.check == "claim_coverage"]
    reasons.extend(d.reason for d in typed)
    rest = [d for d in found if d.check != "claim_coverage" and not (typed and d.code in OF_THE_VALUE)]
    conflicts = [d.reason for d in rest if d.code == "evidence.conflict"]
    rest = [d for d in rest if d.code != "evidence.conflict"]
    if not evidence_lacks(rest):
        reasons.extend(_outside(slot, others, used))
    said = {reason.code for reason in reasons}
    reasons.extend(d.reason for d in mended_first(rest) if d.code not in said)
    digests = [r.digest for r in (receipts if rest else used)]
    return verdict_of(view, reasons, conflicts, digests)


def _subject(view: View, slot: Slot, claim: Claim) -> Iterator[Reason]:
    scope, _ = scope_of_slot(view, slot)
    if claim.subject is not None and scope is not None and claim.subject != scope:
        yield Reason(
            code="claim.scope",
            message=f"`{slot.name}` is about {scope}, the claim is about {claim.subject}",
            reverses=f"a claim about {scope}",
            where=slot.name,
        )


def _outside(slot: Slot, others: Sequence[ReceiptRecord], used: Sequence[ReceiptRecord]) -> Iterator[Reason]:
    """A claim rests on the receipts its derivation reads; citing others binds it to nothing."""
    if others and used:
        yield Reason(
            code="claim.unsupported",
            message=f"`{slot.name}` is derived from other receipts than `{others[0].id}`",
            reverses=f"citations among: {', '.join(sorted(r.id for r in used)[:5])}",
            where=slot.name,
            refs=tuple(r.seq for r in others),
        )
