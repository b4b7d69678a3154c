"""Obligation instances: made from the contract's templates and the task's bindings, matched with effects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tallystick.contracts.types import Contract, ObligationRule, Task
from tallystick.errors import ExpressionError
from tallystick.model.values import EntityRef, decimal_of, same
from tallystick.view.keys import entity_of
from tallystick.view.records import EffectRecord, ObligationRecord


def instances(contract: Contract, task: Task) -> Iterator[ObligationRecord]:
    """Yield the obligation instances of one run, with ids like `delivered` or `delivered[I-7]` for one item of several.

    A template whose bindings are missing still yields an instance (without entity and arguments), because forgetting an
    obligation would be worse than owing it in general. An item named twice is one item; other items that are called
    the same are told apart as `paid[I-7]`, `paid[I-7]#2`.
    """
    for rule in contract.owes:
        if rule.each is None:
            yield _instance(rule, rule.id, {"task": task.bindings}, None)
            continue
        items = task.bindings.get(rule.each, ())
        called: dict[str, list[Any]] = {}
        for item in items if isinstance(items, (list, tuple, frozenset, set)) else ():
            name = f"{rule.id}[{_label(item)}]"
            others = called.setdefault(name, [])
            if any(_one(item, other) for other in others):
                continue
            others.append(item)
            name = name if len(others) == 1 else f"{name}#{len(others)}"
            yield _instance(rule, name, {"task": task.bindings, "item": item}, item)


def _label(item: Any) -> str:
    return str(item.get("id", item)) if isinstance(item, Mapping) else str(item)


def _one(item: Any, other: Any) -> bool:
    """Return whether two items of one label are the same: `1` and `"1"` are one id, two rows about it are not."""
    return bool(item == other) or not (isinstance(item, Mapping) or isinstance(other, Mapping))


def _instance(rule: ObligationRule, name: str, env: Mapping[str, Any], item: Any) -> ObligationRecord:
    entity: EntityRef | None = None
    if rule.entity is not None:
        entity = next(iter(entity_of(rule.entity, env)), None)
    args: dict[str, Any] = {}
    for arg, expr in rule.args.items():
        try:
            args[arg] = expr.evaluate(env)
        except ExpressionError:
            continue
    return ObligationRecord(name, rule, rule.kind, rule.by, entity, args, item, rule.text)


def matches(obligation: ObligationRecord, effect: EffectRecord) -> bool:
    """Return whether a done effect is the one an event obligation asks for: its tool, entity and arguments."""
    if obligation.entity is not None:
        if effect.item is not None:
            if obligation.entity.id != effect.item:
                return False
        elif (effect.call.targets and obligation.entity not in effect.call.targets) or (
            not effect.call.targets and obligation.entity.id not in map(str, effect.call.args.values())
        ):
            return False
    return all(name in effect.call.args and _agrees(effect.call.args[name], v) for name, v in obligation.args.items())


def _agrees(given: Any, wanted: Any) -> bool:
    """Compare a raw JSON argument with an exact value: money and dates through their declared form."""
    if hasattr(wanted, "currency"):
        try:
            return bool(decimal_of(given) == wanted.amount)
        except ValueError:
            return False
    if hasattr(wanted, "isoformat"):
        return bool(str(given) == wanted.isoformat())
    return same(given, wanted) or (not isinstance(given, (list, dict)) and str(given) == str(wanted))
