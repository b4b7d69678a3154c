"""What became of every write and of everything owed, told event by event (the slow way; see `naive_view`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tallystick.contracts.types import Tool
from tallystick.errors import ExpressionError
from tallystick.model.events import (
    DoubtSettled,
    Intent,
    Obliged,
    Receipt,
    Sealed,
    Settled,
    Tenure,
)
from tallystick.model.values import EntityRef, Money, decimal_of, same
from tests.gates.naive_view import (
    Record,
    addressed,
    args_of,
    as_id,
    dated,
    dig,
    dig_each,
    effect_class,
    good,
    identities,
    intent_of,
    items_of,
    key_of,
    loads,
    named,
    outcome,
    receipts,
    repeated,
    true,
    trusted,
    value_of,
)


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
    if body.by == "query" and not tells(record, body, evidence):
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


def tells(record: Record, body: DoubtSettled, evidence: tuple[int, Receipt, Sealed] | None) -> bool:
    """A status query tells if it is good and was made after the call it tells about."""
    called = intent_of(record, body.call)
    if evidence is None or called is None or not good(record, *evidence):
        return False
    return dated(record, *evidence)[0] > called[0]


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
