"""Folding intents and receipts: calls, outcomes, effects, facts, doubt."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from tallystick.contracts.types import Effect, EntityType, Tool
from tallystick.errors import TallystickError
from tallystick.model.events import DoubtSettled, Intent, Outcome, Receipt, Sealed, Tenure
from tallystick.model.pointer import MISSING, join, resolve, resolve_each, split
from tallystick.model.values import EntityRef, same
from tallystick.view.fold_authority import signature_problem
from tallystick.view.keys import (
    batch_items,
    effect_keys,
    effect_of,
    exclusion_values,
    id_text,
    idempotency_key,
    question_of,
    targets_of,
)
from tallystick.view.obligations import matches
from tallystick.view.outcome import Judged, judge
from tallystick.view.parse import parse_args, parse_result
from tallystick.view.records import CallRecord, EffectRecord, EffectStatus, Fact, ReceiptRecord
from tallystick.view.state import State, when

STATUS: Final[Mapping[Outcome, EffectStatus]] = {
    "ok": "done",
    "no_effect": "no_effect",
    "not_started": "no_effect",
    "unknown": "in_doubt",
    "in_flight": "pending",
    "partial": "partial",
    "simulated": "simulated",
}


UNSETTLED: Final[tuple[EffectStatus, ...]] = ("in_doubt", "pending", "partial")
"""Where an effect stands when nobody can vouch for all of it."""


def intent(state: State, body: Intent, sealed: Sealed) -> None:
    """Fold "this call is about to happen"."""
    known = state.known_json
    args = known[1] if known is not None and known[0] is body.args else parse_args(body.args)
    tool = state.contract.tools.get(body.tool)
    effect: Effect = effect_of(tool, args) if tool is not None else "write"
    targets = targets_of(tool, args) if tool is not None else ()
    keys = tuple(body.effect_keys)
    if not keys and effect == "write" and tool is not None:
        keys = effect_keys(tool, args)
    key = idempotency_key(tool, body.idempotency_key, args)
    record = CallRecord(
        id=body.call,
        seq=sealed.event.seq,
        digest=sealed.digest,
        tool=body.tool,
        args=args,
        args_text=body.raw_args.text if body.raw_args is not None else None,
        effect=effect,
        targets=targets,
        effect_keys=keys,
        native_id=body.native_id,
        turn=body.turn,
        wish=body.wish,
        idempotency_key=key,
        at=when(body.now or sealed.event.at),
    )
    state.calls[body.call] = record
    state.open_calls[body.call] = record
    if body.native_id is not None:
        state.index.calls_by_native.setdefault(body.native_id, []).append(record)
    if key is not None and effect == "write":
        state.index.keys_seen.setdefault((body.tool, key), record)
    for name in body.approvals:
        approval = state.index.approval_by_id.get(name)
        if approval is not None:
            approval.used_by = body.call
    if effect == "write":
        items = batch_items(tool, args) if tool is not None else None
        for i, key in enumerate(keys):
            effect_record = EffectRecord(key, body.tool, record, "in_flight", None, items[i] if items else None)
            state.index.effects.setdefault(key, []).append(effect_record)
            state.index.effects_of_call.setdefault(body.call, []).append(effect_record)
            state.index.writes_by_tool.setdefault(body.tool, []).append(effect_record)
        for name, value in exclusion_values(state.contract, body.tool, args):
            state.index.exclusive.setdefault((name, value), []).extend(state.index.effects_of_call.get(body.call, ()))
        # From the intent on, what was read about these entities before may no longer be so.
        for ref in targets:
            state.index.last_write[ref] = sealed.event.seq
            state.index.write_at[ref] = record.at
            state.index.writes_open.setdefault(ref, {})[body.call] = sealed.event.seq


def reading(state: State, call: CallRecord, tool: Tool | None, body: Receipt) -> tuple[Any, str | None, Judged]:
    """Return (value, text, what came of the call) as a receipt's body tells it.

    The runtime asks before it appends a receipt and the fold asks right after, about the same bytes; the last answer is
    remembered, so that they are parsed and judged once.
    """
    about = (body.flag, body.error, body.dry_run, body.synthetic)
    last = state.last_reading
    if (last is not None and last[0] is call and last[1] is body.result and last[2] is body.structured
            and last[3] == about):  # fmt: skip
        return last[4]
    known = state.known_json
    if known is not None and known[0] is body.result and body.structured is None:
        value, text, problem = known[1], known[0].text, None
    else:
        value, text, problem = parse_result(body)
    if problem is not None and not isinstance(value, str):
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
    state.last_reading = (call, body.result, body.structured, about, (value, text, judged))
    return value, text, judged


def receipt(state: State, body: Receipt, sealed: Sealed) -> None:
    """Fold what came back for a call, judged at every level."""
    if sealed.event.actor.role not in ("executor", "runtime", "importer"):
        return  # only what executed a call can say what came of it
    call = state.calls.get(body.call) if body.call is not None else None
    tool = state.contract.tools.get(call.tool) if call is not None else None
    observed_at = when(body.observed_at or sealed.event.at)
    observed_seq = call.seq if call is not None else sealed.event.seq
    proves = body.source != "replica" and not body.synthetic
    if body.cached_from is not None:
        original = state.receipt(body.cached_from)
        if original is not None:
            observed_seq, observed_at, proves = original.observed_seq, original.observed_at, proves and original.good
        else:
            observed_seq, observed_at = 0, when(body.observed_at)  # before anything this record knows
    if call is None:
        value, text, _ = parse_result(body)
        judged = Judged("unknown", "result.orphan", "", "the result answers no recorded call")
    else:
        value, text, judged = reading(state, call, tool, body)
        if body.outcome == "not_started" and sealed.event.actor.role == "runtime":
            # Only the runtime that would have dispatched the call knows that it never did.
            judged = Judged("not_started", "result.not_started", "", "the runtime never dispatched the call")
    record = ReceiptRecord(
        id=body.id,
        seq=sealed.event.seq,
        digest=sealed.digest,
        body=body,
        call=call,
        value=value,
        text=text,
        outcome=judged.outcome,
        code=judged.code,
        pointer=judged.pointer,
        observed_seq=observed_seq,
        observed_at=observed_at,
        proves=proves,
    )
    state.receipts.append(record)
    state.index.receipt_by_id[body.id] = record
    native = body.native_id if body.native_id is not None else (call.native_id if call is not None else None)
    if native is not None:
        state.index.receipts_by_native.setdefault(native, []).append(record)
    if call is None:
        state.orphans.append(record)
        return
    state.index.receipts_by_tool.setdefault(call.tool, []).append(record)
    call.receipts.append(record)
    conclude(state, call, record, tool)
    state.evidence_seq = sealed.event.seq
    for ref in call.targets:
        _about(state, call.tool, ref, record)
    if tool is None:
        return
    if tool.complete is not None:
        question, page = question_of(tool.complete, call.args)
        asked = state.index.pages.setdefault(call.tool, {}).setdefault(question, {})
        asked.setdefault(page, []).append(record)
    if record.good:
        learn(state, tool, call, record)
        return
    for rule in tool.yields:  # nothing is learnt from it, and it is about what it speaks of all the same
        for _, item in resolve_each(record.value, rule.at):
            text = id_text(call.args.get(rule.id_arg) if rule.id_arg is not None else resolve(item, rule.id or ()))
            if text is not None:
                _about(state, call.tool, EntityRef(rule.kind, text), record)


def _about(state: State, tool: str, ref: EntityRef, record: ReceiptRecord) -> None:
    known = state.index.receipts_about.setdefault((tool, ref), [])
    if not known or known[-1] is not record:
        known.append(record)


def conclude(state: State, call: CallRecord, record: ReceiptRecord, tool: Tool | None) -> None:
    """Update where a call and its effects stand after a receipt. A success is never unmade by a later error."""
    repeats = state.receipt(record.body.cached_from) if record.body.cached_from is not None else None
    if call.effect == "write":
        if record.body.source == "replica" or (repeats is not None and repeats.call is call):
            return  # a replica's answer says nothing about the live call, and its own answer again nothing new
        _at_rest(state, call, record.seq)
    state.open_calls.pop(call.id, None)
    effects = state.index.effects_of_call.get(call.id, ())
    # What counts is an effect of its own: a repeated answer, or a batch with every item refused, was no success.
    succeeded = any(e.status in ("done", "partial") for e in effects) or (not effects and call.outcome == "ok")
    if succeeded and record.outcome not in ("ok", "partial"):
        return  # e.g. "already exists" after our own retry: the first success stands
    if call.settled_by is not None and record.outcome not in ("ok", "partial"):
        return
    call.outcome, call.why = record.outcome, record.code
    if call.effect != "write":
        state.doubts.pop(call.id, None)
        return
    per_item = item_outcomes(tool, record) if tool is not None and tool.batch is not None else None
    for effect in effects:
        outcome = record.outcome
        if per_item is not None and outcome == "ok":
            outcome = per_item.get(effect.item or "", "unknown")
        if effect.status == "done":
            continue  # neither a repeated answer nor one that leaves this item out unmakes it
        if call.settled_by is not None and effect.status == "no_effect" and outcome not in ("ok", "partial"):
            continue
        effect.status = STATUS[outcome]
        effect.receipt = record
        if record.body.cached_from is not None:
            effect.status = "no_effect"  # a repeated answer shows the first effect, not a second one
        if effect.status == "done":
            _done(state, effect, tool, record.digest)
    statuses = {e.status for e in effects}
    if per_item is not None and len(statuses) > 1:
        call.outcome = "partial"
    call.in_doubt = bool(statuses & set(UNSETTLED)) or (not effects and record.outcome == "unknown")
    if call.in_doubt:
        state.doubts[call.id] = call
    else:
        state.doubts.pop(call.id, None)


def learn(state: State, tool: Tool, call: CallRecord, record: ReceiptRecord) -> None:
    """Take facts from a good receipt, as the contract's yields say."""
    # A write's own answer speaks of the state after it, unless it only repeats an earlier answer.
    own = call.effect == "write" and record.body.cached_from is None
    observed_seq = record.seq if own else record.observed_seq
    for rule in tool.yields:
        kind = state.contract.entities.get(rule.kind)
        for pointer, item in resolve_each(record.value, rule.at):
            if rule.id_arg is not None:
                stated: Any = call.args.get(rule.id_arg, MISSING)
            else:
                stated = resolve(item, rule.id or ())
            text = id_text(stated)
            if text is None:
                continue
            ref = EntityRef(rule.kind, text)
            _about(state, call.tool, ref, record)
            seen = observed_seq
            if not own and seen < state.index.write_over.get(ref, 0):
                seen = min(seen, state.index.last_write[ref] - 1)  # the write was still under way
            for began in state.index.writes_open.get(ref, {}).values():
                seen = min(seen, began - 1)  # it still is
            if tool.lag_seconds and record.observed_at is not None and seen > state.index.last_write.get(ref, 0) > 0:
                written = write_time(state, ref)
                if written is not None and (record.observed_at - written).total_seconds() < tool.lag_seconds:
                    seen = state.index.last_write[ref] - 1  # the read may have missed the write
            known = state.index.facts.setdefault(ref, {})
            state.index.kinds.setdefault(rule.kind, {})[text] = ref
            for name, tokens in rule.fields.items():
                raw = resolve(item, tokens)
                if raw is MISSING:
                    continue
                older = known.get(name)
                if older is not None and older.observed_seq > seen:
                    continue
                known[name] = fact_of(kind, name, raw, item, record, call, pointer + join(tokens), seen)


