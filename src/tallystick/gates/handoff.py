"""The handoff gate: does this artifact still bind whoever takes over?

What it says is left must be what the record says is left, and every open condition must travel with it.
Source: operational state preservation; the residual contract of residual completion.
"""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.contracts.types import Contract
from tallystick.errors import TallystickError
from tallystick.gates.stage import open_obligations
from tallystick.gates.undone import blockers
from tallystick.model.decision import Decision, Reason, Verdict
from tallystick.model.proposal import Handoff
from tallystick.view import View


def may_hand_off(view: View, contract: Contract, handoff: Handoff) -> Decision:
    """Return whether `handoff` says exactly what is left and carries every open condition.

    Pure: no I/O, no clock. Anything that goes wrong in here is a rejection.
    """
    try:
        reasons = (*_residual(view, handoff), *_carried(view, contract, handoff))
    except TallystickError as bad:
        text = f"the handoff could not be judged: {bad.message}"
        reasons = (Reason(code="gate.error", message=text, reverses="a valid contract and handoff"),)
    except Exception as bad:  # noqa: BLE001 - fail closed: our own fault passes nothing on
        text = f"the gate itself failed: {type(bad).__name__}"
        reasons = (Reason(code="gate.error", message=text, reverses="a fixed gate"),)
    return Decision(
        verdict=Verdict.REJECT if reasons else Verdict.ACCEPT,
        reasons=reasons,
        basis=tuple(c.digest for c in view.raised if view.binds(c, handoff.now)),
        judged_upto=view.upto,
    )


def _residual(view: View, handoff: Handoff) -> Iterator[Reason]:
    left = tuple(o.id for o in open_obligations(view))
    said = handoff.residual or ()
    if set(said) == set(left):
        return
    forgotten = [i for i in left if i not in said]
    invented = [i for i in said if i not in left]
    parts = []
    if forgotten:
        parts.append(f"not mentioned: {', '.join(forgotten[:10])}")
    if invented:
        parts.append(f"not owed: {', '.join(invented[:10])}")
    yield Reason(
        code="residual.mismatch",
        message=f"the residual is not what the record leaves open ({'; '.join(parts)})",
        reverses=f"a residual of exactly: {', '.join(left) or 'nothing'}",
        refs=tuple(view.obligations[i].seq for i in forgotten if view.obligations[i].seq),
    )


def _carried(view: View, contract: Contract, handoff: Handoff) -> Iterator[Reason]:
    for record in view.raised:
        body = record.body
        # One left aside through its fallback still removes its actions, so it travels too.
        if view.binds(record, handoff.now) and body.id not in handoff.carries:
            yield Reason(
                code="condition.not_carried",
                message=f"`{body.id}` is open and does not travel along: {body.status or 'stop'} until "
                f"{body.prerequisite or 'it is lifted'}, decided by {body.authority or 'its authority'}",
                reverses=f"an artifact that carries `{body.id}` with status, prerequisite, authority and fallback",
                where=body.id,
                refs=(record.seq,),
            )
    for owed in open_obligations(view):
        for name, _ in blockers(view, contract, owed):
            if name not in handoff.carries and name not in view.conditions:
                yield Reason(
                    code="condition.not_carried",
                    message=f"`{name}` removes what `{owed.id}` needs and does not travel along",
                    reverses=f"an artifact that carries `{name}`",
                    where=name,
                )
