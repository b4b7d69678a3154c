"""The view: an incremental, in-memory read model folded from the events of one run. Gates see it, never the store.

Folding an event costs the same at the ten-thousandth event as at the tenth: everything a gate asks is an index look-up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from tallystick.model import events, jsontext
from tallystick.model.events import Sealed
from tallystick.model.values import EntityRef, same
from tallystick.view import fold_authority, fold_calls, fold_shown
from tallystick.view.records import (
    ApprovalRecord,
    CallRecord,
    Choice,
    ConditionRecord,
    EffectRecord,
    Fact,
    ReceiptRecord,
    TakeoverRecord,
)
from tallystick.view.state import State

_Takeover = events.ResidualFrozen | events.ResidualJudged | events.ResidualStep | events.ResidualEnded
_NO_FACTS: Final[Mapping[str, Fact]] = {}


def _refusal(state: State, body: events.Refusal, sealed: Sealed) -> None:
    state.refusals.append((sealed.event.seq, body))
    if body.fingerprint:
        count = state.index.fingerprints.get(body.fingerprint, (0, 0))[0]
        state.index.fingerprints[body.fingerprint] = (count + 1, sealed.event.seq)


def _said(state: State, body: events.Said, sealed: Sealed) -> None:
    state.said.append((sealed.event.seq, body))
    if body.role == "user" and sealed.event.actor.role != "agent":
        state.talk.append(("user", body.text))
        state.heard.append((sealed.event.seq, body.text))
    elif body.role in ("assistant", "agent"):
        state.talk.append(("agent", body.text))


def _stated(state: State, body: events.Stated, sealed: Sealed) -> None:
    state.stated.append((sealed.event.seq, body))
    state.evidence_seq = sealed.event.seq


def _receipt(state: State, body: events.Receipt, sealed: Sealed) -> None:
    fold_calls.receipt(state, body, sealed)
    if state.index.conditions_shown:
        fold_shown.receipt(state, sealed)


def _started(state: State, body: events.Started, sealed: Sealed) -> None:
    if sealed.event.seq == 1:
        state.started = body


def _schema(state: State, body: events.SchemaChanged, sealed: Sealed) -> None:
    state.schema_changes[body.tool] = (sealed.event.seq, body)
    state.evidence_seq = sealed.event.seq


def _child(state: State, body: events.ChildRun, sealed: Sealed) -> None:
    if sealed.event.actor.role in ("runtime", "importer"):
        state.children[body.child] = (sealed.event.seq, body)
        state.evidence_seq = sealed.event.seq


def _transferred(state: State, body: events.Handed | events.Received, sealed: Sealed) -> None:
    if sealed.event.actor.role in ("runtime", "importer"):
        state.transfers.append((sealed.event.seq, sealed.digest, body))


def _ended(state: State, body: events.Ended, _: Sealed) -> None:
    state.ended = state.ended or body  # a status, once given, never improves


def _takeover(state: State, body: _Takeover, sealed: Sealed) -> None:
    """Fold what the runtime recorded of a successor's tenure; nobody else speaks of one."""
    if sealed.event.actor.role != "runtime":
        return
    record = state.takeovers.get(body.tenure)
    if isinstance(body, events.ResidualFrozen):
        if record is None:
            state.takeovers[body.tenure] = TakeoverRecord(sealed.event.seq, sealed.digest, body)
    elif record is None or record.ended is not None:
        return
    elif isinstance(body, events.ResidualJudged):
        record.judged.append(body)
    elif isinstance(body, events.ResidualStep):
        record.steps.append(body)
    else:
        record.ended = body


