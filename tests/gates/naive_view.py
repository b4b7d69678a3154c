"""The record, read the slow way: every question scans the whole list of events. Written from the documents.

Sources: docs/glossary.md, docs/adr/0001, the docstrings of `model.events` and `contracts.types`. Nothing is kept
between questions but what foreign bytes say. Where `tallystick.view` disagrees with this file, one of them is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from tallystick.contracts.types import Contract, EntityExpr, Task, Tool
from tallystick.errors import ExpressionError, InputError
from tallystick.model import jsontext
from tallystick.model.events import (
    Approval,
    DoubtSettled,
    Intent,
    Lifted,
    Obliged,
    OperationClosed,
    Raised,
    Receipt,
    Sealed,
    Settled,
    Started,
    Tenure,
)
from tallystick.model.signing import is_signed_by
from tallystick.model.values import EntityRef, Money, decimal_of, instant_of, same

MISSING = object()
FOREVER = 10**9


@dataclass(frozen=True)
class Record:
    """A run's events, and what it is judged by."""

    contract: Contract
    task: Task
    run: str
    events: Sequence[Sealed]
    came: dict[int, str] = field(default_factory=dict)  # what each receipt's bytes tell, worked out once
    shown: list[Any] = field(default_factory=list)  # what they show, likewise

    def each(self, *kinds: type) -> Iterator[tuple[int, Any, Sealed]]:
        """Yield (seq, body, event) of these kinds. What an agent adds is words, so only its words are here."""
        for sealed in self.events:
            if isinstance(sealed.event.body, kinds) and sealed.event.actor.role != "agent":
                yield sealed.event.seq, sealed.event.body, sealed


@lru_cache(maxsize=65_536)
def loads(text: str) -> Any:
    return jsontext.loads(text)


def instant(text: str) -> datetime | None:
    try:
        return instant_of(text) if text else None
    except ValueError:
        return None


def dig(value: Any, tokens: Sequence[str]) -> Any:
    for token in tokens:
        if isinstance(value, Mapping) and token in value:
            value = value[token]
        elif isinstance(value, list) and token.isdigit() and int(token) < len(value):
            value = value[int(token)]
        else:
            return MISSING
    return value


def dig_each(value: Any, tokens: Sequence[str]) -> list[Any]:
    if not tokens:
        return [value]
    if tokens[0] == "*":
        items = value if isinstance(value, list) else list(value.values()) if isinstance(value, Mapping) else []
        return [found for item in items for found in dig_each(item, tokens[1:])]
    inner = dig(value, tokens[:1])
    return [] if inner is MISSING else dig_each(inner, tokens[1:])


def as_id(value: Any) -> str | None:
    """Ids are opaque strings; an integer id is its digits; nothing else is an id."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    return str(value)


def true(expr: Any, env: Mapping[str, Any]) -> bool | None:
    """What a predicate says: True, False (or anything else), or None where it cannot be evaluated."""
    try:
        return expr.evaluate(env) is True
    except ExpressionError:
        return None


# ---------------------------------------------------------------- calls


def args_of(body: Intent) -> Mapping[str, Any]:
    value = loads(body.args.text or "")
    return value if isinstance(value, dict) else {}


def exact(tool: Tool, args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with declared types applied; what does not fit is left out."""
    out = dict(args)
    for name, kind in tool.args.items():
        if name in out:
            try:
                out[name] = kind.parse(out[name])
            except ValueError:
                del out[name]
    return out


def effect_class(tool: Tool | None, args: Mapping[str, Any]) -> str:
    if tool is None:
        return "write"
    for condition, effect in tool.effect_cases:
        if true(condition, {"args": args}):
            return effect
    return tool.effect


def named(expr: EntityExpr, env: Mapping[str, Any]) -> list[EntityRef | None]:
    try:
        value = expr.id.evaluate(env)
    except ExpressionError:
        return [None]
    if expr.each and not isinstance(value, (list, tuple)):
        return [None]
    ids = [as_id(v) for v in (value if expr.each else [value])]
    return [None if i is None else EntityRef(expr.kind, i) for i in ids]


def addressed(tool: Tool | None, args: Mapping[str, Any]) -> list[EntityRef]:
    if tool is None:
        return []
    env = {"args": {**args, **exact(tool, args)}}
    return [ref for expr in tool.target for ref in named(expr, env) if ref is not None]


