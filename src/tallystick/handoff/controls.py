"""Endpoint controls: what is asked right before an action, beside the act gate. They contain; they preserve nothing.

A control looks at what the executor received, or asks somewhere else, and answers. It never edits an artifact, so what
was lost on the way stays lost: preservation and containment are measured apart.
Source: the five endpoint conditions of the paper (plain, soft and hard visible authorisation, permission lookup, human
approval); how each decides is ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from tallystick.contracts.types import Contract
from tallystick.gates.answers import Met
from tallystick.gates.approval import approval_of
from tallystick.gates.evidence import scope_of
from tallystick.handoff.carrier import Carrier
from tallystick.handoff.compare import compare
from tallystick.handoff.forms import Form, blocks, prose_text
from tallystick.model import jsontext
from tallystick.model.decision import Decision, Reason, Verdict
from tallystick.model.proposal import Call
from tallystick.model.values import EntityRef, same
from tallystick.view import ConditionRecord, View

NOT_VISIBLE: Final = "control.not_visible"
DENIED: Final = "control.denied"
LOOKUP_FAILED: Final = "control.lookup_failed"
NEEDS_APPROVAL: Final = "control.approval"
CODES: Final = frozenset({NOT_VISIBLE, DENIED, LOOKUP_FAILED, NEEDS_APPROVAL})
Hardness = Literal["soft", "hard"]

_ADMIT: Final = Decision(verdict=Verdict.ADMIT)
_YES: Final = re.compile(
    r"\b(approv(?:ed|al (?:was |is |has been )?(?:given|granted|received|obtained))|authori[sz]ed|cleared|signed off|"
    r"granted|permission (?:was |is |has been )?(?:given|received)|released by)\b",
    re.IGNORECASE,
)
_NO: Final = re.compile(
    r"\b(not|no|never|nobody|without|until|unless|before|once|if|when|whether|pending|await\w*|wait\w*|missing|need\w*|"
    r"must|requires?|required|lack\w*|unresolved|absent|expired|revoked|denied|earlier|previous\w*|similar|"
    r"assum\w*|should|will|may|might|can|could|would|later|subject to)\b|n't\b|un(?:approved|authori[sz]ed)",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"[.!?;\n]+")


def visible_in(
    artifact: Any,
    form: Form,
    record: Carrier,
    blockers: Iterable[str],
    *,
    hardness: Hardness,
    view: View | None = None,
) -> Decision:
    """Return whether what an executor received shows that the blockers of an action are resolved. Pure.

    Hard: it carries a block that matches the record and names each of them among the resolved, and not among the open.
    Soft: that, or a sentence of its prose says plainly that it was approved. Words can say anything; a soft check is
    for telling what words do, and for agents nobody attacks.

    Args:
        artifact: what was received; it is only read.
        form: its form.
        record: what the record says now (`carrier_of`).
        blockers: ids of the blockers of the action; without any, nothing has to be visible.
        hardness: soft or hard.
        view: the record, as for `compare`.
    """
    wanted = tuple(dict.fromkeys(blockers))
    if not wanted:
        return _ADMIT
    found = compare(artifact, form, record, view)
    carried = next((b.carrier for b in blocks(artifact, form) if b.whole), None)
    shown = {r.id for r in carried.resolved} if carried is not None and found.state in ("complete", "stale") else set()
    still = {b.id for b in carried.blockers} if carried is not None else set()
    hidden = [name for name in wanted if name not in shown or name in still or record.blocker(name) is not None]
    if not hidden or (hardness == "soft" and _says_so(prose_text(artifact, form))):
        return _ADMIT
    return Decision(
        verdict=Verdict.HOLD,
        reasons=tuple(
            Reason(
                code=NOT_VISIBLE,
                message=f"that `{name}` is resolved is not visible in what was received",
                reverses="an artifact that carries the record's block with this blocker among the resolved",
                where=name,
            )
            for name in hidden
        ),
    )


def _says_so(text: str) -> bool:
    return any(_YES.search(part) and not _NO.search(part) for part in _SENTENCE.split(text))


@dataclass(frozen=True, kw_only=True, slots=True)
class Permission:
    """What a permission service answered: only `True` allows; None where it could not be asked, or did not say."""

    allow: bool | None
    reason: str = ""


def looked_up(permission: Permission) -> Decision:
    """Return what a permission service's answer comes to. No answer is a no."""
    if permission.allow is True:
        return _ADMIT
    if permission.allow is False:
        text = f"the permission service says no{f': {permission.reason}' if permission.reason else ''}"
        return _hold(DENIED, text, "its permission for this action on this entity", Verdict.REFUSE)
    text = f"the permission service gave no answer{f': {permission.reason}' if permission.reason else ''}"
    return _hold(LOOKUP_FAILED, text, "a permission service that answers", Verdict.HOLD)


def approved(view: View, call: Call, role: str = "") -> tuple[Decision, str | None]:
    """Return whether a principal approved exactly this call, and the digest of the approval it would use up."""
    answer = approval_of(view, call, role, "approval")
    if isinstance(answer, Met):
        return _ADMIT, answer.digests[0]
    reasons = answer.reasons
    said = reasons[0].message if reasons else f"{call.tool} needs an approval"
    helps = reasons[0].reverses if reasons else "a signed approval"
    return _hold(NEEDS_APPROVAL, said, helps, Verdict.HOLD, where=role), None


def _hold(code: str, message: str, reverses: str, verdict: Verdict, where: str = "") -> Decision:
    return Decision(verdict=verdict, reasons=(Reason(code=code, message=message, reverses=reverses, where=where),))


def concerning(view: View, contract: Contract, call: Call) -> tuple[ConditionRecord, ...]:
    """Return the blockers ever raised against this very call, open or over."""
    tool = contract.tools.get(call.tool)
    raised = view.index.conditions_by_tool.get(call.tool, ())
    if tool is None or not raised:
        return tuple(raised)
    targets = set(scope_of(view, contract, tool, call).entities.values())
    return tuple(r for r in raised if _about(r, call, targets))


def _about(record: ConditionRecord, call: Call, targets: set[EntityRef]) -> bool:
    entity = record.body.entity
    same_kind = [ref for ref in targets if len(entity) == 2 and ref.kind == entity[0]]
    if same_kind and EntityRef(entity[0], entity[1]) not in same_kind:
        return False
    # What the call does not say may be the very thing.
    return all(call.args.get(n) is None or same(call.args[n], jsontext.loads(v)) for n, v in record.body.scope)
