"""Recomputing a slot's value by the contract's derivation: exact arithmetic over what receipts state.

`pay_invoice./amount` is what the newest good receipt in scope says; `sum(list_invoices./items/*/amount where …)` adds
exact values of a complete read, each page once; a CEL expression reads fresh facts of the slot's entity. What cannot be
derived is a reason, never a value.
Source: evidence-carrying termination, checks 2, 3, 5 and 6 of the verifier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, localcontext
from typing import Any, Final

from tallystick.contracts.exact import exact
from tallystick.contracts.types import Contract, Derivation, Slot, Tool
from tallystick.errors import ExpressionError
from tallystick.gates.claim_evidence import outcome, records, superseded
from tallystick.gates.claim_reads import complete
from tallystick.gates.claim_value import other_readings
from tallystick.model.decision import Read, Reason
from tallystick.model.jsontext import dumps
from tallystick.model.pointer import MISSING, resolve, resolve_each, split
from tallystick.model.proposal import Claim
from tallystick.model.values import EXACT, EntityRef, Money, Quantity, Type, same
from tallystick.view import ReceiptRecord, View
from tallystick.view.fold_calls import item_outcomes
from tallystick.view.keys import entity_of, id_text

_PLAIN: Final = frozenset({"identity", "first", "last"})


@dataclass(frozen=True, slots=True)
class Derived:
    """A recomputed value, the receipts it was read from, their digests, and where the channels of one disagree."""

    value: Any
    receipts: tuple[ReceiptRecord, ...]
    digests: tuple[str, ...]
    conflicts: tuple[Reason, ...] = ()


def scope_of_slot(view: View, slot: Slot) -> tuple[EntityRef | None, Reason | None]:
    """Return (the entity a slot is about, why it cannot be told)."""
    if slot.entity is None:
        return None, None
    ref = next(iter(entity_of(slot.entity, {"task": view.task.bindings})), None)
    if ref is not None:
        return ref, None
    text = f"the task does not say which {slot.entity.kind}"
    return None, _reason(slot, "claim.scope", text, "a task binding for it")


def claimed_value(slot: Slot, claim: Claim) -> tuple[Any, Reason | None]:
    """Return (the claimed value under the slot's type, why it does not fit)."""
    try:
        return slot.type.parse(claim.value), None
    except ValueError as bad:
        return MISSING, _reason(slot, "claim.type", f"not a {slot.type}: {bad}", f"a value of type {slot.type}")


def differs(slot: Slot, claimed: Any, derived: Derived) -> Reason | None:
    """Return the reason where a claimed value is not the derived one."""
    if _equal(claimed, derived.value):
        return None
    left, right = getattr(claimed, "amount", None), getattr(derived.value, "amount", None)
    unit = _unit_of(claimed) != _unit_of(derived.value) or (
        isinstance(left, Decimal)
        and isinstance(right, Decimal)
        and bool(left and right)
        and left.normalize(EXACT).as_tuple().digits == right.normalize(EXACT).as_tuple().digits
    )
    return _reason(
        slot,
        "claim.unit" if unit else "claim.mismatch",
        f"{_show(claimed)} is claimed, {slot.derive.source} gives {_show(derived.value)}",
        f"the derived value {_show(derived.value)}",
        derived.receipts,
    )


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, (Money, Quantity, frozenset, date)) or isinstance(right, (Money, Quantity, frozenset, date)):
        return type(left) is type(right) and bool(left == right)
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(_equal, left, right))
    return same(left, right)


def _unit_of(value: Any) -> Any:
    return getattr(value, "currency", getattr(value, "unit", None))


