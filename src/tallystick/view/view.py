"""The view: an incremental, in-memory read model folded from the events of one run. Gates see it, never the store.

Folding an event costs the same at the ten-thousandth event as at the tenth: everything a gate asks is an index look-up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from tallystick.contracts.types import Contract, Effect, Task, Tool
from tallystick.errors import InputError, TallystickError
from tallystick.model import jsontext
from tallystick.model.events import (
    Actor,
    Approval,
    Blob,
    Confirmation,
    Damage,
    DoubtSettled,
    Ended,
    Intent,
    Lifted,
    Obliged,
    OperationClosed,
    Raised,
    Receipt,
    Refusal,
    Said,
    SchemaChanged,
    Sealed,
    Settled,
    Started,
    Stated,
    StopDecided,
    Tenure,
    Wish,
)
from tallystick.model.pointer import MISSING, join, resolve, resolve_each
from tallystick.model.signing import is_signed_by
from tallystick.model.values import EntityRef, instant_of, same
from tallystick.view.keys import batch_items, effect_keys, effect_of, exclusion_values, id_text, targets_of
from tallystick.view.obligations import instances, matches
from tallystick.view.outcome import Judged, judge
from tallystick.view.records import (
    ApprovalRecord,
    CallRecord,
    ConditionRecord,
    EffectRecord,
    Fact,
    ObligationRecord,
    ReceiptRecord,
)

_NO_FACTS: Final[Mapping[str, Fact]] = {}


def _when(text: str) -> datetime | None:
    try:
        return instant_of(text) if text else None
    except ValueError:
        return None


class View:
    """What a run's record says now.

    Args:
        contract: the compiled contract the run is judged by.
        task: what the run owes; its obligations are instantiated at once.
        run: run id; approvals for other runs have no force.

    Attributes:
        upto: seq of the last folded event; `head` its digest.
        started: the run's first event, if folded.
        ended: the run's last event, once it has ended.
        epoch: newest fencing epoch seen.
    """

    def __init__(self, contract: Contract, task: Task | None = None, *, run: str = "") -> None:
        self.contract = contract
        self.task = task or Task()
        self.run = run
        self.upto = 0
        self.head = ""
        self.started: Started | None = None
        self.ended: Ended | None = None
        self.epoch = 0
        self.calls: dict[str, CallRecord] = {}
        self.receipts: list[ReceiptRecord] = []
        self.orphans: list[ReceiptRecord] = []
        self.said: list[tuple[int, Said]] = []
        self.stated: list[tuple[int, Stated]] = []
        self.damage: list[tuple[int, Damage]] = []
        self.refusals: list[tuple[int, Refusal]] = []
        self.stops: list[tuple[int, StopDecided]] = []
        self.wishes: list[tuple[int, Wish]] = []
        self.schema_changes: dict[str, tuple[int, SchemaChanged]] = {}
        self.approvals: list[ApprovalRecord] = []
        self.conditions: dict[str, ConditionRecord] = {}
        self.doubts: dict[str, CallRecord] = {}
        self.open_calls: dict[str, CallRecord] = {}
        self.obligations: dict[str, ObligationRecord] = {o.id: o for o in instances(contract, self.task)}
        self._receipt_by_id: dict[str, ReceiptRecord] = {}
        self._receipts_by_native: dict[str, list[ReceiptRecord]] = {}
        self._calls_by_native: dict[str, list[CallRecord]] = {}
        self._receipts_by_tool: dict[str, list[ReceiptRecord]] = {}
        self._facts: dict[EntityRef, dict[str, Fact]] = {}
        self._kinds: dict[str, dict[str, EntityRef]] = {}
        self._last_write: dict[EntityRef, int] = {}
        self._effects: dict[str, list[EffectRecord]] = {}
        self._effects_of_call: dict[str, list[EffectRecord]] = {}
        self._writes_by_tool: dict[str, list[EffectRecord]] = {}
        self._confirmed: dict[EntityRef, dict[str, tuple[int, Confirmation]]] = {}
        self._confirmed_kinds: dict[str, list[EntityRef]] = {}
        self._approval_by_id: dict[str, ApprovalRecord] = {}
        self._exclusive: dict[tuple[str, str], list[EffectRecord]] = {}
        self._approvals_by_call: dict[tuple[str, str], list[ApprovalRecord]] = {}
        self._approvals_by_tool: dict[str, list[ApprovalRecord]] = {}
        self._conditions_by_tool: dict[str, list[ConditionRecord]] = {}
        self._keys_seen: dict[tuple[str, str], CallRecord] = {}
        self._keys = {p.id: p for p in self.task.principals}
        self._fingerprints: dict[str, tuple[int, int]] = {}
        self.evidence_seq = 0

    # ------------------------------------------------------------------ folding

    def apply(self, sealed: Sealed) -> None:
        """Fold the next event.

        Raises:
            InputError: the event's body cannot be understood (its bytes are kept in the ledger all the same).
        """
        event = sealed.event
        self.upto = event.seq
        self.head = sealed.digest
        body = event.body
        handler = _HANDLERS.get(type(body))
        if handler is not None:
            handler(self, body, event.seq, sealed.digest, event.actor, event.at)

    def _started(self, body: Started, seq: int, digest: str, actor: Actor, at: str) -> None:
        self.started = body

    def _said(self, body: Said, seq: int, digest: str, actor: Actor, at: str) -> None:
        self.said.append((seq, body))

    def _stated(self, body: Stated, seq: int, digest: str, actor: Actor, at: str) -> None:
        self.stated.append((seq, body))
        self.evidence_seq = seq

    def _damage(self, body: Damage, seq: int, digest: str, actor: Actor, at: str) -> None:
        self.damage.append((seq, body))

    def _intent(self, body: Intent, seq: int, digest: str, actor: Actor, at: str) -> None:
        args = parse_args(body.args)
        tool = self.contract.tools.get(body.tool)
        effect: Effect = effect_of(tool, args) if tool is not None else "write"
        targets = targets_of(tool, args) if tool is not None else ()
        keys = tuple(body.effect_keys)
        if not keys and effect == "write" and tool is not None:
            keys = effect_keys(tool, args)
        record = CallRecord(
            id=body.call,
            seq=seq,
            digest=digest,
            tool=body.tool,
            args=args,
            args_text=body.raw_args.text if body.raw_args is not None else None,
            effect=effect,
            targets=targets,
            effect_keys=keys,
            native_id=body.native_id,
            turn=body.turn,
            wish=body.wish,
            idempotency_key=body.idempotency_key,
            at=_when(body.now or at),
        )
        self.calls[body.call] = record
        self.open_calls[body.call] = record
        if body.native_id is not None:
            self._calls_by_native.setdefault(body.native_id, []).append(record)
        if body.idempotency_key is not None:
            self._keys_seen.setdefault((body.tool, body.idempotency_key), record)
        for name in body.approvals:
            approval = self._approval_by_id.get(name)
            if approval is not None:
                approval.used_by = body.call
        if effect == "write":
            items = batch_items(tool, args) if tool is not None else None
            for i, key in enumerate(keys):
                effect_record = EffectRecord(key, body.tool, record, "in_flight", None, items[i] if items else None)
                self._effects.setdefault(key, []).append(effect_record)
                self._effects_of_call.setdefault(body.call, []).append(effect_record)
                self._writes_by_tool.setdefault(body.tool, []).append(effect_record)
            for name, value in exclusion_values(self.contract, body.tool, args):
                self._exclusive.setdefault((name, value), []).extend(self._effects_of_call.get(body.call, ()))
            # From the intent on, what was read about these entities before may no longer be so.
            for ref in targets:
                self._last_write[ref] = seq

    def _receipt(self, body: Receipt, seq: int, digest: str, actor: Actor, at: str) -> None:
        call = self.calls.get(body.call) if body.call is not None else None
        tool = self.contract.tools.get(call.tool) if call is not None else None
        value, text, problem = parse_result(body)
        observed_at = _when(body.observed_at or at)
        observed_seq = call.seq if call is not None else seq
        if body.cached_from is not None:
            original = self.receipt(body.cached_from)
            if original is not None:
                observed_seq, observed_at = original.observed_seq, original.observed_at
        if call is None:
            judged = Judged("unknown", "result.orphan", "", "the result answers no recorded call")
        elif problem is not None and not isinstance(value, str):
            judged = Judged("unknown" if call.effect == "write" else "no_effect", "result.unreadable", "", problem)
        else:
            judged = judge(
                tool,
                call.effect,
                call.args,
                value,
                flag=body.flag,
                text=text,
                transport_error=body.error,
                dry_run=body.dry_run,
                synthetic=body.synthetic,
                target_ids=tuple(t.id for t in call.targets),
            )
        record = ReceiptRecord(
            id=body.id,
            seq=seq,
            digest=digest,
            body=body,
            call=call,
            value=value,
            text=text,
            outcome=judged.outcome,
            code=judged.code,
            pointer=judged.pointer,
            observed_seq=observed_seq,
            observed_at=observed_at,
        )
        self.receipts.append(record)
        self._receipt_by_id[body.id] = record
        native = body.native_id if body.native_id is not None else (call.native_id if call is not None else None)
        if native is not None:
            self._receipts_by_native.setdefault(native, []).append(record)
        if call is None:
            self.orphans.append(record)
            return
        self._receipts_by_tool.setdefault(call.tool, []).append(record)
        call.receipts.append(record)
        self._conclude(call, record, tool)
        self.evidence_seq = seq
        if record.good and tool is not None:
            self._learn(tool, call, record)

    def _conclude(self, call: CallRecord, record: ReceiptRecord, tool: Tool | None) -> None:
        """Update where a call and its effects stand after a receipt. A success is never unmade by a later error."""
        self.open_calls.pop(call.id, None)
        if call.outcome in ("ok", "partial") and record.outcome not in ("ok", "partial"):
            return  # e.g. "already exists" after our own retry: the first success stands
        if call.settled_by is not None and record.outcome not in ("ok", "partial"):
            return
        call.outcome, call.why = record.outcome, record.code
        effects = self._effects_of_call.get(call.id, ())
        if call.effect != "write":
            self.doubts.pop(call.id, None)
            return
        per_item = _item_outcomes(tool, record) if tool is not None and tool.batch is not None else None
        for effect in effects:
            outcome = record.outcome
            if per_item is not None and outcome == "ok":
                outcome = per_item.get(effect.item or "", "unknown")
            effect.status = _STATUS[outcome]
            effect.receipt = record
            if record.body.cached_from is not None:
                effect.status = "no_effect"  # a repeated answer shows the first effect, not a second one
            if effect.status == "done":
                self._discharge(effect)
        statuses = {e.status for e in effects}
        if per_item is not None and len(statuses) > 1:
            call.outcome = "partial"
        call.in_doubt = bool(statuses & {"in_doubt", "pending"}) or (not effects and record.outcome == "unknown")
        if call.in_doubt:
            self.doubts[call.id] = call
        else:
            self.doubts.pop(call.id, None)

    def _learn(self, tool: Tool, call: CallRecord, record: ReceiptRecord) -> None:
        """Take facts from a good receipt, as the contract's yields say."""
        observed_seq = record.observed_seq if call.effect != "write" else record.seq
        for rule in tool.yields:
            kind = self.contract.entities.get(rule.kind)
            for pointer, item in resolve_each(record.value, rule.at):
                if rule.id_arg is not None:
                    stated: Any = call.args.get(rule.id_arg, MISSING)
                else:
                    stated = resolve(item, rule.id or ())
                text = id_text(stated)
                if text is None:
                    continue
                ref = EntityRef(rule.kind, text)
                seen = observed_seq
                if tool.lag_seconds and record.observed_at is not None and seen > self._last_write.get(ref, 0) > 0:
                    written = self._write_time(ref)
                    if written is not None and (record.observed_at - written).total_seconds() < tool.lag_seconds:
                        seen = self._last_write[ref] - 1  # the read may have missed the write
                known = self._facts.setdefault(ref, {})
                self._kinds.setdefault(rule.kind, {})[text] = ref
                for name, tokens in rule.fields.items():
                    raw = resolve(item, tokens)
                    if raw is MISSING:
                        continue
                    older = known.get(name)
                    if older is not None and older.observed_seq > seen:
                        continue
                    known[name] = self._fact(kind, name, raw, item, record, call, pointer + join(tokens), seen)

    def _fact(
        self,
        kind: Any,
        name: str,
        raw: Any,
        item: Any,
        record: ReceiptRecord,
        call: CallRecord,
        pointer: str,
        seen: int,
    ) -> Fact:
        declared = kind.fields.get(name) if kind is not None else None
        problem = None
        value = raw
        if declared is not None:
            unit = None
            if declared.unit_from is not None:
                stated = resolve(item, tuple(declared.unit_from.strip("/").split("/")))
                unit = stated if isinstance(stated, str) else None
            try:
                value = declared.parse(raw, unit=unit)
            except ValueError as bad:
                problem = str(bad)
        return Fact(value, record.seq, record.digest, record.id, call.tool, pointer, seen, record.observed_at, problem)

    def _write_time(self, ref: EntityRef) -> datetime | None:
        last = self._last_write.get(ref)
        for call in reversed(self.calls.values()):
            if call.seq == last:
                return call.at
            if last is not None and call.seq < last:
                break
        return None

    def _discharge(self, effect: EffectRecord) -> None:
        for obligation in self.obligations.values():
            if obligation.kind != "event" or obligation.discharged_by is not None or obligation.tool != effect.tool:
                continue
            if effect.call.wish and effect.call.wish in self.obligations and effect.call.wish != obligation.id:
                continue
            if matches(obligation, effect):
                obligation.discharged_by = effect
                return

    def _refusal(self, body: Refusal, seq: int, digest: str, actor: Actor, at: str) -> None:
        self.refusals.append((seq, body))
        if body.fingerprint:
            count = self._fingerprints.get(body.fingerprint, (0, 0))[0]
            self._fingerprints[body.fingerprint] = (count + 1, seq)

    def _confirmation(self, body: Confirmation, seq: int, digest: str, actor: Actor, at: str) -> None:
        if actor.role not in ("host", "user", "importer", "principal"):
            return  # an agent's word that the user agreed is a claim
        ref = EntityRef(body.entity_kind, body.entity_id)
        self._confirmed.setdefault(ref, {})[body.name] = (seq, body)
        self._confirmed_kinds.setdefault(body.entity_kind, []).append(ref)
        self.evidence_seq = seq

    def _approval(self, body: Approval, seq: int, digest: str, actor: Actor, at: str) -> None:
        problem = self._signature_problem(body, body.principal, actor)
        if not problem and body.run not in ("", self.run):
            problem = "it was given for another run"
        record = ApprovalRecord(seq, digest, body, not problem, problem, None, _when(body.expires))
        if body.expires and record.expires is None:
            record.trusted, record.problem = False, "its expiry is not an instant"
        self.approvals.append(record)
        self._approval_by_id.setdefault(body.id, record)
        self._approvals_by_call.setdefault((body.tool, body.args_sha256), []).append(record)
        self._approvals_by_tool.setdefault(body.tool, []).append(record)
        self.evidence_seq = seq

    def _signature_problem(self, body: Any, principal: str, actor: Actor) -> str:
        if actor.role == "importer":
            return ""  # a recorded approval: marked as imported, never made by a live run
        known = self._keys.get(principal)
        if known is None:
            return f"`{principal}` is not a principal of this run"
        if not is_signed_by(body, self.run, known.public_key):
            return f"the signature is not by `{principal}`"
        return ""

    def _raised(self, body: Raised, seq: int, digest: str, actor: Actor, at: str) -> None:
        record = ConditionRecord(seq, digest, body)
        self.conditions[body.id] = record
        for name in body.removes:
            self._conditions_by_tool.setdefault(name, []).append(record)

    def _lifted(self, body: Lifted, seq: int, digest: str, actor: Actor, at: str) -> None:
        record = self.conditions.get(body.id)
        if record is None:
            return
        if body.how in ("resolved", "withdrawn") and not body.evidence:
            # Only its authority lifts a condition; evidence lifts it through the contract's `until`.
            if self._signature_problem(body, body.by, actor):
                return
            principal = self._keys.get(body.by)
            authority = record.body.authority
            if actor.role != "importer" and principal is not None and authority not in (principal.role, principal.id):
                return
        record.open = False
        record.lifted_how = body.how
        self.evidence_seq = seq

    def _operation(self, body: OperationClosed, seq: int, digest: str, actor: Actor, at: str) -> None:
        for record in self.conditions.values():
            if record.open and record.body.operation == body.operation:
                record.open, record.lifted_how = False, "operation_closed"

    def _obliged(self, body: Obliged, seq: int, digest: str, actor: Actor, at: str) -> None:
        entity = EntityRef(body.entity[0], body.entity[1]) if len(body.entity) == 2 else None
        args = {name: jsontext.loads(text) for name, text in body.args}
        self.obligations.setdefault(
            body.id,
            ObligationRecord(body.id, None, "event", body.tool, entity, args, None, body.text, seq),
        )

    def _settled(self, body: Settled, seq: int, digest: str, actor: Actor, at: str) -> None:
        record = self.obligations.get(body.id)
        if record is None:
            return
        if body.how == "waived" and self._signature_problem(body, body.by, actor):
            return  # an unsigned waiver has no force
        if body.how == "impossible" and not any(self.receipt(r) is not None for r in body.evidence):
            return
        record.settled, record.settled_digest = body.how, digest
        self.evidence_seq = seq

    def _wish(self, body: Wish, seq: int, digest: str, actor: Actor, at: str) -> None:
        if actor.role in ("host", "user", "principal", "importer"):
            self.wishes.append((seq, body))

    def _doubt_settled(self, body: DoubtSettled, seq: int, digest: str, actor: Actor, at: str) -> None:
        call = self.calls.get(body.call)
        if call is None or (call.id not in self.doubts and call.id not in self.open_calls):
            return
        evidence = next((r for r in map(self.receipt, body.evidence) if r is not None), None)
        if body.by == "query" and evidence is None:
            return
        if body.by == "principal" and self._signature_problem(body, body.principal, actor):
            return
        call.settled_by, call.in_doubt, call.outcome = digest, False, body.outcome
        call.why = f"settled.{body.by}"
        self.doubts.pop(call.id, None)
        self.open_calls.pop(call.id, None)
        for effect in self._effects_of_call.get(call.id, ()):
            if effect.status in ("in_doubt", "pending", "in_flight"):
                effect.status = "done" if body.outcome == "ok" else "no_effect"
                effect.receipt = effect.receipt if effect.receipt is not None and evidence is None else evidence
                if effect.status == "done":
                    self._discharge(effect)
        self.evidence_seq = seq

    def _schema(self, body: SchemaChanged, seq: int, digest: str, actor: Actor, at: str) -> None:
        self.schema_changes[body.tool] = (seq, body)

    def _stop(self, body: StopDecided, seq: int, digest: str, actor: Actor, at: str) -> None:
        self.stops.append((seq, body))

    def _tenure(self, body: Tenure, seq: int, digest: str, actor: Actor, at: str) -> None:
        if body.epoch <= self.epoch and self.epoch:
            return
        self.epoch = body.epoch
        # Whoever wrote these intents is gone: nobody knows whether their calls ran.
        for call in list(self.open_calls.values()):
            self.open_calls.pop(call.id)
            call.why = "crash"
            if call.effect == "write":
                call.outcome, call.in_doubt = "unknown", True
                self.doubts[call.id] = call
                for effect in self._effects_of_call.get(call.id, ()):
                    effect.status = "in_doubt"
            else:
                call.outcome = "no_effect"

    def _ended(self, body: Ended, seq: int, digest: str, actor: Actor, at: str) -> None:
        self.ended = body

    # ------------------------------------------------------------------ questions

    def receipt(self, ref: str) -> ReceiptRecord | None:
        """Return the receipt named by its minted id, by a native call id, or by `native#n` for the n-th occurrence."""
        found = self._receipt_by_id.get(ref)
        if found is not None:
            return found
        several = self._receipts_by_native.get(ref)
        if several is not None:
            return several[-1]
        name, mark, ordinal = ref.rpartition("#")
        if mark and ordinal.isdigit():
            several = self._receipts_by_native.get(name, [])
            index = int(ordinal) - 1
            return several[index] if 0 <= index < len(several) else None
        return None

    def calls_named(self, native_id: str) -> tuple[CallRecord, ...]:
        """Return every call that carried this native id."""
        return tuple(self._calls_by_native.get(native_id, ()))

    def receipts_of(self, tool: str) -> tuple[ReceiptRecord, ...] | list[ReceiptRecord]:
        """Return the receipts of calls to `tool`, oldest first."""
        return self._receipts_by_tool.get(tool, ())

    def facts(self, ref: EntityRef) -> Mapping[str, Fact]:
        """Return field → newest fact about an entity."""
        return self._facts.get(ref, _NO_FACTS)

    def known(self, ref: EntityRef) -> bool:
        """Return whether any receipt has established that this very entity exists."""
        return ref in self._facts

    def entities(self, kind: str) -> Iterator[EntityRef]:
        """Return every entity of a kind that receipts have established."""
        return iter(self._kinds.get(kind, {}).values())

    def last_write(self, ref: EntityRef) -> int:
        """Return the seq of the last write intent that addressed an entity; 0 for none."""
        return self._last_write.get(ref, 0)

    def effects(self, key: str) -> list[EffectRecord] | tuple[EffectRecord, ...]:
        """Return every attempt at an effect, oldest first."""
        return self._effects.get(key, ())

    def effects_of_call(self, call: str) -> list[EffectRecord] | tuple[EffectRecord, ...]:
        """Return the effects one call realised or attempted."""
        return self._effects_of_call.get(call, ())

    def writes(self, tool: str) -> list[EffectRecord] | tuple[EffectRecord, ...]:
        """Return every attempt at a write by `tool`, oldest first."""
        return self._writes_by_tool.get(tool, ())

    def any_effect(self) -> bool:
        """Return whether at least one effect has been realised."""
        return any(e.status in ("done", "partial") for group in self._effects.values() for e in group)

    def exclusive(self, exclusion: str, value: str) -> list[EffectRecord] | tuple[EffectRecord, ...]:
        """Return the effects attempted under one exclusion for one value of its `per` expression."""
        return self._exclusive.get((exclusion, value), ())

    def key_user(self, tool: str, key: str) -> CallRecord | None:
        """Return the first call of `tool` that carried idempotency key `key`."""
        return self._keys_seen.get((tool, key))

    def approvals_for(self, tool: str, args_sha256: str) -> list[ApprovalRecord] | tuple[ApprovalRecord, ...]:
        """Return the approvals and denials given for exactly this call, oldest first."""
        return self._approvals_by_call.get((tool, args_sha256), ())

    def approvals_of(self, tool: str) -> list[ApprovalRecord] | tuple[ApprovalRecord, ...]:
        """Return the approvals and denials given for any call of `tool`, oldest first."""
        return self._approvals_by_tool.get(tool, ())

    def role_of(self, principal: str) -> str | None:
        """Return a principal's role."""
        known = self._keys.get(principal)
        return known.role if known is not None else None

    def confirmed(self, ref: EntityRef, name: str = "") -> tuple[int, Confirmation] | None:
        """Return the host's event that the user chose this entity (or confirmed its field `name`)."""
        return self._confirmed.get(ref, {}).get(name)

    def confirmed_of(self, kind: str) -> list[EntityRef] | tuple[EntityRef, ...]:
        """Return the entities of `kind` the user chose, oldest first."""
        return self._confirmed_kinds.get(kind, ())

    def conditions_on(self, tool: str, args: Mapping[str, Any]) -> list[ConditionRecord]:
        """Return the open raised conditions that remove this very call."""
        return [c for c in self._conditions_by_tool.get(tool, ()) if c.open and _in_scope(c, args)]

    def refused_before(self, fingerprint: str) -> tuple[int, int]:
        """Return (times this very proposal was refused for these reasons, seq of the last time)."""
        return self._fingerprints.get(fingerprint, (0, 0))