def fact_of(
    kind: EntityType | None,
    name: str,
    raw: Any,
    item: Any,
    record: ReceiptRecord,
    call: CallRecord,
    pointer: str,
    seen: int,
) -> Fact:
    """Return the fact a record states for one field, under its declared type."""
    declared = kind.fields.get(name) if kind is not None else None
    problem = None
    value = raw
    if declared is not None:
        unit = None
        if declared.unit_from is not None:
            stated = resolve(item, split(declared.unit_from))
            unit = stated if isinstance(stated, str) else None
        try:
            value = declared.parse(raw, unit=unit)
        except ValueError as bad:
            problem = str(bad)
    return Fact(value, record.seq, record.digest, record.id, call.tool, pointer, seen, record.observed_at, problem)


def write_time(state: State, ref: EntityRef) -> datetime | None:
    """Return when the last write to an entity was made."""
    return state.index.write_at.get(ref)


def _at_rest(state: State, call: CallRecord, seq: int) -> None:
    """Void what was read of a write's entities while it was under way: such a read may have come before the change."""
    call.rest_seq = seq
    for ref in call.targets:
        state.index.write_over[ref] = seq
        state.index.writes_open.get(ref, {}).pop(call.id, None)
        facts = state.index.facts.get(ref, {})
        for name, fact in facts.items():
            if call.seq < fact.observed_seq < seq and fact.seq < seq:
                facts[name] = msgspec.structs.replace(fact, observed_seq=call.seq - 1)