def derive(view: View, contract: Contract, slot: Slot, scope: EntityRef | None) -> Derived | tuple[Reason, ...]:
    """Return the slot's value as the record gives it, or every reason why it gives none."""
    rule = slot.derive
    if rule.function == "expr":
        return _from_facts(view, slot, scope)
    tool = contract.tools.get(rule.tool or "")
    if tool is None:
        text = f"the contract does not know `{rule.tool}`"
        return (_reason(slot, "claim.not_derivable", text, "a contract that does"),)
    found, reasons = _usable(view, contract, tool, slot, scope)
    if reasons:
        return tuple(reasons)
    if rule.function in ("identity", "last"):
        found = found[-1:]
    elif rule.function == "first":
        found = found[:1]
    if tool.effect == "read" and ("*" in rule.pointer or slot.quantifier != "one"):
        quantified = rule.function not in _PLAIN or slot.quantifier != "one"
        found, partial = complete(tool, found) if quantified else (found, ())
        if partial:
            return partial
    stale = [s for r in found if (s := _written_since(view, tool, r, scope)) is not None]
    if stale:
        return (stale[0],)
    values: list[Any] = []
    conflicts: list[Reason] = []
    for receipt in found:
        for raw, record, name in _read(contract, tool, receipt, rule, scope):
            if isinstance(raw, ExpressionError):
                return (_reason(slot, "claim.not_derivable", f"its filter fails: {raw.message}", "a filter that holds",
                                [receipt]),)  # fmt: skip
            try:
                values.append(_typed(slot.type, rule, raw, record))
            except ValueError as bad:
                return (_reason(slot, "claim.not_derivable", f"the receipt's value is not a {slot.type}: {bad}",
                                f"a receipt whose value is a {slot.type}", [receipt]),)  # fmt: skip
            conflicts.extend(_conflict(slot, receipt, name, raw))
    try:
        value = _AGGREGATES[rule.function](values, slot.type)
    except (ValueError, TypeError, IndexError, ArithmeticError) as bad:
        why = str(bad) or "nothing is there"
        return (_reason(slot, "claim.not_derivable", f"{rule.source}: {why}", "receipts that state it", found),)
    return Derived(value, tuple(found), tuple(r.digest for r in found), tuple(conflicts))


# ---------------------------------------------------------------- the receipts


def _usable(
    view: View, contract: Contract, tool: Tool, slot: Slot, scope: EntityRef | None
) -> tuple[list[ReceiptRecord], list[Reason]]:
    """Return the receipts of `tool` in scope that went well, one per call, or why there are none to rely on."""
    mine: list[ReceiptRecord] = []
    others: list[ReceiptRecord] = []
    for receipt in view.receipts_of(tool.name):
        if receipt.call is None or (receipt.call.effect == "preview" and tool.effect != "preview"):
            continue
        (mine if scope is None or records(contract, receipt, scope) else others).append(receipt)
    doubts = [
        c for c in (*view.doubts.values(), *view.open_calls.values())
        if c.tool == tool.name and c.effect == "write" and (scope is None or not c.targets or scope in c.targets)
    ]  # fmt: skip
    if doubts:
        return [], [
            _reason(slot, "doubt.open", f"whether call {c.id} of {c.tool} took effect is in doubt",
                    f"call {c.id} settled") for c in doubts
        ]  # fmt: skip
    by_call: dict[str, ReceiptRecord] = {}
    for receipt in mine:
        assert receipt.call is not None
        if receipt.body.cached_from is not None and receipt.call.effect == "write":
            continue  # it repeats another receipt: no second effect
        if not list(outcome(receipt)):
            by_call[receipt.call.id] = receipt
    if by_call:
        return list(by_call.values()), []
    if mine:
        return [], list(outcome(mine[-1])) or [_reason(slot, "evidence.repeated", "every receipt repeats another",
                                                       "a receipt of a call that ran", mine)]  # fmt: skip
    reads = (_lookup(tool, scope),)
    if others:
        text = f"{tool.name} was called for others, not for {scope}"
        wanted = f"a receipt of {tool.name} for {scope}"
        return [], [_reason(slot, "evidence.other_entity", text, wanted, others, reads)]
    text = f"no receipt of {tool.name}" + (f" for {scope}" if scope is not None else "")
    return [], [_reason(slot, "evidence.missing", text, f"a call of {tool.name}", (), reads)]


def _lookup(tool: Tool, scope: EntityRef | None) -> Read:
    args: dict[str, Any] = {}
    for expr in tool.target if scope is not None else ():
        path = expr.id.refs[0] if len(expr.id.refs) == 1 else ()
        if expr.kind == scope.kind and len(path) == 2 and path[0] == "args" and not expr.each:  # type: ignore[union-attr]  # the loop is empty without a scope
            args[path[1]] = scope.id  # type: ignore[union-attr]
    return Read(tool=tool.name, args=dumps(args))


