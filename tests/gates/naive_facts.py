"""What is known of entities, and who may say what (the slow way; see `naive_view`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tallystick.model.events import (
    Approval,
    DoubtSettled,
    Intent,
    Lifted,
    OperationClosed,
    Raised,
    Receipt,
    Sealed,
    Tenure,
)
from tallystick.model.values import EntityRef, same
from tests.gates.naive_effects import tells
from tests.gates.naive_view import (
    FOREVER,
    MISSING,
    Record,
    addressed,
    args_of,
    as_id,
    dated,
    dig,
    dig_each,
    effect_class,
    good,
    instant,
    intent_of,
    loads,
    receipts,
    repeated,
    trusted,
    value_of,
)


@dataclass(frozen=True)
class Known:
    value: Any
    seq: int
    seen: int
    at: datetime | None
    problem: bool
    fields: frozenset[str] = frozenset()


def writes_to(record: Record, ref: EntityRef, before: int | None = None) -> list[tuple[int, Intent]]:
    found = []
    for seq, body, _ in record.each(Intent):
        tool = record.contract.tools.get(body.tool)
        written = (before is None or seq < before) and effect_class(tool, args_of(body)) == "write"
        if written and ref in addressed(tool, args_of(body)):
            found.append((seq, body))
    return found


def void(record: Record, ref: EntityRef, seen: int) -> bool:
    """What was observed before a write to the entity, or while one was under way, is void."""
    return any(seen < began or began <= seen < rest_of(record, began, w) for began, w in writes_to(record, ref))


def last_write(record: Record, ref: EntityRef) -> int:
    return max((seq for seq, _ in writes_to(record, ref)), default=0)


def rest_of(record: Record, seq: int, body: Intent) -> int:
    """Until where a write was under way: the last event that told what came of it; for ever if none has."""
    rest = 0
    epoch = 0
    open_ = True
    for sealed in record.events:
        what, at = sealed.event.body, sealed.event.seq
        if isinstance(what, Tenure) and sealed.event.actor.role != "agent" and (what.epoch > epoch or epoch == 0):
            epoch = what.epoch
            if open_ and at > seq:
                rest, open_ = at, False
        settles = isinstance(what, DoubtSettled) and what.call == body.call and at > seq and open_
        if settles and _has_force(record, at, what, sealed):
            rest, open_ = at, False
        if isinstance(what, Receipt) and what.call == body.call and at > seq:
            if sealed.event.actor.role not in ("executor", "runtime", "importer") or what.source == "replica":
                continue
            original = repeated(record, at, what)
            if original is None or original[1].call != body.call:
                rest, open_ = at, False
    return FOREVER if open_ else rest


def _has_force(record: Record, seq: int, body: DoubtSettled, sealed: Sealed) -> bool:
    if sealed.event.actor.role == "agent":
        return False
    if body.by == "principal":
        return trusted(record, body, body.principal, sealed)
    found = [next((r for r in receipts(record, seq) if r[1].id == n), None) for n in body.evidence]
    first = next((r for r in found if r is not None), None)
    return tells(record, body, first)


def shown(record: Record) -> Iterator[tuple[EntityRef, int, Receipt, Mapping[str, Any], int, datetime | None]]:
    """Yield (entity, seq, receipt, raw fields, seen, at) for every entity a good receipt shows, in order."""
    for seq, body, sealed in receipts(record):
        if not good(record, seq, body, sealed):
            continue
        found = intent_of(record, body.call)
        assert found is not None
        tool = record.contract.tools.get(found[1].tool)
        args = args_of(found[1])
        seen, at = dated(record, seq, body, sealed)
        if effect_class(tool, args) == "write" and body.cached_from is None:
            seen = seq  # its own answer speaks of the state after it
        for rule in tool.yields if tool is not None else ():
            for item in dig_each(value_of(body), rule.at):
                name = as_id(args.get(rule.id_arg, MISSING) if rule.id_arg is not None else dig(item, rule.id or ()))
                if name is None:
                    continue
                raw = {f: dig(item, tokens) for f, tokens in rule.fields.items()}
                yield (
                    EntityRef(rule.kind, name),
                    seq,
                    body,
                    {f: v for f, v in raw.items() if v is not MISSING},
                    seen,
                    at,
                )


def _truly_seen(record: Record, ref: EntityRef, seq: int, body: Receipt, seen: int, at: datetime | None) -> int:
    """A read made while a write was under way, or too soon after it for a tool that lags, may not show the write."""
    for began, write in writes_to(record, ref):
        if began <= seen < rest_of(record, began, write):
            seen = began - 1
    found = intent_of(record, body.call)
    tool = record.contract.tools.get(found[1].tool) if found is not None else None
    before = writes_to(record, ref, seq)
    if tool is not None and tool.lag_seconds and at is not None and before and seen > before[-1][0]:
        made = instant(before[-1][1].now) or _time_of(record, before[-1][0])
        if made is not None and (at - made).total_seconds() < tool.lag_seconds:
            return before[-1][0] - 1
    return seen


def _time_of(record: Record, seq: int) -> datetime | None:
    return next((instant(s.event.at) for s in record.events if s.event.seq == seq), None)


def all_shown(record: Record) -> list[Any]:
    if not record.shown:
        record.shown.extend(shown(record))
    return record.shown


def exists(record: Record, ref: EntityRef) -> bool:
    return any(found[0] == ref for found in all_shown(record))


def of_kind(record: Record, kind: str) -> list[EntityRef]:
    return list(dict.fromkeys(found[0] for found in all_shown(record) if found[0].kind == kind))


def fact(record: Record, ref: EntityRef, name: str) -> Known | None:
    """The newest fact, by when it was observed; of two observed together, the one that came later."""
    best: Known | None = None
    for entity, seq, body, raw, seen, at in all_shown(record):
        if entity != ref or name not in raw:
            continue
        kind = record.contract.entities[ref.kind].fields.get(name)
        value, problem = raw[name], False
        if kind is not None:
            try:
                value = kind.parse(value)
            except ValueError:
                problem = True
        known = Known(value, seq, _truly_seen(record, ref, seq, body, seen, at), at, problem)
        if best is None or known.seen >= best.seen:
            best = known
    return best


# ---------------------------------------------------------------- authority


def approvals(record: Record, tool: str) -> Iterator[tuple[Approval, bool, str | None]]:
    """Yield (approval, whether it has force, the call that used it up) in order."""
    forceful: set[str] = set()
    for seq, body, sealed in record.each(Approval):
        force = trusted(record, body, body.principal, sealed) and body.run in ("", record.run)
        force = force and body.id not in forceful
        if body.expires and instant(body.expires) is None:
            force = False
        if force:
            forceful.add(body.id)
        used = [i.call for at, i, _ in record.each(Intent) if at > seq and body.id in i.approvals]
        if body.tool == tool:
            yield body, force, (used[-1] if used and force else None)


def open_conditions(record: Record, tool: str, args: Mapping[str, Any]) -> list[Raised]:
    """The conditions raised in this run that remove this tool for these arguments and still hold."""
    found = []
    for seq, body, _ in record.each(Raised):
        if tool not in body.removes or any(
            args.get(n) is not None and not same(args[n], loads(v)) for n, v in body.scope
        ):
            continue
        if not any(
            at > seq and _ends(record, body, end, sealed) for at, end, sealed in record.each(Lifted, OperationClosed)
        ):
            found.append(body)
    return found


def _ends(record: Record, condition: Raised, end: Lifted | OperationClosed, sealed: Sealed) -> bool:
    if isinstance(end, OperationClosed):
        return condition.operation == end.operation
    if end.id != condition.id:
        return False
    if end.how == "fallback":
        return False  # left aside: what may be done in its place leaves its actions removed
    if end.how not in ("resolved", "withdrawn"):
        return True
    who = next((p for p in record.task.principals if p.id == end.by), None)
    if not trusted(record, end, end.by, sealed):
        return False
    return who is None or not condition.authority or condition.authority in (who.role, who.id)
