"""What is still owed: an obligation is open until it is discharged, waived, shown impossible, or found not to apply."""

from __future__ import annotations

from tallystick.errors import ExpressionError
from tallystick.model.values import EntityRef
from tallystick.view import ObligationRecord, View


def holds_now(view: View, owed: ObligationRecord) -> bool:
    """Return whether an obligation is discharged: by its event, or, for the state kind, by facts that hold now."""
    if owed.kind == "event":
        return owed.discharged_by is not None
    if owed.rule is None or owed.rule.fact is None:
        return False
    env: dict[str, object] = {"task": view.task.bindings}
    if owed.item is not None:
        env["item"] = owed.item
    if owed.entity is not None:
        fresh = _facts_now(view, owed.entity)
        env[owed.rule.entity.alias if owed.rule.entity is not None else owed.entity.kind] = fresh
        needed = [r[1] for r in owed.rule.fact.refs if len(r) > 1 and r[0] in env and r[0] not in ("task", "item")]
        if any(name not in fresh for name in needed):
            return False  # not known now; `has()` never turns ignorance into truth
    try:
        return owed.rule.fact.evaluate(env) is True
    except ExpressionError:
        return False


def _facts_now(view: View, entity: EntityRef) -> dict[str, object]:
    """Return what is known of an entity and not void by a later write to it."""
    written = view.last_write(entity)
    return {n: f.value for n, f in view.facts(entity).items() if f.problem is None and f.observed_seq >= written}


def applies(view: View, owed: ObligationRecord) -> bool:
    """Return whether a conditional obligation is owed. Unknown means still owed."""
    rule = owed.rule
    if rule is None or rule.when is None:
        return True
    env: dict[str, object] = {"task": view.task.bindings}
    if owed.item is not None:
        env["item"] = owed.item
    if owed.entity is not None:
        env[rule.entity.alias if rule.entity is not None else owed.entity.kind] = _facts_now(view, owed.entity)
    if any(len(r) > 1 and r[0] not in ("task", "item") and r[1] not in _mapping(env.get(r[0])) for r in rule.when.refs):
        return True
    try:
        return rule.when.evaluate(env) is not False
    except ExpressionError:
        return True


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def open_obligations(view: View) -> tuple[ObligationRecord, ...]:
    """Return the obligations still owed: not discharged, not waived, not shown impossible, and applicable."""
    return tuple(
        o for o in view.obligations.values() if o.settled is None and applies(view, o) and not holds_now(view, o)
    )