def _written_since(view: View, tool: Tool, receipt: ReceiptRecord, scope: EntityRef | None) -> Reason | None:
    """Return why a receipt is void: a later write to what it is about, or to anything it lists."""
    stale = superseded(view, receipt, scope)
    if stale is not None or scope is not None:
        return stale
    for rule in tool.yields:
        for _, record in resolve_each(receipt.value, rule.at):
            stated = resolve(record, rule.id) if rule.id is not None else MISSING
            name = id_text(stated) if stated is not MISSING else None
            if name is None:
                continue
            stale = superseded(view, receipt, EntityRef(rule.kind, name))
            if stale is not None:
                return stale
    return None


# ---------------------------------------------------------------- the values


def _read(
    contract: Contract, tool: Tool, receipt: ReceiptRecord, rule: Derivation, scope: EntityRef | None
) -> Iterator[tuple[Any, Any, str]]:
    """Yield (raw value, the record it sits in, its name) at the pointer, filtered by `where` and by scope."""
    assert receipt.call is not None
    stars = [i for i, token in enumerate(rule.pointer) if token == "*"]
    depth = stars[-1] + 1 if stars else 0
    within = records(contract, receipt, scope) if scope is not None else []
    done = _done_items(tool, receipt, rule.pointer)
    for pointer, raw in resolve_each(receipt.value, rule.pointer):
        tokens = split(pointer)
        if within and not any(_overlap(tokens, r.tokens) for r in within):
            continue
        item = resolve(receipt.value, tokens[:depth])
        if done is not None and not done(item):
            continue
        if rule.where is not None:
            try:
                if rule.where.evaluate({"item": item, "args": receipt.call.args, "result": receipt.value}) is not True:
                    continue
            except ExpressionError as bad:
                yield bad, None, ""
                return
        yield raw, resolve(receipt.value, tokens[:-1]) if tokens else None, tokens[-1] if tokens else ""