def _done(state: State, effect: EffectRecord, tool: Tool | None, digest: str) -> None:
    """Record that an effect is realised: what it discharges, and which doubts it ends.

    Attempts under one idempotency key are one effect where the tool deduplicates: the doubt about the others is over.
    """
    discharge(state, effect)
    key = effect.call.idempotency_key
    if tool is None or not tool.dedupes_by_key or key is None:
        return
    for other in state.index.effects.get(effect.key, ()):
        call = other.call
        if call is effect.call or call.idempotency_key != key or other.status not in UNSETTLED:
            continue
        if same(call.args, effect.call.args):
            other.status, other.receipt = "no_effect", effect.receipt
            if not any(e.status in UNSETTLED for e in state.index.effects_of_call.get(call.id, ())):
                call.settled_by, call.in_doubt, call.outcome, call.why = digest, False, "no_effect", "settled.retry"
                state.doubts.pop(call.id, None)


def discharge(state: State, effect: EffectRecord) -> None:
    """Let a done effect discharge the first obligation instance it matches; one effect discharges one."""
    if any(o.discharged_by is effect for o in state.obligations.values()):
        return  # a second receipt of one call shows no second effect
    for obligation in state.obligations.values():
        if obligation.kind != "event" or obligation.discharged_by is not None or obligation.tool != effect.tool:
            continue
        if effect.call.wish and effect.call.wish in state.obligations and effect.call.wish != obligation.id:
            continue
        if matches(obligation, effect):
            obligation.discharged_by = effect
            return


