"""The claim gate: may the answer say this?

Read top to bottom, this is the rule: a claim stands on receipts that resolve, answer a recorded call, went well at
every level, speak of the claim's subject and are not superseded by a later write; nothing later says otherwise; "all",
"none" and "how many" need a complete read; and the value is what those receipts state, exactly. A claim for an answer
slot is recomputed by the contract's own derivation instead. Conflicting evidence holds the claim; everything else that
is wrong rejects it, and each reason alone would.
Source: evidence-carrying termination, the six checks of the verifier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tallystick.contracts.types import Contract
from tallystick.errors import TallystickError
from tallystick.gates.claim_against import against, uncited
from tallystick.gates.claim_evidence import DONE, cited, worth
from tallystick.gates.claim_reads import complete, items_of
from tallystick.gates.claim_slot import OBLIGATION, obligation_claim, slot_claim, verdict_of
from tallystick.gates.claim_value import support
from tallystick.model.decision import Decision, Reason, Verdict
from tallystick.model.proposal import Claim
from tallystick.model.values import same
from tallystick.view import ReceiptRecord, View


def may_claim(view: View, contract: Contract, claim: Claim) -> Decision:
    """Return whether the record supports `claim`.

    Pure: no I/O, no clock. Anything that goes wrong in here is a rejection.

    Returns:
        accept; reject (each reason alone is enough); hold (the evidence conflicts, a fresh read is needed).
    """
    try:
        return _decide(view, contract, claim)
    except TallystickError as bad:
        return _failed(view, f"the claim could not be judged: {bad.message}")
    except Exception as bad:  # noqa: BLE001 - fail closed: our own fault certifies nothing
        return _failed(view, f"the gate itself failed: {type(bad).__name__}")


def _failed(view: View, message: str) -> Decision:
    reason = Reason(code="gate.error", message=message, reverses="a valid contract and claim")
    return Decision(verdict=Verdict.REJECT, reasons=(reason,), judged_upto=view.upto)


def _decide(view: View, contract: Contract, claim: Claim) -> Decision:
    if claim.slot is not None:
        return slot_claim(view, contract, claim)
    if claim.subject is not None and claim.subject.kind == OBLIGATION and OBLIGATION not in contract.entities:
        return obligation_claim(view, claim, claim.subject)
    receipts, reasons = cited(view, claim)
    conflicts: list[Reason] = []
    if not claim.cites:
        reasons.extend(uncited(view, contract, claim))
    for receipt in receipts:
        reasons.extend(worth(view, contract, claim, receipt))
    reasons.extend(against(view, contract, claim, receipts))
    supported = False
    for receipt in receipts:
        found = support(view, contract, claim, receipt)
        supported = supported or found.supported
        reasons.extend(found.reasons)
        conflicts.extend(found.conflicts)
    reasons.extend(_quantified(view, contract, claim, receipts))
    if not supported and not reasons and not conflicts:
        reasons.append(
            Reason(
                code="claim.unsupported",
                message=f"no cited receipt supports `{claim.field}`",
                reverses=f"a receipt that states `{claim.field}`",
                where=claim.field,
            )
        )
    return verdict_of(view, reasons, conflicts, [r.digest for r in receipts])


# ---------------------------------------------------------------- quantifiers


def _quantified(view: View, contract: Contract, claim: Claim, receipts: Sequence[ReceiptRecord]) -> Iterator[Reason]:
    """Quantified claims need a complete read; a batch must be done for every item; a repeated answer counts once."""
    if claim.quantifier == "one" or not receipts:
        return
    reads = [r for r in receipts if r.call is not None and r.call.effect != "write"]
    if claim.quantifier != "count" or not all(_states_count(contract, claim, r) for r in reads):
        by_tool: dict[str, list[ReceiptRecord]] = {}
        for receipt in reads:
            assert receipt.call is not None
            by_tool.setdefault(receipt.call.tool, []).append(receipt)
        for name, group in by_tool.items():
            yield from complete(contract.tools.get(name), group)[1]
    writes = [r for r in receipts if r.call is not None and r.call.effect == "write"]
    if claim.quantifier == "all":
        for receipt in writes:
            yield from _whole_batch(view, receipt)
    elif claim.quantifier == "count" and writes:
        yield from _counted(view, claim, writes)


def _states_count(contract: Contract, claim: Claim, receipt: ReceiptRecord) -> bool:
    """Return whether a read states the number itself, from a tool that is no listing."""
    assert receipt.call is not None
    tool = contract.tools.get(receipt.call.tool)
    if receipt.body.truncated or (tool is not None and tool.complete is not None):
        return False
    return items_of(tool, receipt) is None and isinstance(receipt.value, dict) and claim.field in receipt.value


def _whole_batch(view: View, receipt: ReceiptRecord) -> Iterator[Reason]:
    assert receipt.call is not None
    effects = view.effects_of_call(receipt.call.id)
    left = [e.item or e.key for e in effects if e.status != "done"]
    if left and len(effects) > 1:
        yield Reason(
            code="effect.partial_batch",
            message=f"{len(effects) - len(left)} of {len(effects)} items are done; not: {', '.join(left[:10])}",
            reverses=f"receipts that show success for {', '.join(left[:10])}",
            refs=(receipt.seq,),
        )


def _counted(view: View, claim: Claim, writes: Sequence[ReceiptRecord]) -> Iterator[Reason]:
    """A count of writes is the number of effects that were done; a repeated answer is not a second one."""
    repeats = [r for r in writes if r.body.cached_from is not None]
    if repeats:
        yield Reason(
            code="evidence.repeated",
            message=f"{len(repeats)} of {len(writes)} cited receipts only repeat another: one effect, not two",
            reverses="a receipt of a call that ran by itself",
            refs=tuple(r.seq for r in repeats),
        )
    if claim.field != DONE and all(r.call is not None and claim.field != r.call.tool for r in writes):
        return
    calls = {r.call.id for r in writes if r.call is not None}
    done = sum(1 for c in calls for e in view.effects_of_call(c) if e.status == "done")
    if not same(claim.value, done):
        yield Reason(
            code="claim.mismatch",
            message=f"the cited receipts show {done} effects",
            reverses="the number of effects the receipts show",
            where=claim.field,
            refs=tuple(r.seq for r in writes),
        )
