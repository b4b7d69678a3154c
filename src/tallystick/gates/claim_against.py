"""What the record says against a claim, beyond the receipts it cites.

Bad news needs less than good news: a later read that reports failure speaks against a claim of success, although it
could never support one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tallystick.contracts.types import Contract
from tallystick.gates.claim_evidence import DONE, EXISTS, records
from tallystick.gates.claim_value import agrees, denied, look_up
from tallystick.model.decision import Reason
from tallystick.model.pointer import MISSING
from tallystick.model.proposal import Claim
from tallystick.view import ReceiptRecord, View


def against(view: View, contract: Contract, claim: Claim, cited: Sequence[ReceiptRecord]) -> Iterator[Reason]:
    """Yield at most one reason: a later receipt that says otherwise, or a done effect that an uncited denial denies."""
    if not cited:
        if claim.cites:
            return
        effect = _done_to(view, claim) if _is_denial(claim) else None
        if effect is not None:
            yield denied(effect)
        return
    newest = max(r.seq for r in cited)
    for receipt in reversed(view.receipts):
        if receipt.seq <= newest:
            return
        said = _otherwise(contract, claim, receipt, cited)
        if said is not None:
            yield Reason(
                code="claim.contradicted_readback",
                message=f"a later read by {receipt.call.tool if receipt.call else '?'} says {said}",
                reverses="a claim that agrees with the newest receipt, or a newer one",
                where=claim.field,
                refs=(receipt.seq,),
            )
            return


def uncited(view: View, contract: Contract, claim: Claim) -> Iterator[Reason]:
    """Yield why a claim without citations is not supported, and whether any receipt of the run states its value."""
    holder = _stating(view, contract, claim)
    yield Reason(
        code="claim.uncited",
        message=f"`{claim.field}` cites no receipt",
        reverses=f"a citation of `{holder.id}`" if holder is not None else "a read that shows it, and its citation",
        where=claim.field,
    )
    if holder is None:
        yield Reason(
            code="claim.value_absent",
            message=f"no receipt of this run states `{claim.field}`; words that say so are not evidence",
            reverses=f"a receipt that states `{claim.field}`",
            where=claim.field,
        )


def _stating(view: View, contract: Contract, claim: Claim) -> ReceiptRecord | None:
    for receipt in reversed(view.receipts):
        if not receipt.good or claim.subject is None:
            continue
        stated = _stated(contract, claim, receipt)
        if stated is not MISSING and agrees(claim.value, stated, None, None)[1]:
            return receipt
    return None


def _stated(contract: Contract, claim: Claim, receipt: ReceiptRecord) -> Any:
    if claim.subject is None or receipt.call is None:
        return MISSING
    about = records(contract, receipt, claim.subject)
    if not about:
        return MISSING
    return look_up(contract, contract.tools.get(receipt.call.tool), about, claim.field, claim.subject)[0]


def _is_denial(claim: Claim) -> bool:
    return claim.quantifier == "none" or claim.value is False or claim.value is None or claim.value == 0


def _done_to(view: View, claim: Claim) -> ReceiptRecord | None:
    """Return the receipt of the newest write to the subject that took effect."""
    if claim.subject is None:
        return None
    for call in reversed(view.calls.values()):
        if call.effect == "write" and claim.subject in call.targets:
            for effect in view.effects_of_call(call.id):
                if effect.status == "done" and effect.receipt is not None:
                    return effect.receipt
    return None


def _otherwise(contract: Contract, claim: Claim, receipt: ReceiptRecord, cited: Sequence[ReceiptRecord]) -> str | None:
    """Return what a later receipt says instead, or None where it says nothing about the claim."""
    call = receipt.call
    if call is None or receipt.body.cached_from is not None or receipt.body.source == "replica":
        return None
    if receipt.good and claim.field not in (DONE, EXISTS):
        about = records(contract, receipt, claim.subject) if claim.subject is not None else []
        tool = contract.tools.get(call.tool)
        stated, declared, record = look_up(contract, tool, about, claim.field, claim.subject)
        if stated is not MISSING:
            problem, equal = agrees(claim.value, stated, declared, record)
            return None if equal and problem is None else f"`{claim.field}` is {str(stated)[:60]}"
    written = [r.call for r in cited if r.call is not None and r.call.effect == "write"]
    if call.effect == "write" or not any(t in w.targets for w in written for t in call.targets):
        return None
    if receipt.code == "result.nested_error":
        return f"it failed (at `{receipt.pointer}`)"
    if receipt.good and isinstance(receipt.value, str) and isinstance(claim.value, str):
        # The claim repeats what a write was asked to put there; the entity, read back, is a text without it.
        asked = any(claim.field in w.args for w in written)
        if asked and claim.value not in receipt.value:
            return f"the text `{receipt.value[:40]}`"
    return None
