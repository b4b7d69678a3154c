"""What else stands between a run and its end: blockers, doubt, calls without a result, children, standing duties.

The stage and the stop gate ask the same questions of it, so that nothing is called completed that could not end.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from tallystick.contracts.types import Contract
from tallystick.gates.doubt import why_in_doubt
from tallystick.gates.duties import open_duties
from tallystick.gates.owed import open_obligations
from tallystick.model.decision import Reason
from tallystick.view import ConditionRecord, View


def duties_left(view: View, contract: Contract, now: datetime) -> Iterator[Reason]:
    """Yield one reason per standing duty that a call of this run brought about and nothing discharged."""
    for left in open_duties(view, contract, now):
        tools = " or ".join(left.duty.owes)
        yield Reason(
            code="duty.open",
            message=f"`{left.duty.id}`: {left.duty.message or f'{left.duty.after} owes {tools}'}",
            reverses=f"a receipt of {tools} that shows success",
            where=left.duty.id,
            refs=(left.call.seq, left.receipt.seq),
        )


def open_conditions(view: View) -> Iterator[Reason]:
    """Yield the blockers still open. A plain constraint ("do not push") asks for nothing, so it never bars the end."""
    needed = {o.tool for o in open_obligations(view)}
    for record in view.raised:
        body = record.body
        if not record.open or not (body.prerequisite or body.fallback or needed.intersection(body.removes)):
            continue
        who = body.authority or "any principal of the run"
        yield Reason(
            code="condition.open",
            message=f"`{body.id}` is open: {body.status or 'stop'} until {body.prerequisite or 'it is lifted'}, "
            f"decided by {who}",
            reverses=", or ".join(
                (
                    f"a signed event of {who} that resolves it",
                    *_shown(record),
                    *([f"its fallback, then left aside: {body.fallback}"] if body.fallback else []),
                )
            ),
            where=body.id,
            refs=(record.seq,),
        )


def _shown(record: ConditionRecord) -> Iterator[str]:
    until = record.body.until or []
    if until:
        places = ", ".join(f"{place} = {value}" if value else f"{place} still to come" for _, place, value in until)
        about = f" about {record.body.entity[0]} {record.body.entity[1]}" if len(record.body.entity) == 2 else ""
        yield f"a receipt of {until[0][0]}{about} that shows {places}"


def unsettled(view: View) -> Iterator[Reason]:
    """Yield what nobody knows the outcome of yet: calls in doubt, calls without a result, children without an end."""
    for call in view.doubts.values():
        yield Reason(
            code="doubt.open",
            message=f"whether call {call.id} of {call.tool} took effect is in doubt "
            f"({why_in_doubt(view.contract, call)})",
            reverses=f"call {call.id} settled by a status query or by a person",
            where=call.id,
            refs=(call.seq,),
        )
    for call in view.open_calls.values():
        yield Reason(
            code="doubt.open" if call.effect == "write" else "call.open",
            message=f"call {call.id} of {call.tool} has no result",
            reverses=f"the receipt of call {call.id}",
            where=call.id,
            refs=(call.seq,),
        )
    for name, (seq, child) in view.children.items():
        if child.status in ("open", "IN_DOUBT"):
            going = child.status == "open"
            yield Reason(
                code="child.open" if going else "child.in_doubt",
                message=f"child run {name} " + ("has not ended" if going else "ended in doubt"),
                reverses="its end" if going else "its doubts settled, and its end recorded again",
                where=name,
                refs=(seq,),
            )
