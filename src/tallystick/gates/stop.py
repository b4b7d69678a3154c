"""The stop gate: may this run end as done?

Read top to bottom, this is the rule: a turn that was cut says nothing; every obligation is discharged, waived or shown
impossible; no standing duty is left; no blocker is open unless left aside through its fallback; no call is unanswered
and no effect in doubt; every answer slot is claimed once; and every claim stands. Who says that the run is done (the
model, a framework, a finish reason) makes no difference: all of them only use words. Rightly not acting, and a request
taken back, are successes of their own, with evidence of their own.
Source: evidence-carrying termination, "Verifier"; ARCHITECTURE, "Verdicts and final status".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from tallystick.contracts.types import Contract
from tallystick.errors import TallystickError
from tallystick.gates.claim import may_claim
from tallystick.gates.owed import open_obligations
from tallystick.gates.remaining import duties_left, open_conditions, unsettled
from tallystick.gates.undone import blockers, rightly_undone, taken_back
from tallystick.model.decision import Decision, Reason, Verdict
from tallystick.model.proposal import Stop
from tallystick.view import EffectRecord, View

FinalStatus = Literal["CERTIFIED", "IN_DOUBT", "BLOCKED", "UNCERTIFIED"]


def may_stop(view: View, contract: Contract, stop: Stop) -> Decision:
    """Return whether the run may end as `stop` says.

    Pure: no I/O, no clock (`stop.now` is the recorded instant). Anything that goes wrong in here is a rejection.

    Returns:
        accept; reject (each reason alone is enough, and says what would reverse it); hold (only conflicting evidence
        stands in the way: a fresh read is needed).
    """
    try:
        return _decide(view, contract, stop)
    except TallystickError as bad:
        message = f"the stop could not be judged: {bad.message}"
    except Exception as bad:  # noqa: BLE001 - fail closed: our own fault certifies nothing
        message = f"the gate itself failed: {type(bad).__name__}"
    reason = Reason(code="gate.error", message=message, reverses="a valid contract and stop")
    return Decision(verdict=Verdict.REJECT, reasons=(reason,), judged_upto=view.upto)


def _decide(view: View, contract: Contract, stop: Stop) -> Decision:
    reasons = [
        *_whole(view, stop),
        *_owed(view, contract, stop),
        *duties_left(view, contract, stop.now),
        *open_conditions(view),
        *unsettled(view),
        *_outcome(view, stop),
        *_covered(view, contract, stop),
    ]
    doubtful = any(r.code == "doubt.open" for r in reasons)
    conflicts: list[Reason] = []
    basis = [o.discharged_by.receipt.digest for o in view.obligations.values()
             if o.discharged_by is not None and o.discharged_by.receipt is not None]  # fmt: skip
    basis.extend(o.settled_digest for o in view.obligations.values() if o.settled is not None)
    for claim in stop.claims:
        decision = may_claim(view, contract, claim)
        basis.extend(decision.basis)
        if decision.verdict is Verdict.HOLD:
            conflicts.extend(decision.reasons)
        elif decision.verdict is not Verdict.ACCEPT:
            # Doubt is named once, by call, whatever cites it.
            reasons.extend(r for r in decision.reasons if r.code != "doubt.open" or not doubtful)
    if not reasons and not conflicts and stop.outcome == "acted" and not (stop.claims or view.obligations):
        reasons.extend(_nothing(view))
    verdict = Verdict.REJECT if reasons else Verdict.HOLD if conflicts else Verdict.ACCEPT
    return Decision(
        verdict=verdict,
        reasons=tuple(dict.fromkeys(reasons or conflicts)),
        basis=tuple(dict.fromkeys(d for d in basis if d)),
        judged_upto=view.upto,
    )


def _whole(view: View, stop: Stop) -> Iterator[Reason]:
    if view.ended is not None:
        yield Reason(
            code="run.closed", message=f"the run has ended: {view.ended.status}", reverses="a new run",
        )  # fmt: skip
    if stop.truncated:
        yield Reason(
            code="turn.truncated",
            message="the turn that says so was cut off",
            reverses="a turn that ended by itself",
        )


# ---------------------------------------------------------------- obligations


def _owed(view: View, contract: Contract, stop: Stop) -> Iterator[Reason]:
    """Yield one reason per obligation that is neither discharged, waived, impossible, nor rightly left undone."""
    if stop.outcome == "withdrawn" and taken_back(view):
        return
    for owed in open_obligations(view):
        if stop.outcome == "declined" and rightly_undone(view, contract, owed, stop):
            continue
        by = f"a receipt of {owed.tool} that shows success" if owed.tool else "receipts that show that it holds now"
        yield Reason(
            code="obligation.open",
            message=f"`{owed.id}` is open" + (f": {owed.text}" if owed.text else ""),
            reverses=f"{by}, a waiver, or evidence that it is impossible",
            where=owed.id,
            refs=(owed.seq,) if owed.seq else (),
        )


# ---------------------------------------------------------------- outcome


def _outcome(view: View, stop: Stop) -> Iterator[Reason]:
    """What the stop says came of it must fit the record."""
    waived = bool(view.obligations) and all(o.settled == "waived" for o in view.obligations.values())
    if stop.outcome == "withdrawn" and not taken_back(view) and not waived:
        yield Reason(
            code="outcome.unsupported",
            message="no event of the requester or the host takes the request back",
            reverses="the host's record that the request was withdrawn, or waivers by a principal",
        )
    if stop.outcome == "declined" and all(o.discharged_by is not None for o in view.obligations.values()):
        acted = next(_acts(view), None)
        if acted is not None:
            what = "everything owed was done" if view.obligations else "nothing owed was left undone"
            yield Reason(
                code="outcome.unsupported",
                message=f"{what}, and {acted.tool} took effect in call {acted.call.id}; that is not declining",
                reverses="the outcome `acted`",
                refs=(acted.call.seq,),
            )


def _acts(view: View) -> Iterator[EffectRecord]:
    """Yield the effects that stand: not what was undone, not its undoing, and not the fallback of a condition."""
    tools = view.contract.tools
    aside = {name for rule in view.contract.conditions for name in rule.fallback_tools}
    effects = [e for records in view.index.writes_by_tool.values() for e in records if e.status in ("done", "partial")]
    for effect in effects:
        if view.undone(effect):
            aside.update(tools[effect.tool].undone_by)
    for effect in effects:
        if effect.tool not in aside and not view.undone(effect):
            yield effect


def _nothing(view: View) -> Iterator[Reason]:
    """An end that nothing was owed for, nothing done for and nothing claimed in has nothing to certify."""
    if not view.any_effect():
        yield Reason(
            code="coverage.empty",
            message="nothing is owed, nothing was done and nothing is claimed: there is nothing to certify",
            reverses="a claim with its receipts, or a contract that says what is owed",
        )


# ---------------------------------------------------------------- coverage


def _covered(view: View, contract: Contract, stop: Stop) -> Iterator[Reason]:
    """Every required slot is claimed exactly once. Whoever rightly did not act owes no answer about the act."""
    named = [c.slot for c in stop.claims if c.slot is not None]
    for slot in contract.answer:
        times = named.count(slot.name)
        if times > 1:
            yield Reason(
                code="coverage.twice", message=f"`{slot.name}` is claimed {times} times", reverses="one claim for it",
                where=slot.name,
            )  # fmt: skip
        if not times and slot.required and view.task.need_answer and stop.outcome == "acted":
            yield Reason(
                code="coverage.open",
                message=f"the answer slot `{slot.name}` is not claimed",
                reverses=f"a claim for `{slot.name}`, derived by {slot.derive.source}",
                where=slot.name,
            )


# ---------------------------------------------------------------- final status


def final_status(view: View, contract: Contract, accepted: Decision | None = None) -> tuple[FinalStatus, str]:
    """Return (final status, stable dotted reason) of a run that ends now.

    CERTIFIED comes only from a stop the gate accepted on the record as it is now; else what stands in the way decides:
    IN_DOUBT before BLOCKED before UNCERTIFIED.

    Args:
        view: the run's record.
        contract: what it is judged by.
        accepted: the stop gate's decision, if there was one.
    """
    if view.doubts or any(c.effect == "write" for c in view.open_calls.values()):
        return "IN_DOUBT", "doubt.open"
    if any(child.status == "IN_DOUBT" for _, child in view.children.values()):
        return "IN_DOUBT", "child.in_doubt"
    if accepted is not None and accepted.verdict is Verdict.ACCEPT and accepted.judged_upto >= view.evidence_seq:
        return "CERTIFIED", "stop.accepted"
    if next(open_conditions(view), None) is not None:
        return "BLOCKED", "condition.open"
    if any(blockers(view, contract, o) for o in open_obligations(view)):
        return "BLOCKED", "condition.open"
    return "UNCERTIFIED", "obligation.open" if open_obligations(view) else "stop.missing"
