"""How an obligation of a run came to be owed no more, and the event that says so."""

from __future__ import annotations

from tallystick.contracts.types import Contract
from tallystick.gates.stage import applies, holds_now
from tallystick.gates.undone import rightly_undone, taken_back
from tallystick.model.certificate import Discharge
from tallystick.model.proposal import Stop
from tallystick.view import ObligationRecord, View


def discharge_of(view: View, contract: Contract, owed: ObligationRecord, stop: Stop) -> Discharge | None:
    """Return why an obligation is owed no more at a stop, or None where it still is."""
    if owed.settled is not None:
        return Discharge(obligation=owed.id, how=owed.settled, event=owed.settled_digest)
    if holds_now(view, owed):
        return Discharge(obligation=owed.id, how="discharged", event=_event(view, owed))
    if not applies(view, owed):
        return Discharge(obligation=owed.id, how="not_applicable")
    if stop.outcome == "withdrawn" and taken_back(view):
        return Discharge(obligation=owed.id, how="withdrawn")
    if stop.outcome == "declined" and rightly_undone(view, contract, owed, stop):
        return Discharge(obligation=owed.id, how="rightly_undone")
    return None


def _event(view: View, owed: ObligationRecord) -> str:
    """Return the digest of the receipt that discharged it (or settled the doubt), or of the fact that makes it hold."""
    effect = owed.discharged_by
    if effect is not None:
        return effect.receipt.digest if effect.receipt is not None else effect.call.settled_by or effect.call.digest
    rule = owed.rule
    if owed.entity is None or rule is None or rule.fact is None:
        return ""
    known = view.facts(owed.entity)
    facts = [known[ref[1]] for ref in rule.fact.refs if len(ref) > 1 and ref[1] in known]
    return max(facts, key=lambda fact: fact.seq).digest if facts else ""