def canon(value: Any) -> Any:
    """A hashable stand-in: equal for equal values, never across kinds."""
    if isinstance(value, bool) or value is None:
        return ("is", value)
    if isinstance(value, (int, Decimal)):
        return ("number", Decimal(value))
    if isinstance(value, Money):
        return ("money", value.amount, value.currency)
    if isinstance(value, Mapping):
        return frozenset((k, canon(v)) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return ("list", *map(canon, value))
    return (type(value).__name__, value)


def items_of(tool: Tool | None, args: Mapping[str, Any]) -> list[str] | None:
    if tool is None or tool.batch is None or not isinstance(args.get(tool.batch.arg), list):
        return None
    found = []
    for item in args[tool.batch.arg]:
        text = as_id(dig(item, tool.batch.key))
        found.append(repr(canon(item)) if text is None else text)
    return found


def identities(tool: Tool | None, args: Mapping[str, Any]) -> list[Any]:
    """Effect identity: the tool and what identifies the effect, without idempotency keys; one per item of a batch."""
    if tool is None:
        return []
    items = items_of(tool, args)
    if items is not None:
        return [(tool.name, "item", i) for i in items]
    env = {"args": exact(tool, args)}
    if tool.once_per:
        values = []
        for expr in tool.once_per:
            try:
                values.append(canon(expr.evaluate(env)))
            except ExpressionError:
                values.append(canon(None))  # what is not given is given as nothing
        return [(tool.name, *values)]
    rest = {**args, **env["args"]}
    rest.pop(tool.idempotency_arg or "", None)
    return [(tool.name, canon(rest))]


def key_of(tool: Tool | None, attached: str | None, args: Mapping[str, Any]) -> str | None:
    if attached is None and tool is not None and tool.idempotency_arg is not None:
        carried = args.get(tool.idempotency_arg)
        return carried if isinstance(carried, str) else None
    return attached


def intent_of(record: Record, call: str | None) -> tuple[int, Intent, Sealed] | None:
    return next((found for found in record.each(Intent) if found[1].call == call), None)


# ---------------------------------------------------------------- receipts


def receipts(record: Record, before: int | None = None) -> Iterator[tuple[int, Receipt, Sealed]]:
    """Yield every receipt made by whoever can make one."""
    for seq, body, sealed in record.each(Receipt):
        if sealed.event.actor.role in ("executor", "runtime", "importer") and (before is None or seq < before):
            yield seq, body, sealed


def repeated(record: Record, seq: int, body: Receipt) -> tuple[int, Receipt, Sealed] | None:
    """The receipt that this one says it repeats, if the record has it (the newest of that id)."""
    if body.cached_from is None:
        return None
    return next((r for r in reversed(list(receipts(record, seq))) if r[1].id == body.cached_from), None)


def proves(record: Record, seq: int, body: Receipt) -> bool:
    """A replica's receipt, and one a framework made, prove nothing; nor does what repeats one that is not good."""
    if body.source == "replica" or body.synthetic:
        return False
    original = repeated(record, seq, body)
    return original is None or good(record, *original)


def dated(record: Record, seq: int, body: Receipt, sealed: Sealed) -> tuple[int, datetime | None]:
    """Where and when what a receipt says was observed: at its call; for a repeated one, when the original was."""
    if body.cached_from is not None:
        original = repeated(record, seq, body)
        return dated(record, *original) if original is not None else (0, instant(body.observed_at))
    found = intent_of(record, body.call)
    return (found[0] if found is not None and found[0] < seq else seq), instant(body.observed_at or sealed.event.at)


def value_of(body: Receipt) -> Any:
    if body.result is None:
        return None
    try:
        return loads(body.result.text or "")
    except InputError:
        return body.result.text


def outcome(record: Record, seq: int, body: Receipt, sealed: Sealed) -> str:
    """What came of the call, by every level of the result."""
    if seq not in record.came:
        record.came[seq] = _outcome(record, seq, body, sealed)
    return record.came[seq]


def _outcome(record: Record, seq: int, body: Receipt, sealed: Sealed) -> str:
    found = intent_of(record, body.call)
    if found is None or found[0] > seq:
        return "unknown"
    if body.outcome == "not_started" and sealed.event.actor.role == "runtime":
        return "not_started"
    args = args_of(found[1])
    tool = record.contract.tools.get(found[1].tool)
    value = value_of(body)
    env = {"args": args, "result": value}
    write = effect_class(tool, args) == "write"
    bad = "unknown" if write else "no_effect"
    if tool is not None and tool.no_effect is not None and true(tool.no_effect, env) and not body.synthetic:
        return "no_effect"
    if body.error is not None or body.synthetic or body.flag == "error":
        return bad
    if body.dry_run or anywhere(value, lambda k, v: k == "dry_run" and v is True):
        return "simulated" if write else "ok"
    per_item = tool.batch.results if tool is not None and tool.batch is not None else None
    outside = value
    if per_item and isinstance(value, Mapping):
        outside = {k: v for k, v in value.items() if k != per_item[0]}
    if anywhere(
        outside, lambda k, v: (k == "isError" and v is True) or (k == "error" and v) or (k == "ok" and v is False)
    ):
        return bad
    if anywhere(outside, lambda k, v: k == "status" and v == "rejected"):
        return bad
    if not write:
        return "ok" if tool is None or tool.ok is None or true(tool.ok, env) else "no_effect"
    return _written(tool, args, value, env)


def anywhere(value: Any, found: Any) -> bool:
    if isinstance(value, Mapping):
        return any(found(k, v) or anywhere(v, found) for k, v in value.items())
    return isinstance(value, list) and any(anywhere(v, found) for v in value)


def _written(tool: Tool | None, args: Mapping[str, Any], value: Any, env: Mapping[str, Any]) -> str:
    if tool is not None:
        if tool.pending is not None and true(tool.pending, env):
            return "in_flight"
        status = dig(value, tool.status_at or ("status",))
        if tool.terminal and status is not MISSING and status not in tool.terminal:
            return "in_flight"
        for arg, tokens in tool.echoes:
            echoed = dig(value, tokens)
            if arg in args and echoed is not MISSING and not same(echoed, args[arg]):
                return "unknown"
        if tool.ok is not None:
            return "ok" if true(tool.ok, env) else "unknown"
    if anywhere(value, lambda k, v: k == "status" and v == "queued"):
        return "in_flight"
    if anywhere(value, lambda k, v: k == "dropped_fields" and v):
        return "partial"
    if isinstance(value, (Mapping, list)):
        return "ok" if value else "unknown"
    words = value.lower() if isinstance(value, str) else ""
    names = [ref.id.lower() for ref in addressed(tool, args)]
    return "ok" if any(n in words for n in names) and "could not" not in words else "unknown"


def good(record: Record, seq: int, body: Receipt, sealed: Sealed) -> bool:
    return outcome(record, seq, body, sealed) in ("ok", "partial") and proves(record, seq, body) and (
        intent_of(record, body.call) is not None
    )  # fmt: skip


# ---------------------------------------------------------------- writes and their effects


@dataclass
class Attempt:
    """One effect a call attempted: where it stands after the whole record."""

    call: str
    seq: int
    tool: str
    args: Mapping[str, Any]
    identity: Any
    item: str | None
    wish: str
    key: str | None
    targets: list[EntityRef]
    status: str = "in_flight"
    receipt: str | None = None
    settled: bool = False  # by the record's own event: a later doubt about it is over
    discharges: str | None = None


@dataclass
class Owed:
    id: str
    kind: str
    tool: str | None
    entity: EntityRef | None
    args: Mapping[str, Any]
    rule: Any = None
    item: Any = None
    settled: bool = False
    by: Attempt | None = None


@dataclass
class Story:
    """What a scan of the record tells about writes and what is owed."""

    attempts: list[Attempt] = field(default_factory=list)
    owed: dict[str, Owed] = field(default_factory=dict)


UNSETTLED = ("in_doubt", "pending", "partial")
_STANDS = {
    "ok": "done", "no_effect": "no_effect", "not_started": "no_effect", "unknown": "in_doubt", "in_flight": "pending",
    "partial": "partial", "simulated": "simulated",
}  # fmt: skip


def trusted(record: Record, body: Any, who: str, sealed: Sealed) -> bool:
    """A principal's event has force if that principal signed it, or an importer read it in an imported run."""
    first = record.events[0].event.body if record.events else None
    started = first if isinstance(first, Started) else None
    before = started is not None and sealed.event.seq > 1
    imported = not before or (started is not None and started.format is not None)
    if sealed.event.actor.role == "importer" and imported:
        return True
    known = next((p for p in record.task.principals if p.id == who), None)
    return known is not None and _verified(body, record.run, known.public_key)


_SEEN: dict[tuple[Any, ...], bool] = {}


def _verified(body: Any, run: str, key: bytes) -> bool:
    mark = (repr(body), run, key)
    if mark not in _SEEN:
        _SEEN[mark] = is_signed_by(body, run, key)
    return _SEEN[mark]


def story(record: Record) -> Story:
    """Tell what became of every write and every obligation, event by event."""
    told = Story(owed={o.id: o for o in owed_at_start(record)})
    epoch = 0
    for sealed in record.events:
        seq, body = sealed.event.seq, sealed.event.body
        if sealed.event.actor.role == "agent":
            continue
        if isinstance(body, Intent):
            _attempt(record, told, seq, body)
        elif isinstance(body, Receipt) and sealed.event.actor.role in ("executor", "runtime", "importer"):
            _conclude(record, told, seq, body, sealed)
        elif isinstance(body, Tenure):
            if body.epoch > epoch or epoch == 0:
                epoch = body.epoch
                for attempt in told.attempts:
                    if attempt.status == "in_flight":
                        attempt.status = "in_doubt"
        elif isinstance(body, DoubtSettled):
            _settle(record, told, seq, body, sealed)
        elif isinstance(body, Obliged):
            entity = EntityRef(*body.entity) if len(body.entity) == 2 else None
            args = {name: loads(text) for name, text in body.args}
            told.owed.setdefault(body.id, Owed(body.id, "event", body.tool, entity, args))
        elif isinstance(body, Settled) and body.id in told.owed:
            shown = any(r[1].id in body.evidence for r in receipts(record, seq))
            if (body.how == "waived" and trusted(record, body, body.by, sealed)) or (
                body.how == "impossible" and shown
            ):
                told.owed[body.id].settled = True
    return told


def _attempt(record: Record, told: Story, seq: int, body: Intent) -> None:
    args = args_of(body)
    tool = record.contract.tools.get(body.tool)
    if effect_class(tool, args) != "write":
        return
    items = items_of(tool, args)
    for n, identity in enumerate(identities(tool, args)):
        told.attempts.append(
            Attempt(
                call=body.call,
                seq=seq,
                tool=body.tool,
                args=args,
                identity=identity,
                item=items[n] if items else None,
                wish=body.wish,
                key=key_of(tool, body.idempotency_key, args),
                targets=addressed(tool, args),
            )
        )


def _conclude(record: Record, told: Story, seq: int, body: Receipt, sealed: Sealed) -> None:
    mine = [a for a in told.attempts if a.call == body.call]
    original = repeated(record, seq, body)
    if not mine or body.source == "replica" or (original is not None and original[1].call == body.call):
        return  # a replica, or its own answer again, tells nothing new
    tool = record.contract.tools.get(mine[0].tool)
    came = outcome(record, seq, body, sealed)
    success = came in ("ok", "partial")
    if not success and (any(a.settled for a in mine) or any(a.status in ("done", "partial") for a in mine)):
        return  # a success or a settlement is never unmade by a later error
    answers = _per_item(record, tool, body, mine[0].args) if tool is not None and tool.batch is not None else None
    for attempt in mine:
        item = answers.get(attempt.item or "", "unknown") if answers is not None and came == "ok" else came
        if attempt.status == "done":
            continue
        if attempt.settled and attempt.status == "no_effect" and item not in ("ok", "partial"):
            continue
        attempt.status, attempt.receipt = _STANDS[item], body.id
        if body.cached_from is not None:
            attempt.status = "no_effect"  # the first effect shown again, not a second one
        if attempt.status == "done":
            _realised(record, told, attempt, tool)


def _per_item(record: Record, tool: Tool, body: Receipt, args: Mapping[str, Any]) -> dict[str, str]:
    assert tool.batch is not None
    found = {}
    for answer in dig_each(value_of(body), (*tool.batch.results, "*")):
        name = as_id(dig(answer, tool.batch.result_key))
        if name is not None:
            fine = (
                true(tool.batch.ok, {"item": answer, "args": args}) if tool.batch.ok else answer.get("ok") is not False
            )
            found[name] = "ok" if fine else "no_effect"
    return found


def _realised(record: Record, told: Story, attempt: Attempt, tool: Tool | None) -> None:
    if not any(o.by is attempt for o in told.owed.values()):
        for owed in told.owed.values():
            if owed.kind != "event" or owed.by is not None or owed.tool != attempt.tool:
                continue
            if attempt.wish in told.owed and attempt.wish != owed.id:
                continue
            if asks_for(owed, attempt):
                owed.by = attempt
                break
    if tool is None or not tool.dedupes_by_key or attempt.key is None:
        return
    for other in told.attempts:
        again = other.call != attempt.call and other.identity == attempt.identity and other.key == attempt.key
        if again and other.status in UNSETTLED and same(other.args, attempt.args):
            other.status, other.receipt = "no_effect", attempt.receipt
            rest = [a for a in told.attempts if a.call == other.call]
            if not any(a.status in UNSETTLED for a in rest):
                for a in rest:
                    a.settled = True


def _settle(record: Record, told: Story, seq: int, body: DoubtSettled, sealed: Sealed) -> None:
    mine = [a for a in told.attempts if a.call == body.call and a.status in ("in_flight", *UNSETTLED)]
    evidence = None
    for name in body.evidence:
        evidence = evidence or next((r for r in reversed(list(receipts(record, seq))) if r[1].id == name), None)
    if body.by == "query" and (evidence is None or not good(record, *evidence)):
        return
    if body.by == "principal" and not trusted(record, body, body.principal, sealed):
        return
    for attempt in mine:
        attempt.status = "done" if body.outcome == "ok" else "no_effect"
        if evidence is not None or attempt.receipt is None:
            attempt.receipt = evidence[1].id if evidence is not None else None
        if attempt.status == "done":
            _realised(record, told, attempt, record.contract.tools.get(attempt.tool))
    if mine:
        for attempt in told.attempts:
            if attempt.call == body.call:
                attempt.settled = True


# ---------------------------------------------------------------- what is owed


def owed_at_start(record: Record) -> Iterator[Owed]:
    bindings = record.task.bindings
    for rule in record.contract.owes:
        for item in bindings.get(rule.each, ()) if rule.each is not None else (None,):
            env: dict[str, Any] = {"task": bindings}
            if rule.each is not None:
                env["item"] = item
            entity = named(rule.entity, env)[0] if rule.entity is not None else None
            args = {}
            for name, expr in rule.args.items():
                try:
                    args[name] = expr.evaluate(env)
                except ExpressionError:
                    continue
            name = rule.id if rule.each is None else f"{rule.id}[{item}]"
            yield Owed(name, rule.kind, rule.by, entity, args, rule, item)


def asks_for(owed: Owed, attempt: Attempt) -> bool:
    if owed.entity is not None:
        if attempt.item is not None:
            if attempt.item != owed.entity.id:
                return False
        elif attempt.targets:
            if owed.entity not in attempt.targets:
                return False
        elif owed.entity.id not in map(str, attempt.args.values()):
            return False
    return all(name in attempt.args and _agrees(attempt.args[name], wanted) for name, wanted in owed.args.items())


def _agrees(given: Any, wanted: Any) -> bool:
    if isinstance(wanted, Money):
        try:
            return decimal_of(given) == wanted.amount
        except ValueError:
            return False
    return same(given, wanted) or str(given) == str(wanted)


# ---------------------------------------------------------------- facts


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
    return first is not None and good(record, *first)


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
        if tool not in body.removes or any(n not in args or not same(args[n], loads(v)) for n, v in body.scope):
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
    if end.how not in ("resolved", "withdrawn"):
        return True
    who = next((p for p in record.task.principals if p.id == end.by), None)
    if not trusted(record, end, end.by, sealed):
        return False
    return who is None or not condition.authority or condition.authority in (who.role, who.id)