_FOLDS: Final[Mapping[type, Callable[[State, Any, Sealed], None]]] = {
    events.Started: _started,
    events.Said: _said,
    events.Stated: _stated,
    events.Damage: lambda state, body, sealed: state.damage.append((sealed.event.seq, body)),
    events.StopDecided: lambda state, body, sealed: state.stops.append((sealed.event.seq, body)),
    events.SchemaChanged: _schema,
    events.Refusal: _refusal,
    events.ChildRun: _child,
    events.ResidualFrozen: _takeover,
    events.ResidualJudged: _takeover,
    events.ResidualStep: _takeover,
    events.ResidualEnded: _takeover,
    events.Handed: _transferred,
    events.Received: _transferred,
    events.Ended: _ended,
    events.Intent: fold_calls.intent,
    events.Receipt: _receipt,
    events.DoubtSettled: fold_calls.doubt_settled,
    events.Tenure: fold_calls.tenure,
    events.Confirmation: fold_authority.confirmation,
    events.Approval: fold_authority.approval,
    events.Raised: fold_authority.raised,
    events.Lifted: fold_authority.lifted,
    events.OperationClosed: fold_authority.operation,
    events.Obliged: fold_authority.obliged,
    events.Settled: fold_authority.settled,
    events.Wish: fold_authority.wish,
}


# All an agent can add to a record is words: what it said, proposed or reported. Anything else in its name has no force.
_WORDS: Final = (events.Said, events.Refusal, events.StopDecided)


