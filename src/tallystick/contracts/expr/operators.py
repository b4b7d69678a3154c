"""Equality and order: for two kinds, the exact function over their values, or a problem found at load.

A `Run` is a closure from the environment to a value. Every closure checks again, when it runs, the types it meets: a
value that is not what was declared is an `ExpressionError`, never an answer.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from tallystick.contracts.expr.kinds import Kind
from tallystick.contracts.expr.syntax import ExpressionProblem
from tallystick.errors import ExpressionError
from tallystick.model.values import Money, Quantity, same

Run = Callable[[Mapping[str, Any]], Any]
Test = Callable[[Mapping[str, Any]], bool]

NUMBERS: Final = ("integer", "decimal")
UNITS: Final = ("money", "quantity")
CLASS: Final[Mapping[str, type]] = {
    "text": str, "integer": int, "decimal": Decimal, "boolean": bool, "money": Money, "quantity": Quantity,
    "instant": datetime, "duration": timedelta, "date": date,
}  # fmt: skip
ORDERED: Final = ("text", "integer", "decimal", "money", "quantity", "instant", "duration", "date")
_TYPED: Final = (*UNITS, "instant", "duration", "date")
_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_FLIPPED: Final = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def shown(value: Any) -> str:
    """Return what kind of value this is, for a message; never the value, which may be secret."""
    if value is None:
        return "null"
    names = {bool: "a boolean", str: "a string", int: "an integer", Decimal: "a decimal", float: "a binary float",
             dict: "an object", list: "a list", tuple: "a list", frozenset: "a set", datetime: "an instant",
             date: "a date", timedelta: "a duration"}  # fmt: skip
    return names.get(type(value), f"a {type(value).__name__.lower()}")


def mismatch(expected: str, *values: Any) -> ExpressionError:
    """Return the error for operands that are not what was declared."""
    return ExpressionError(f"expected {expected}, got {' and '.join(shown(v) for v in values)}")


def declare_fix(kind: Kind) -> str:
    """Return how to make an undeclared value usable beside a value of `kind`."""
    unit = kind.unit or ("EUR" if kind.name == "money" else "kg")
    cast = {"money": f'money(…, "{unit}")', "quantity": f'quantity(…, "{unit}")', "instant": "timestamp(…)",
            "date": "date(…)", "integer": "int(…)", "text": "string(…)"}.get(kind.name, "decimal(…)")  # fmt: skip
    return f"declare its type, or say what it is: `{cast}`"


def _like_json(kind: Kind) -> bool:
    if kind.name in ("list", "map") and kind.item is not None:
        return _like_json(kind.item)
    return kind.name not in (*_TYPED, "set")


def comparable(left: Kind, right: Kind, at: int) -> None:
    """Refuse a comparison that could never hold, or whose answer would surprise.

    Raises:
        ExpressionProblem: different kinds, different currencies or units, or an amount beside an undeclared value.
    """
    if left.name == right.name:
        if left.unit and right.unit and left.unit != right.unit:
            raise ExpressionProblem(f"{left.required} and {right.required} are never comparable", at, "convert first")
        if left.item is not None and right.item is not None:
            comparable(left.item, right.item, at)
        return
    for one, other in ((left, right), (right, left)):
        if one.name in NUMBERS and other.name in NUMBERS:
            return
        if one.name == "null":
            if other.optional or other.name == "json":
                return
            raise ExpressionProblem(f"a {other} is never null", at, f"declare it `optional {other}`")
        if one.literal is not None and other.name in UNITS:
            return
        if one.name == "json":
            if _like_json(other):
                return
            raise ExpressionProblem(
                f"nothing was declared about one side, so it cannot be compared with {other.required}",
                at,
                declare_fix(other),
            )
        if one.name in NUMBERS and other.name in UNITS:
            what = "currency" if other.name == "money" else "unit"
            raise ExpressionProblem(
                f"a bare {one.required} has no {what}, so it cannot be compared with {other.required}",
                at,
                declare_fix(other),
            )
        if {one.name, other.name} == {"record", "map"}:
            return
    raise ExpressionProblem(f"{left.required} and {right.required} are never comparable", at)


def equality(op: str, left: Kind, right: Kind, run_l: Run, run_r: Run, at: int) -> Run:
    """Return the closure of `left op right` for `==` and `!=`.

    Raises:
        ExpressionProblem: see `comparable`.
    """
    comparable(left, right, at)
    compare = _COMPARE[op]
    if left.literal is not None and right.name in UNITS:
        return _amount_beside_literal(compare, CLASS[right.name], run_r, left.literal, optional=right.optional, op=op)
    if right.literal is not None and left.name in UNITS:
        return _amount_beside_literal(compare, CLASS[left.name], run_l, right.literal, optional=left.optional, op=op)
    if left.name == right.name and left.name in CLASS:
        if left.name in UNITS:
            return _amounts(compare, left, right, run_l, run_r, op)
        optional = left.optional or right.optional
        return _of_class(compare, CLASS[left.name], run_l, run_r, optional=optional, op=op)
    if left.name in NUMBERS and right.name in NUMBERS and not (left.optional or right.optional):
        return _numbers(compare, run_l, run_r)
    if op == "==":
        return lambda env: same(run_l(env), run_r(env))
    return lambda env: not same(run_l(env), run_r(env))


def order(op: str, left: Kind, right: Kind, run_l: Run, run_r: Run, at: int) -> Run:
    """Return the closure of `left op right` for `<`, `<=`, `>`, `>=`.

    Raises:
        ExpressionProblem: the kinds have no order, or not a common one.
    """
    for one, other in ((left, right), (right, left)):
        if one.name == "json":
            known = other if other.name in ORDERED and other.literal is None else Kind(name="decimal")
            raise ExpressionProblem("nothing was declared about this value, so it has no order", at, declare_fix(known))
        if one.name not in ORDERED:
            raise ExpressionProblem(f"{one} has no order", at)
    comparable(left, right, at)
    compare = _COMPARE[op]
    if left.literal is not None and right.name in UNITS:
        flipped = _COMPARE[_FLIPPED[op]]
        return _amount_beside_literal(flipped, CLASS[right.name], run_r, left.literal, optional=False, op=op)
    if right.literal is not None and left.name in UNITS:
        return _amount_beside_literal(compare, CLASS[left.name], run_l, right.literal, optional=False, op=op)
    if left.name in UNITS:
        return _amounts(compare, left.required, right.required, run_l, run_r, op)
    if left.name in NUMBERS:
        return _numbers(compare, run_l, run_r)
    return _of_class(compare, CLASS[left.name], run_l, run_r, optional=False, op=op)


def _either_null(x: Any, y: Any, op: str) -> bool:
    return (x is y) if op == "==" else (x is not y)


def _of_class(
    compare: Callable[[Any, Any], bool], cls: type, run_l: Run, run_r: Run, *, optional: bool, op: str
) -> Run:
    def run(env: Mapping[str, Any]) -> bool:
        x, y = run_l(env), run_r(env)
        # `type(x) is`, not isinstance: a bool is an int and a datetime is a date for Python, never for a contract.
        if type(x) is cls and type(y) is cls:
            return compare(x, y)
        if optional and (x is None or y is None):
            return _either_null(x, y, op)
        raise mismatch(f"two values of type {cls.__name__}", x, y)

    return run


def _numbers(compare: Callable[[Any, Any], bool], run_l: Run, run_r: Run) -> Run:
    def run(env: Mapping[str, Any]) -> bool:
        x, y = run_l(env), run_r(env)
        kind_x, kind_y = type(x), type(y)
        if (kind_x is Decimal or kind_x is int) and (kind_y is Decimal or kind_y is int):
            return compare(x, y)
        raise mismatch("two exact numbers", x, y)

    return run


def _amounts(compare: Callable[[Any, Any], bool], left: Kind, right: Kind, run_l: Run, run_r: Run, op: str) -> Run:
    optional = left.optional or right.optional
    money = left.name == "money"

    def run(env: Mapping[str, Any]) -> bool:
        x, y = run_l(env), run_r(env)
        if money and type(x) is Money and type(y) is Money:
            if x.currency == y.currency:
                return compare(x.amount, y.amount)
            raise ExpressionError(f"{x.currency} and {y.currency} are not comparable")
        if type(x) is Quantity and type(y) is Quantity:
            if x.unit == y.unit:
                return compare(x.amount, y.amount)
            raise ExpressionError(f"`{x.unit}` and `{y.unit}` are not comparable")
        if optional and (x is None or y is None):
            return _either_null(x, y, op)
        raise mismatch(f"two values of type {left.name}", x, y)

    return run


def _amount_beside_literal(
    compare: Callable[[Any, Any], bool], cls: type, run: Run, literal: Any, *, optional: bool, op: str
) -> Run:
    # `invoice.amount_due > 10000.00`: the literal is an amount in that very currency or unit.
    def beside(env: Mapping[str, Any]) -> bool:
        x = run(env)
        if type(x) is cls:
            return compare(x.amount, literal)  # type: ignore[attr-defined]  # cls is Money or Quantity
        if optional and x is None:
            return op == "!="
        raise mismatch(f"a {cls.__name__.lower()}", x)

    return beside
