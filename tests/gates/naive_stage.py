"""A naive twin of `stage_of`: where the task stands, asked of the whole record every time.

Source: specs "Lifecycle", the oracle: completed when nothing remains; needs information while evidence that an open
obligation's call demands is missing, also after an effect; post-observation once an effect exists and work remains;
ready otherwise. What is unknown is still owed, and nothing is completed while a write is in doubt or under way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tallystick.contracts.types import Contract, Requirement, Task
from tallystick.errors import ExpressionError
from tallystick.model.proposal import Call
from tallystick.model.values import Money, instant_of
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
    under_way = any(a.status == "in_flight" for a in told.attempts)
    open_ = frozenset(o.id for o in left)
    done = frozenset(told.owed) - open_
    missing = frozenset(why for o in left for why in _lacking(record, o))
    if told.owed and not left and not doubt and not under_way:
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


def _args_unknown(rule: Requirement, args: dict[str, Any]) -> bool:
    assert rule.expr is not None
    return any(ref[0] == "args" and ref[1] not in args for ref in rule.expr.refs)
