"""Folding what principals and hosts say: approvals, confirmations, conditions, waivers, wishes.

An agent's events never have force here, and a signature that does not verify has none either.
"""

from __future__ import annotations

from typing import Any

from tallystick.model import jsontext
from tallystick.model.events import (
    Actor,
    Approval,
    Confirmation,
    Lifted,
    Obliged,
    OperationClosed,
    Raised,
    Sealed,
    Settled,
    Wish,
)
from tallystick.model.signing import is_signed_by
from tallystick.model.values import EntityRef
from tallystick.view.records import ApprovalRecord, Choice, ConditionRecord, ObligationRecord
from tallystick.view.state import State, when


def confirmation(state: State, body: Confirmation, sealed: Sealed) -> None:
    """Fold the user's choice, as the host recorded it."""
    if sealed.event.actor.role not in ("host", "user", "importer", "principal"):
        return  # an agent's word that the user agreed is a claim
    if body.guessed and sealed.event.actor.role != "importer":
        return  # guessing a choice from text is for audits only
    ref = EntityRef(body.entity_kind, body.entity_id)
    choice = Choice(sealed.event.seq, sealed.digest, body, when(sealed.event.at))
    state.index.confirmed.setdefault(ref, {})[body.name] = choice
    state.index.confirmed_kinds.setdefault(body.entity_kind, []).append(ref)
    state.evidence_seq = sealed.event.seq


def approval(state: State, body: Approval, sealed: Sealed) -> None:
    """Fold a decision about a call; untrusted where its signature, run or expiry is wrong."""
    problem = signature_problem(state, body, body.principal, sealed.event.actor)
    if not problem and body.run not in ("", state.run):
        problem = "it was given for another run"
    if not problem and body.id in state.index.approval_by_id:
        problem = "it was given before; each is good for one call"
    record = ApprovalRecord(sealed.event.seq, sealed.digest, body, not problem, problem, None, when(body.expires))
    if body.expires and record.expires is None:
        record.trusted, record.problem = False, "its expiry is not an instant"
    state.approvals.append(record)
    if record.trusted:
        state.index.approval_by_id.setdefault(body.id, record)  # what an intent says it uses up
    state.index.approvals_by_call.setdefault((body.tool, body.args_sha256), []).append(record)
    state.index.approvals_by_tool.setdefault(body.tool, []).append(record)
    state.evidence_seq = sealed.event.seq


def signature_problem(state: State, body: Any, principal: str, actor: Actor) -> str:
    """Return why a principal's event has no force, or ""."""
    if actor.role == "importer" and (state.started is None or state.started.format is not None):
        return ""  # a recorded approval of an imported trace; a live run never takes one
    known = state.principals.get(principal)
    if known is None:
        return f"`{principal}` is not a principal of this run"
    if not is_signed_by(body, state.run, known.public_key):
        return f"the signature is not by `{principal}`"
    return ""


def raised(state: State, body: Raised, sealed: Sealed) -> None:
    """Fold a condition that removes actions."""
    record = ConditionRecord(sealed.event.seq, sealed.digest, body)
    if body.until:
        state.index.conditions_shown.setdefault(body.until[0][0], []).append(record)
    state.conditions[body.id] = record
    state.index.conditions_by_id.setdefault(body.id, []).append(record)
    for name in body.removes:
        state.index.conditions_by_tool.setdefault(name, []).append(record)
    state.evidence_seq = sealed.event.seq


def lifted(state: State, body: Lifted, sealed: Sealed) -> None:
    """Fold the end of a condition, if whoever says so may."""
    decided = body.how in ("resolved", "withdrawn")
    at = when(sealed.event.at)
    if decided and signature_problem(state, body, body.by, sealed.event.actor):
        return
    principal = state.principals.get(body.by) if decided else None
    # A condition raised twice under one id is one condition: lifting it lifts both.
    for record in state.index.conditions_by_id.get(body.id, ()):
        authority = record.body.authority
        # Only its authority resolves a condition; a look-alike name or another role does not.
        if principal is not None and authority and authority not in (principal.role, principal.id):
            continue
        if body.how == "expired" and record.body.expires:
            over = when(record.body.expires)
            if over is None or at is None or at < over:
                continue  # its time is not over yet, whoever says so
        # What was left aside, or satisfied by a receipt, can still be ended for good: by its authority, or by its time.
        if record.open or (not record.over and (decided or (body.how == "expired" and record.body.expires))):
            record.end(body.how, body.by, sealed.digest)
            state.evidence_seq = sealed.event.seq


def operation(state: State, body: OperationClosed, sealed: Sealed) -> None:
    """Fold the end of a named operation; conditions limited to it end."""
    for record in (r for several in state.index.conditions_by_id.values() for r in several):
        if not record.over and record.body.operation == body.operation:
            record.end("operation_closed", body.operation, sealed.digest)
            state.evidence_seq = sealed.event.seq


def obliged(state: State, body: Obliged, sealed: Sealed) -> None:
    """Fold something owed that was added after the start."""
    entity = EntityRef(body.entity[0], body.entity[1]) if len(body.entity) == 2 else None
    args = {name: jsontext.loads(text) for name, text in body.args}
    state.obligations.setdefault(
        body.id,
        ObligationRecord(body.id, None, "event", body.tool, entity, args, None, body.text, sealed.event.seq),
    )
    state.evidence_seq = sealed.event.seq


def settled(state: State, body: Settled, sealed: Sealed) -> None:
    """Fold a waiver by a principal, or impossibility shown by a receipt."""
    record = state.obligations.get(body.id)
    if record is None:
        return
    if body.how == "waived" and signature_problem(state, body, body.by, sealed.event.actor):
        return  # an unsigned waiver has no force
    if body.how == "impossible":
        shown = any(state.receipt(r) is not None for r in body.evidence)
        if not shown or sealed.event.actor.role == "agent":
            return
    record.settled, record.settled_digest = body.how, sealed.digest
    state.evidence_seq = sealed.event.seq


def wish(state: State, body: Wish, sealed: Sealed) -> None:
    """Fold a new wish of the user."""
    if sealed.event.actor.role in ("host", "user", "principal", "importer"):
        state.wishes.append((sealed.event.seq, body))
        state.evidence_seq = sealed.event.seq
