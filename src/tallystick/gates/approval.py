"""Approvals: signed, single-use decisions by a principal, bound to tool, arguments, run and expiry.

The newest decision about exactly this call wins; a grant for other arguments never widens. What is unsigned, signed by
the wrong key, or said in a message has no force at all.
"""

from __future__ import annotations

from tallystick.gates.answers import Answer, Met, Missing, Violated
from tallystick.model.decision import Reason
from tallystick.model.exact import args_digest
from tallystick.model.proposal import Call
from tallystick.model.values import EntityRef
from tallystick.view import ApprovalRecord, View


def _role_fits(view: View, record: ApprovalRecord, role: str) -> bool:
    return not role or role in (record.body.principal, view.role_of(record.body.principal))


def usable_approval(view: View, call: Call, role: str) -> ApprovalRecord | None:
    """Return the approval that would be used up by admitting `call`, or None."""
    newest: ApprovalRecord | None = None
    for record in view.approvals_for(call.tool, args_digest(call.args)):
        if record.trusted and _role_fits(view, record, role):
            newest = record
    if newest is None or newest.body.decision != "approve" or newest.used_by is not None:
        return None
    if newest.expires is not None and newest.expires <= call.now:
        return None
    return newest


def _denied(view: View, call: Call, role: str) -> bool:
    exact = view.approvals_for(call.tool, args_digest(call.args))
    fitting = [r for r in exact if r.trusted and _role_fits(view, r, role)]
    return bool(fitting) and fitting[-1].body.decision == "deny"


def approval_of(view: View, call: Call, role: str, where: str) -> Answer:
    """Return whether a usable approval for exactly this call exists; `role` "" accepts any principal."""
    usable = usable_approval(view, call, role)
    if usable is not None:
        return Met((usable.digest,))
    by = f" by {role}" if role else ""
    wanted = f"a signed approval{by} of {call.tool} with exactly these arguments"
    exact = view.approvals_for(call.tool, args_digest(call.args))
    fitting = [r for r in exact if r.trusted and _role_fits(view, r, role)]
    if fitting:
        newest = fitting[-1]
        if newest.body.decision == "deny":
            text = f"`{newest.body.principal}` denied this call"
            return Violated((_reason("approval.denied", text, wanted, where, newest),), (newest.digest,))
        if newest.used_by is not None:
            text = f"approval `{newest.body.id}` was used by {newest.used_by}; each is good for one call"
            return Missing((_reason("approval.consumed", text, f"a new one: {wanted}", where, newest),))
        text = f"approval `{newest.body.id}` expired at {newest.body.expires}"
        return Missing((_reason("approval.expired", text, wanted, where, newest),))
    for record in reversed(exact):
        problem = record.problem or f"`{record.body.principal}` does not have the role {role}"
        return Missing((_reason("approval.untrusted", f"an approval has no force: {problem}", wanted, where, record),))
    others = [r for r in view.approvals_of(call.tool) if r.trusted and r.body.decision == "approve"]
    if others:
        text = f"approval `{others[-1].body.id}` is for other arguments of {call.tool}"
        return Missing((_reason("approval.other_args", text, wanted, where, others[-1]),))
    return Missing((_reason("approval.missing", f"{call.tool} needs an approval{by}", wanted, where, None),))


def condition_approval(view: View, call: Call, condition: str, authority: str,
                       entities: tuple[EntityRef, ...]) -> ApprovalRecord | None:  # fmt: skip
    """Return the approval by `authority` that lifts `condition`: for the entity, or for this very call."""
    exact = usable_approval(view, call, authority)
    if exact is not None or _denied(view, call, authority):
        return exact  # what was decided about this very call outranks what was decided about its entity
    newest: ApprovalRecord | None = None
    for record in view.approvals_of(call.tool):
        body = record.body
        if not record.trusted or body.for_condition != condition or not _role_fits(view, record, authority):
            continue
        if len(body.entity) == 2 and EntityRef(body.entity[0], body.entity[1]) in entities:
            newest = record
    if newest is None or newest.body.decision != "approve" or newest.used_by is not None:
        return None
    if newest.expires is not None and newest.expires <= call.now:
        return None
    return newest


def _reason(code: str, message: str, reverses: str, where: str, record: ApprovalRecord | None) -> Reason:
    return Reason(
        code=code,
        message=message,
        reverses=reverses,
        where=where,
        refs=() if record is None else (record.seq,),
    )