def _in_scope(condition: ConditionRecord, args: Mapping[str, Any]) -> bool:
    for name, text in condition.body.scope:
        if name not in args or not same(args[name], jsontext.loads(text)):
            return False
    return True


def _item_outcomes(tool: Tool, record: ReceiptRecord) -> dict[str, Any]:
    """Return item id → outcome of a batch receipt; an item missing from the answer is unknown."""
    batch = tool.batch
    assert batch is not None
    if not batch.results:
        return {}
    found: dict[str, Any] = {}
    tokens = batch.results if "*" in batch.results else (*batch.results, "*")
    for _, answer in resolve_each(record.value, tokens):
        stated = resolve(answer, batch.result_key) if batch.result_key else answer
        text = id_text(stated) if stated is not MISSING else None
        if text is None:
            continue
        if batch.ok is not None:
            try:
                good = batch.ok.evaluate({"item": answer, "args": record.call.args if record.call else {}}) is True
            except TallystickError:
                good = False
            found[text] = "ok" if good else "no_effect"
        else:
            found[text] = judge(None, "write", {}, answer).outcome
            if found[text] == "unknown" and isinstance(answer, Mapping) and answer.get("ok") is False:
                found[text] = "no_effect"  # the tool answers per item that this one was not done
    return found


_STATUS: Final[Mapping[str, Any]] = {
    "ok": "done",
    "no_effect": "no_effect",
    "not_started": "no_effect",
    "unknown": "in_doubt",
    "in_flight": "pending",
    "partial": "partial",
    "simulated": "simulated",
}


