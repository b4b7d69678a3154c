"""A naive twin of `stage_of`: where the task stands, asked of the whole record every time.

Source: specs "Lifecycle", the oracle: completed when nothing remains; needs information while evidence that an open
obligation's call demands is missing, also after an effect, or a read is missing that tells whether a condition removes
it; post-observation once an effect exists and work remains; ready otherwise. What is unknown is still owed, and nothing
is completed while a call is in doubt or under way, a child run has not ended well, or a blocker waits to be lifted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tallystick.contracts.types import Contract, Requirement, Task
from tallystick.errors import ExpressionError
from tallystick.model.events import ChildRun, DoubtSettled, Intent, Raised, Receipt, Tenure
from tallystick.model.proposal import Call
from tallystick.model.values import EntityRef, Money, instant_of
from tests.gates import naive_effects as effects
from tests.gates import naive_evidence as evidence
from tests.gates import naive_facts as facts
from tests.gates import naive_view as past
from tests.gates.naive_effects import Owed
from tests.gates.naive_view import Record


@dataclass(frozen=True)
class Where:
    stage: str
    done: frozenset[str]
    open: frozenset[str]
    in_doubt: frozenset[str]
    missing: frozenset[evidence.Why]


def naive_stage(contract: Contract, task: Task, run: str, events: Any) -> Where:
    """Return where the task stands, from the record alone."""
    record = Record(contract, task, run, events)
    told = effects.story(record)
    left = [o for o in told.owed.values() if not o.settled and _applies(record, o) and not _holds(record, o)]
    doubt = frozenset(a.call for a in told.attempts if a.status in effects.UNSETTLED)
    under_way = any(a.status == "in_flight" for a in told.attempts) or _unanswered(record)
    waits = any(_waits(record, body, left) for _, body, _ in record.each(Raised))
    open_ = frozenset(o.id for o in left)
    done = frozenset(told.owed) - open_
    missing = frozenset(why for o in left for why in _lacking(record, o))
    if told.owed and not left and not doubt and not under_way and not waits and not _children(record):
        stage = "completed"
    elif missing:
        stage = "needs_information"
    elif any(a.status in ("done", "partial") for a in told.attempts):
        stage = "post_observation_continue"
    else:
        stage = "ready_for_action"
    return Where(stage, done, open_, doubt, missing)


def _known(record: Record, owed: Owed, expr: Any) -> dict[str, Any] | None:
    """What an expression about an obligation may read now; None where a fact it needs is not known now."""
    env: dict[str, Any] = {"task": record.task.bindings}
    if owed.item is not None:
        env["item"] = owed.item
    for ref in expr.refs:
        if ref[0] in ("task", "item"):
            continue
        if owed.entity is None or ref[0] != owed.rule.entity.alias:
            return None
        known = facts.fact(record, owed.entity, ref[1])
        if known is None or known.problem or known.seen < facts.last_write(record, owed.entity):
            return None
        env.setdefault(ref[0], {})[ref[1]] = known.value
    return env


def _applies(record: Record, owed: Owed) -> bool:
    if owed.rule is None or owed.rule.when is None:
        return True
    env = _known(record, owed, owed.rule.when)
    if env is None:
        return True
    try:
        return owed.rule.when.evaluate(env) is not False
    except ExpressionError:
        return True


def _holds(record: Record, owed: Owed) -> bool:
    if owed.kind == "event":
        return owed.by is not None
    env = _known(record, owed, owed.rule.fact)
    return env is not None and past.true(owed.rule.fact, env) is True


def _lacking(record: Record, owed: Owed) -> Iterator[evidence.Why]:
    """Yield what the call that would discharge it still lacks; steps of the work itself are not information."""
    tool = record.contract.tools.get(owed.tool or "")
    if tool is None:
        return
    args = {n: format(v.amount, "f") if isinstance(v, Money) else v for n, v in owed.args.items()}
    if owed.entity is not None and owed.entity.kind == "invoice":
        if tool.target[0].each:
            args.setdefault("invoice_ids", [owed.entity.id])
        else:
            args.setdefault("invoice_id", owed.entity.id)
    call = Call(tool=tool.name, args=args, now=instant_of("9999-12-31T00:00:00Z"))
    names = next(evidence.each_item(record, tool, call))
    for rule in tool.requires:
        if rule.kind in ("argument", "previewed"):
            continue
        kind, why = evidence.required(record, tool, call, names, rule)
        if kind == "missing":
            unknown = rule.expr is not None and _args_unknown(rule, args)
            yield from (w for w in why if not unknown or w[0].startswith("evidence."))
    for rule in record.contract.conditions:
        if tool.name in rule.removes and rule.when is not None and rule.kind in names.entities:
            about = names.entities[rule.kind]
            if any(
                ref[0] == rule.kind and _void(record, about, ref[1]) and _readable(record, rule.kind, ref[1])
                for ref in rule.when.refs
            ):
                yield ("condition.unknown", rule.id)


def _waits(record: Record, body: Raised, left: list[Owed]) -> bool:
    """A condition that still holds and asks for something, or removes what is owed."""
    scope = {name: facts.loads(text) for name, text in body.scope}
    holds = any(body is held for tool in body.removes for held in facts.open_conditions(record, tool, scope))
    return holds and bool(body.prerequisite or body.fallback or {o.tool for o in left} & set(body.removes))


def _unanswered(record: Record) -> bool:
    """A call has no receipt, and no new tenure has put it in doubt or, as a read, behind it."""
    open_: set[str] = set()
    epoch = 0
    for sealed in record.events:
        body = sealed.event.body
        if sealed.event.actor.role == "agent":
            continue
        if isinstance(body, Intent):
            open_.add(body.call)
        elif isinstance(body, Receipt) and sealed.event.actor.role in ("executor", "runtime", "importer"):
            open_.discard(body.call or "")
        elif isinstance(body, Tenure) and (body.epoch > epoch or epoch == 0):
            epoch = body.epoch
            open_.clear()
        elif isinstance(body, DoubtSettled):
            shown = (r for name in body.evidence for r in reversed(list(effects.receipts(record, sealed.event.seq)))
                     if r[1].id == name)  # fmt: skip
            told = effects.tells(record, body, next(shown, None)) if body.by == "query" else None
            if told or (told is None and facts.trusted(record, body, body.principal, sealed)):
                open_.discard(body.call)
    return bool(open_)


def _children(record: Record) -> bool:
    told: dict[str, str] = {}
    for _, body, sealed in record.each(ChildRun):
        if sealed.event.actor.role in ("runtime", "importer"):
            told[body.child] = body.status
    return any(status in ("open", "IN_DOUBT") for status in told.values())


def _void(record: Record, ref: EntityRef, name: str) -> bool:
    known = facts.fact(record, ref, name)
    return known is None or bool(known.problem) or known.seen < facts.last_write(record, ref)


def _readable(record: Record, kind: str, name: str) -> bool:
    """A read of the contract states that field of such an entity."""
    return any(
        (tool.effect == "read" or tool.effect_cases) and any(y.kind == kind and name in y.fields for y in tool.yields)
        for tool in record.contract.tools.values()
    )


def _args_unknown(rule: Requirement, args: dict[str, Any]) -> bool:
    assert rule.expr is not None
    return any(ref[0] == "args" and ref[1] not in args for ref in rule.expr.refs)
