"""What a call addresses: its effect class, its entities, and the identity of the effects it may realise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from tallystick.contracts.exact import exact
from tallystick.contracts.types import Completeness, Contract, Effect, EntityExpr, Tool
from tallystick.errors import ExpressionError
from tallystick.model.canonical import canonical
from tallystick.model.exact import tagged
from tallystick.model.pointer import MISSING, resolve
from tallystick.model.values import EntityRef, Money, Quantity, plain


def effect_of(tool: Tool, args: Mapping[str, Any]) -> Effect:
    """Return the effect class of a call. A case that cannot be evaluated counts as a write."""
    for condition, effect in tool.effect_cases:
        try:
            if condition.evaluate({"args": args}) is True:
                return effect
        except ExpressionError:
            # A missing argument makes the condition false (`args.confirm` not given); anything else fails closed.
            if any(ref[0] == "args" and len(ref) > 1 and ref[1] not in args for ref in condition.refs):
                continue
            return "write"
    return tool.effect


def id_text(value: Any) -> str | None:
    """Return the opaque id text of a JSON value, or None where it cannot be an id."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None


def entity_of(expr: EntityExpr, env: Mapping[str, Any]) -> tuple[EntityRef, ...]:
    """Return the entities an entity expression names under `env`; empty where it cannot be evaluated."""
    try:
        value = expr.id.evaluate(env)
    except ExpressionError:
        return ()
    if expr.each:
        items = value if isinstance(value, (list, tuple)) else ()
        return tuple(EntityRef(expr.kind, text) for text in map(id_text, items) if text is not None)
    text = id_text(value)
    return () if text is None else (EntityRef(expr.kind, text),)


def targets_of(tool: Tool, args: Mapping[str, Any]) -> tuple[EntityRef, ...]:
    """Return the entities a call addresses, in declaration order."""
    env = {"args": {**args, **typed_args(tool, args)}}
    return tuple(ref for expr in tool.target for ref in entity_of(expr, env))


def batch_items(tool: Tool, args: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the item ids of a batch call, or None for a call that is not one."""
    if tool.batch is None:
        return None
    items = args.get(tool.batch.arg)
    if not isinstance(items, (list, tuple)):
        return None
    found = []
    for item in items:
        value = resolve(item, tool.batch.key) if tool.batch.key else item
        text = id_text(value) if value is not MISSING else None
        found.append(text if text is not None else canonical(tagged(item)).decode())
    return tuple(found)


def effect_keys(tool: Tool, args: Mapping[str, Any], typed: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """Return the canonical keys of the effects a call may realise: tool + canonical identifying values, per batch item.

    Idempotency keys are never part of it (the runtime mints those). Ids are compared as written: `01` is not `1`.
    `typed` is `typed_args(tool, args)`, where the caller has it already.
    """
    items = batch_items(tool, args)
    if items is not None:
        return tuple(f"{tool.name}[{canonical(item).decode()}]" for item in items)
    if tool.once_per:
        env = {"args": typed_args(tool, args) if typed is None else typed}  # 420 and "420.00" are one amount
        values = []
        for expr in tool.once_per:
            try:
                values.append(key_value(expr.evaluate(env)))
            except ExpressionError:
                values.append(None)
        return (tool.name + canonical(values).decode(),)
    whole = {**args, **(typed_args(tool, args) if typed is None else typed)}
    rest = {k: v for k, v in whole.items() if k != tool.idempotency_arg}
    return (tool.name + canonical(key_value(rest)).decode(),)


def idempotency_key(tool: Tool | None, given: str | None, args: Mapping[str, Any]) -> str | None:
    """Return the idempotency key of a call: the one attached to it, else the one its arguments carry."""
    if given is not None or tool is None or tool.idempotency_arg is None:
        return given
    carried = args.get(tool.idempotency_arg)
    return carried if isinstance(carried, str) else None


def key_value(value: Any) -> Any:
    """Return the canonical JSON stand-in of an exact value, for use in keys and digests."""
    if isinstance(value, str):
        return value  # an id: nearly always
    if isinstance(value, Money):
        return {"money": [_digits(value.amount), value.currency]}
    if isinstance(value, Quantity):
        return {"quantity": [_digits(value.amount), value.unit]}
    if isinstance(value, (frozenset, set)):
        return sorted((key_value(v) for v in value), key=canonical)
    if isinstance(value, Mapping):
        return {k: key_value(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [key_value(v) for v in value]
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return tagged(value)


def _digits(number: Decimal) -> str:
    # Not `normalize()`: it rounds to the thread's decimal context, and two amounts would share a key.
    digits = plain(number)
    digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return "0" if digits == "-0" else digits


def question_of(rule: Completeness, args: Mapping[str, Any]) -> tuple[bytes, str | None]:
    """Return (canonical form of what a listing was asked, apart from the page; the page as text)."""
    asked = dict(args)
    page = asked.pop(rule.page_arg, None) if rule.page_arg is not None else None
    return canonical(key_value(asked)), id_text(page)


def typed_args(tool: Tool, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `args` with declared types applied, for expressions; a value that does not fit is left out.

    Leaving it out makes every expression over it an error, which a gate reads as "not met".
    """
    if not tool.args:
        return args
    typed = dict(args)
    for name, kind in tool.args.items():
        if name not in typed:
            continue
        try:
            typed[name] = exact(kind, typed[name], args)
        except ValueError:
            del typed[name]
    return typed


def exclusion_values(
    contract: Contract, tool: str, args: Mapping[str, Any], typed: Mapping[str, Any] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield (exclusion id, canonical value of its `per`) for every exclusion a call of `tool` falls under.

    `args` are the raw arguments; `typed` is `typed_args` of them, where the caller has it already.
    """
    known = contract.tools.get(tool)
    if typed is None and contract.exclusive:
        typed = typed_args(known, args) if known is not None else args  # one form, whoever asks: 7 and "7" are one id
    env = {"args": typed}
    for rule in contract.exclusive:
        if tool not in rule.tools:
            continue
        try:
            value = rule.per[tool].evaluate(env)
        except (ExpressionError, KeyError):
            continue
        yield rule.id, canonical(key_value(value)).decode()