def _overlap(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    shared = min(len(left), len(right))
    return left[:shared] == right[:shared]


def _done_items(tool: Tool, receipt: ReceiptRecord, pointer: tuple[str, ...]) -> Callable[[Any], bool] | None:
    """Of a batch that was only partly done, only the items that were done count."""
    batch = tool.batch
    if batch is None or receipt.call is None or receipt.call.outcome != "partial":
        return None
    if pointer[: len(batch.results)] != batch.results:
        return None
    left = {k for k, v in item_outcomes(tool, receipt).items() if v != "ok"}

    def done(item: Any) -> bool:
        stated = resolve(item, batch.result_key) if batch.result_key else item
        name = id_text(stated) if stated is not MISSING else None
        return name is not None and name not in left

    return done


def _typed(kind: Type, rule: Derivation, raw: Any, record: Any) -> Any:
    if rule.function == "count":
        return raw
    if rule.function in ("list", "set"):
        return exact(kind.item or Type(name="json"), raw, record)
    return exact(kind, raw, record)


def _identity(values: Sequence[Any], _: Type) -> Any:
    if len(values) != 1:
        raise ValueError("nothing is there" if not values else f"{len(values)} values are there")
    return values[0]


def _sum(values: Sequence[Any], kind: Type) -> Any:
    if not values:
        if kind.name == "money" and kind.unit is not None:
            return Money(Decimal(0), kind.unit)
        if kind.name == "quantity" and kind.unit is not None:
            return Quantity(Decimal(0), kind.unit)
        if kind.name in ("integer", "decimal"):
            return 0
        raise ValueError("a sum of nothing has no unit")
    if kind.name not in ("money", "quantity", "integer", "decimal"):
        raise ValueError(f"a {kind} cannot be added")
    units = {_unit_of(v) for v in values}
    if len(units) != 1:
        raise ValueError(f"different units: {', '.join(sorted(map(str, units)))}")
    with localcontext(EXACT):
        total = sum((getattr(v, "amount", v) for v in values), Decimal(0))
    return _rebuilt(values[0], total)


def _rebuilt(like: Any, amount: Decimal) -> Any:
    if isinstance(like, Money):
        return Money(amount, like.currency)
    if isinstance(like, Quantity):
        return Quantity(amount, like.unit)
    return amount


def _extreme(choose: Callable[..., Any]) -> Callable[[Sequence[Any], Type], Any]:
    def chosen(values: Sequence[Any], _: Type) -> Any:
        if len({_unit_of(v) for v in values}) > 1:
            raise ValueError("different units cannot be compared")
        return choose(values, key=lambda v: getattr(v, "amount", v))

    return chosen


_AGGREGATES: Final[dict[str, Callable[[Sequence[Any], Type], Any]]] = {
    "identity": _identity,
    "sum": _sum,
    "count": lambda values, _: len(values),
    "min": _extreme(min),
    "max": _extreme(max),
    "list": lambda values, _: tuple(values),
    "set": lambda values, _: frozenset(values),
    "first": lambda values, _: values[0],
    "last": lambda values, _: values[-1],
}


def _conflict(slot: Slot, receipt: ReceiptRecord, name: str, raw: Any) -> Iterator[Reason]:
    """Two channels of one result must agree, unless the slot's type says how the structured one is to be read."""
    if not name or slot.type.scale or (slot.type.item is not None and slot.type.item.scale):
        return
    others = other_readings(receipt, name, raw)
    if others:
        yield _reason(
            slot,
            "evidence.conflict",
            f"the structured result says {_show(raw)}, its text {', '.join(map(str, others[:3]))}",
            "a fresh read on which both agree",
            [receipt],
        )


# ---------------------------------------------------------------- facts


def _from_facts(view: View, slot: Slot, scope: EntityRef | None) -> Derived | tuple[Reason, ...]:
    """Evaluate the slot's CEL expression over fresh facts of its entity."""
    expr = slot.derive.expr
    assert expr is not None
    env: dict[str, Any] = {"task": view.task.bindings}
    facts = view.facts(scope) if scope is not None else {}
    reasons: list[Reason] = []
    used = []
    if scope is not None and slot.entity is not None:
        written = view.last_write(scope)
        env[slot.entity.alias] = {n: f.value for n, f in facts.items() if f.problem is None}
        for name in dict.fromkeys(r[1] for r in expr.refs if len(r) > 1 and r[0] == slot.entity.alias):
            fact = facts.get(name)
            if fact is None:
                reasons.append(_reason(slot, "evidence.missing", f"no receipt states {name} of {scope}",
                                       f"a receipt that states {name} of {scope}"))  # fmt: skip
            elif fact.problem is not None:
                text = f"{name} of {scope}: {fact.problem}"
                reasons.append(_reason(slot, "evidence.invalid", text, "a usable value"))
            elif fact.observed_seq < written:
                reasons.append(_reason(slot, "evidence.stale", f"{name} of {scope} was read before a later write to it",
                                       f"a read of {scope} after that write"))  # fmt: skip
            else:
                used.append(fact)
    if reasons:
        return tuple(reasons)
    try:
        value = expr.evaluate(env)
    except ExpressionError as bad:
        return (_reason(slot, "claim.not_derivable", f"`{expr.source}`: {bad.message}", "facts that settle it"),)
    try:
        value = slot.type.parse(value)
    except ValueError as bad:
        return (_reason(slot, "claim.not_derivable", f"`{expr.source}` gives no {slot.type}: {bad}", "a typed value"),)
    receipts = tuple(r for r in map(view.receipt, dict.fromkeys(f.receipt for f in used)) if r is not None)
    return Derived(value, receipts, tuple(dict.fromkeys(f.digest for f in used)))


def _show(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _reason(
    slot: Slot,
    code: str,
    message: str,
    reverses: str,
    receipts: Sequence[ReceiptRecord] = (),
    reads: tuple[Read, ...] = (),
) -> Reason:
    return Reason(
        code=code,
        message=f"`{slot.name}`: {message}",
        reverses=reverses,
        where=slot.name,
        refs=tuple(r.seq for r in receipts[:10]),
        reads=reads,
    )
