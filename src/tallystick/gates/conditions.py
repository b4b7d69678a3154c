"""Conditions: what removes an action until something specific is established."""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.contracts.types import ConditionRule
from tallystick.errors import ExpressionError
from tallystick.gates.answers import Answer, Met, Missing, Violated
from tallystick.gates.approval import condition_approval
from tallystick.gates.evidence import reads_for
from tallystick.gates.scope import Scope
from tallystick.model.decision import Reason
from tallystick.model.values import EntityRef
from tallystick.view import ConditionRecord


def raised(scope: Scope) -> Iterator[Answer]:
    """Yield whether the conditions raised in this run leave the call alone."""
    if scope.call.tool not in scope.view.index.conditions_by_tool:
        yield Met()  # none was ever raised against it
        return
    reasons: list[Reason] = []
    digests: list[str] = []
    approved: list[ConditionRecord] = []
    targets = tuple(scope.entities.values())
    for record in scope.view.conditions_on(scope.call.tool, scope.call.args, scope.call.now):
        entity = record.body.entity
        if len(entity) == 2 and targets and EntityRef(entity[0], entity[1]) not in targets:
            if entity[0] in scope.unnamed or all(ref.kind != entity[0] for ref in targets):
                # It may be that one: a tool whose targets are all of other kinds does not say which of this kind.
                yield Missing((_unnamed(record.body.id, entity[0]),))
            continue
        lifted = condition_approval(scope.view, scope.call, record.body.id, record.body.authority, targets)
        if lifted is not None:
            digests.append(lifted.digest)
            approved.append(record)
            continue
        left_out = next((name for name, _ in record.body.scope if scope.call.args.get(name) is None), None)
        if left_out is not None and not _of_null(record, left_out):
            yield Missing((_unsaid(record.body.id, left_out),))
            continue
        reasons.append(_open_reason(record))
        digests.append(record.digest)
    yield Violated(tuple(reasons), tuple(digests)) if reasons else Met(tuple(digests), _left_alone(scope, approved))


def _unnamed(condition: str, kind: str) -> Reason:
    return Reason(
        code="condition.unknown",
        message=f"`{condition}` may apply: it is not known which {kind} this call is about",
        reverses=f"an argument or a read that names the {kind}",
        where=condition,
    )


def _of_null(record: ConditionRecord, name: str) -> bool:
    return [name, "null"] in record.body.scope


def _unsaid(condition: str, argument: str) -> Reason:
    return Reason(
        code="condition.unknown",
        message=f"`{condition}` may apply: the call does not say what {argument} is",
        reverses=f"the argument {argument}",
        where=condition,
    )


def _left_alone(scope: Scope, approved: list[ConditionRecord]) -> tuple[Reason, ...]:
    """Return the conditions raised against this tool that leave this very call alone: over, or of other scope."""
    return tuple(
        Reason(
            code="condition.out_of_scope",
            message=f"`{record.body.id}` does not remove this call: "
            + (
                "it is limited to other arguments"
                if scope.view.binds(record, scope.call.now)
                else f"it is over ({record.lifted_how})"
            ),
            where=record.body.id,
            refs=(record.seq,),
        )
        for record in scope.view.index.conditions_by_tool.get(scope.call.tool, ())
        if record not in approved
    )


def _open_reason(record: ConditionRecord) -> Reason:
    body = record.body
    prerequisite = body.prerequisite or "it is lifted"
    return Reason(
        code="condition.open",
        message=f"`{body.id}` removes this action: {body.status or 'stop'} until {prerequisite}"
        + (f"; meanwhile: {body.fallback}" if body.fallback else ""),
        reverses=f"{prerequisite}, decided by {body.authority}" if body.authority else prerequisite,
        where=body.id,
        refs=(record.seq,),
    )


def standing(scope: Scope, rule: ConditionRule) -> Answer:
    """Return whether a standing condition of the contract leaves the call alone.

    Facts it needs and does not have make it unknown, and unknown holds: absence of a blocker is never assumed.
    """
    if scope.tool.name not in rule.removes:
        return Met()
    if rule.kind is None:
        return _standing(scope, rule, None)
    answers = [_standing(scope, rule, a) for a, ref in scope.entities.items() if ref.kind == rule.kind]
    if not answers or rule.kind in scope.unnamed:
        answers.append(Missing((_unnamed(rule.id, rule.kind),)))
    for kind in (Violated, Missing):
        for answer in answers:
            if isinstance(answer, kind):
                return answer
    return answers[0]


def _standing(scope: Scope, rule: ConditionRule, alias: str | None) -> Answer:
    env = dict(scope.env)
    if alias is not None and rule.kind is not None:
        env[rule.kind] = env[alias]
    digests: list[str] = []
    if rule.when is not None:
        missing, digests = _unknown(scope, rule, alias)
        if missing:
            return Missing(tuple(missing))
        try:
            if rule.when.evaluate(env) is False:
                return Met(tuple(digests))
        except ExpressionError:
            pass  # cannot be evaluated: the condition stands
    if rule.until is not None:
        try:
            if rule.until.evaluate(env) is True and not _stale(scope, rule, alias):
                return Met(tuple(digests))
        except ExpressionError:
            pass
    targets = tuple(scope.entities.values())
    lifted = condition_approval(scope.view, scope.call, rule.id, rule.authority, targets)
    if lifted is not None:
        return Met((*digests, lifted.digest))
    reason = Reason(
        code="condition.open",
        message=f"`{rule.id}` removes {scope.tool.name}: {rule.status} until {rule.prerequisite}"
        + (f"; meanwhile: {rule.fallback}" if rule.fallback else ""),
        reverses=f"{rule.prerequisite}, decided by {rule.authority}",
        where=rule.id,
    )
    return Violated((reason,), tuple(digests))


def _unknown(scope: Scope, rule: ConditionRule, alias: str | None) -> tuple[list[Reason], list[str]]:
    missing: list[Reason] = []
    digests: list[str] = []
    assert rule.when is not None
    for ref in rule.when.refs:
        if alias is None or len(ref) < 2 or ref[0] != rule.kind:
            continue
        entity = scope.entities[alias]
        fact = scope.view.facts(entity).get(ref[1])
        stale = fact is not None and fact.observed_seq < scope.view.last_write(entity)
        if fact is None or fact.problem is not None or stale:
            reads = reads_for(scope, entity, ref[1])
            text = "was read before a later write" if stale else "is not known"
            missing.append(
                Reason(
                    code="condition.unknown",
                    message=f"`{rule.id}` may apply: {ref[1]} of {entity} {text}",
                    reverses=f"call {reads[0].tool} for {entity}" if reads else f"a receipt that states {ref[1]}",
                    where=rule.id,
                    reads=reads,
                )
            )
        else:
            digests.append(fact.digest)
    return missing, digests


def _stale(scope: Scope, rule: ConditionRule, alias: str | None) -> bool:
    if alias is None or rule.until is None:
        return False
    entity = scope.entities[alias]
    facts = scope.view.facts(entity)
    return any(
        ref[1] in facts and facts[ref[1]].observed_seq < scope.view.last_write(entity)
        for ref in rule.until.refs
        if len(ref) >= 2 and ref[0] == rule.kind
    )
