"""Claims with a fixed meaning: an answer slot's value, recomputed by the contract; an obligation's being done.

Source: evidence-carrying termination, checks 1 (typed), 2 (scope), 5 (value replay) and 6 (the contract's derivation).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tallystick.contracts.types import Contract, Slot
from tallystick.gates.claim_evidence import DONE, cited, outcome
from tallystick.gates.derive import Derived, claimed_value, derive, differs, scope_of_slot
from tallystick.gates.stage import holds_now
from tallystick.model.decision import Decision, Reason, Verdict
from tallystick.model.pointer import MISSING
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
    """A slot's value is recomputed: by the contract's derivation, in its scope, under its type, exactly."""
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
    for receipt in receipts:
        reasons.extend(outcome(receipt))
    scope, problem = scope_of_slot(view, slot)
    if problem is not None:
        reasons.append(problem)
    if claim.subject is not None and scope is not None and claim.subject != scope:
        reasons.append(
            Reason(
                code="claim.scope",
                message=f"`{slot.name}` is about {scope}, the claim is about {claim.subject}",
                reverses=f"a claim about {scope}",
                where=slot.name,
            )
        )
    if claim.quantifier not in ("one", slot.quantifier):  # `one` is what a claim says that says nothing
        reasons.append(
            Reason(
                code="claim.type",
                message=f"`{slot.name}` asks for `{slot.quantifier}`, not `{claim.quantifier}`",
                reverses=f"a claim of `{slot.quantifier}`",
                where=slot.name,
            )
        )
    value, wrong = claimed_value(slot, claim)
    if wrong is not None:
        reasons.append(wrong)
    derived = derive(view, contract, slot, scope) if problem is None else ()
    if not isinstance(derived, Derived):
        reasons.extend(derived)
        return verdict_of(view, reasons, [], [r.digest for r in receipts])
    reasons.extend(_outside(slot, receipts, derived))
    if value is not MISSING:
        different = differs(slot, value, derived)
        if different is not None:
            reasons.append(different)
    return verdict_of(view, reasons, list(derived.conflicts), derived.digests)


def _outside(slot: Slot, receipts: Sequence[ReceiptRecord], derived: Derived) -> Iterator[Reason]:
    """A claim rests on the receipts its derivation reads; citing others binds it to nothing."""
    used = {r.id for r in derived.receipts}
    others = [r for r in receipts if r.id not in used]
    if others and used:
        yield Reason(
            code="claim.unsupported",
            message=f"`{slot.name}` is derived from other receipts than `{others[0].id}`",
            reverses=f"citations among: {', '.join(sorted(used)[:5])}",
            where=slot.name,
            refs=tuple(r.seq for r in others),
        )