class View(State):
    """What a run's record says now, and the questions gates ask of it."""

    def apply(self, sealed: Sealed) -> None:
        """Fold the next event. Unknown kinds and unreadable foreign bytes are kept by the ledger and skipped here."""
        self.upto = sealed.event.seq
        self.head = sealed.digest
        self._digests.append(sealed.digest)
        body = sealed.event.body
        if sealed.event.actor.role == "agent" and not isinstance(body, _WORDS):
            return
        fold = _FOLDS.get(type(body))
        if fold is not None:
            fold(self, body, sealed)

    def calls_named(self, native_id: str) -> tuple[CallRecord, ...]:
        """Return every call that carried this native id."""
        return tuple(self.index.calls_by_native.get(native_id, ()))

    def receipts_of(self, tool: str) -> tuple[ReceiptRecord, ...] | list[ReceiptRecord]:
        """Return the receipts of calls to `tool`, oldest first."""
        return self.index.receipts_by_tool.get(tool, ())

    def receipts_about(self, tool: str, ref: EntityRef) -> tuple[ReceiptRecord, ...] | list[ReceiptRecord]:
        """Return the receipts of calls to `tool` that addressed an entity or hold a record of it, oldest first."""
        return self.index.receipts_about.get((tool, ref), ())

    def pages_of(self, tool: str) -> Iterator[list[ReceiptRecord]]:
        """Yield the answers to each question put to a listing, page by page, oldest first; the newest counts."""
        for pages in self.index.pages.get(tool, {}).values():
            yield from pages.values()

    def facts(self, ref: EntityRef) -> Mapping[str, Fact]:
        """Return field → newest fact about an entity."""
        return self.index.facts.get(ref, _NO_FACTS)

    def known(self, ref: EntityRef) -> bool:
        """Return whether any receipt has established that this very entity exists."""
        return ref in self.index.facts

    def entities(self, kind: str) -> Iterator[EntityRef]:
        """Return every entity of a kind that receipts have established."""
        return iter(self.index.kinds.get(kind, {}).values())

    def kinds_of(self, name: str) -> tuple[EntityRef, ...]:
        """Return the entities of any kind that receipts have established under this very id."""
        return tuple(ids[name] for ids in self.index.kinds.values() if name in ids)

    def last_write(self, ref: EntityRef) -> int:
        """Return the seq of the last write intent that addressed an entity; 0 for none."""
        return self.index.last_write.get(ref, 0)

    def void(self, ref: EntityRef, seen: int) -> bool:
        """Return whether an observation of an entity at seq `seen` is void by a later write, or one then under way."""
        index = self.index
        if seen < index.last_write.get(ref, 0) or seen < index.write_over.get(ref, 0):
            return True
        return any(began < seen for began in index.writes_open.get(ref, {}).values())

    def effects(self, key: str) -> list[EffectRecord] | tuple[EffectRecord, ...]:
        """Return every attempt at an effect, oldest first."""
        return self.index.effects.get(key, ())

    def effects_of_call(self, call: str) -> list[EffectRecord] | tuple[EffectRecord, ...]:
        """Return the effects one call realised or attempted."""
        return self.index.effects_of_call.get(call, ())

    def writes(self, tool: str) -> list[EffectRecord] | tuple[EffectRecord, ...]:
        """Return every attempt at a write by `tool`, oldest first."""
        return self.index.writes_by_tool.get(tool, ())

    def undone(self, effect: EffectRecord) -> bool:
        """Return whether a later success unmade a realised effect, as the contract declares by `undone_by`."""
        tool = self.contract.tools.get(effect.tool)
        if tool is None or not tool.undone_by or effect.status != "done":
            return False
        mine = set(effect.call.targets)
        return any(
            later.status == "done"
            and later.call.seq > effect.call.seq
            and (not mine or not mine.isdisjoint(later.call.targets))
            for name in tool.undone_by
            for later in self.writes(name)
        )

    def any_effect(self) -> bool:
        """Return whether at least one effect has been realised."""
        return any(e.status in ("done", "partial") for group in self.index.effects.values() for e in group)

    def exclusive(self, exclusion: str, value: str) -> list[EffectRecord] | tuple[EffectRecord, ...]:
        """Return the effects attempted under one exclusion for one value of its `per` expression."""
        return self.index.exclusive.get((exclusion, value), ())

    def key_user(self, tool: str, key: str) -> CallRecord | None:
        """Return the first call of `tool` that carried idempotency key `key`."""
        return self.index.keys_seen.get((tool, key))

    def approvals_for(self, tool: str, args_sha256: str) -> list[ApprovalRecord] | tuple[ApprovalRecord, ...]:
        """Return the approvals and denials given for exactly this call, oldest first."""
        return self.index.approvals_by_call.get((tool, args_sha256), ())

    def approvals_of(self, tool: str) -> list[ApprovalRecord] | tuple[ApprovalRecord, ...]:
        """Return the approvals and denials given for any call of `tool`, oldest first."""
        return self.index.approvals_by_tool.get(tool, ())

    def role_of(self, principal: str) -> str | None:
        """Return a principal's role."""
        known = self.principals.get(principal)
        return known.role if known is not None else None

    def confirmed(self, ref: EntityRef, name: str = "") -> Choice | None:
        """Return the host's event that the user chose this entity (or confirmed its field `name`)."""
        return self.index.confirmed.get(ref, {}).get(name)

    def confirmed_of(self, kind: str) -> list[EntityRef] | tuple[EntityRef, ...]:
        """Return the entities of `kind` the user chose, oldest first."""
        return self.index.confirmed_kinds.get(kind, ())

    @property
    def raised(self) -> tuple[ConditionRecord, ...]:
        """Return every condition raised in this run that can still matter.

        Raised again under the same id, for another entity say, the earlier one binds on until it is over, so both are
        here; `conditions` knows the newest of each id.
        """
        by_id = self.index.conditions_by_id.values()
        return tuple(r for several in by_id for r in several if r is several[-1] or not r.over)

    def conditions_on(self, tool: str, args: Mapping[str, Any], now: datetime | None = None) -> list[ConditionRecord]:
        """Return the raised conditions that remove this very call as the record stands, or may.

        An argument it is limited to and the call leaves out is the tool's own default, which may be the one removed.
        """
        return [c for c in self.index.conditions_by_tool.get(tool, ()) if self.binds(c, now) and _in_scope(c, args)]

    def binds(self, condition: ConditionRecord, now: datetime | None = None) -> bool:
        """Return whether a raised condition still removes its actions.

        One that was left aside through its fallback does: the fallback is what may be done in their place. So does one
        that a receipt satisfied which has been made void by a later write, or whose time is over at `now`.
        """
        if condition.open or condition.lifted_how == "fallback":
            return True
        shown = condition.shown
        if shown is None:
            return False
        entity = condition.body.entity
        if len(entity) == 2 and self.void(EntityRef(entity[0], entity[1]), shown.observed_seq):
            return True
        return now is not None and condition.shown_until is not None and condition.shown_until <= now

    def refused_before(self, fingerprint: str) -> tuple[int, int]:
        """Return (times this very proposal was refused for these reasons, seq of the last time)."""
        return self.index.fingerprints.get(fingerprint, (0, 0))


def _in_scope(condition: ConditionRecord, args: Mapping[str, Any]) -> bool:
    for name, text in condition.body.scope:
        if args.get(name) is not None and not same(args[name], jsontext.loads(text)):
            return False
    return True