def parse_args(blob: Blob) -> Mapping[str, Any]:
    """Return the arguments a blob holds; `{}` with nothing in it where they are not a JSON object."""
    try:
        value = jsontext.loads(blob.raw)
    except InputError:
        return {}
    return value if isinstance(value, Mapping) else {}


def parse_result(body: Receipt) -> tuple[Any, str | None, str | None]:
    """Return (value, text, problem): structured channel first, else the parsed body, else the text itself."""
    text = body.result.text if body.result is not None else None
    source = body.structured if body.structured is not None else body.result
    if source is None:
        return None, text, None
    if source.text is None:
        return None, None, "the result is not UTF-8 text"
    try:
        return jsontext.loads(source.text), text, None
    except InputError as bad:
        if body.structured is not None:
            return None, text, str(bad)
        return source.text, text, str(bad)


_HANDLERS: Final[Mapping[type, Any]] = {
    Started: View._started,
    Said: View._said,
    Stated: View._stated,
    Damage: View._damage,
    Intent: View._intent,
    Receipt: View._receipt,
    Refusal: View._refusal,
    Confirmation: View._confirmation,
    Approval: View._approval,
    Raised: View._raised,
    Lifted: View._lifted,
    OperationClosed: View._operation,
    Obliged: View._obliged,
    Settled: View._settled,
    Wish: View._wish,
    DoubtSettled: View._doubt_settled,
    SchemaChanged: View._schema,
    StopDecided: View._stop,
    Tenure: View._tenure,
    Ended: View._ended,
}