def doubt_settled(state: State, body: DoubtSettled, sealed: Sealed) -> None:
    """Fold what a call in doubt turned out to be."""
    call = state.calls.get(body.call)
    if call is None or (call.id not in state.doubts and call.id not in state.open_calls):
        return
    evidence = next((r for r in map(state.receipt, body.evidence) if r is not None), None)
    if body.by == "query" and (evidence is None or not evidence.good or evidence.observed_seq <= call.seq):
        return  # what was observed before the call, or by the call itself, cannot tell
    if body.by == "principal" and signature_problem(state, body, body.principal, sealed.event.actor):
        return
    if call.effect == "write" and call.id in state.open_calls:
        _at_rest(state, call, sealed.event.seq)
    call.settled_by, call.in_doubt, call.outcome = sealed.digest, False, body.outcome
    call.why = f"settled.{body.by}"
    state.doubts.pop(call.id, None)
    state.open_calls.pop(call.id, None)
    for effect in state.index.effects_of_call.get(call.id, ()):
        if effect.status in UNSETTLED or effect.status == "in_flight":
            effect.status = "done" if body.outcome == "ok" else "no_effect"
            effect.receipt = effect.receipt if effect.receipt is not None and evidence is None else evidence
            if effect.status == "done":
                _done(state, effect, state.contract.tools.get(call.tool), sealed.digest)
    state.evidence_seq = sealed.event.seq


def tenure(state: State, body: Tenure, sealed: Sealed) -> None:
    """Fold a new writer: whatever was open is in doubt now."""
    if body.epoch <= state.epoch and state.epoch:
        return
    state.epoch = body.epoch
    # Whoever wrote these intents is gone: nobody knows whether their calls ran.
    for call in list(state.open_calls.values()):
        state.open_calls.pop(call.id)
        call.why = "crash"
        if call.effect == "write":
            call.outcome, call.in_doubt = "unknown", True
            state.doubts[call.id] = call
            _at_rest(state, call, sealed.event.seq)
            for effect in state.index.effects_of_call.get(call.id, ()):
                effect.status = "in_doubt"
        else:
            call.outcome = "no_effect"


def item_outcomes(tool: Tool, record: ReceiptRecord) -> dict[str, Any]:
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
