"""Arithmetic on exact values: integers are 64-bit as in CEL, decimals never round, amounts keep their currency."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import Context, Decimal, DecimalException, DivisionByZero, Inexact, InvalidOperation, Overflow
from typing import Any, Final

from tallystick.contracts.expr.kinds import DATE, DECIMAL, DURATION, INSTANT, INTEGER, TEXT, Kind, join
from tallystick.contracts.expr.operators import CLASS, NUMBERS, UNITS, Run, declare_fix, mismatch
from tallystick.contracts.expr.parser import INT_MAX, INT_MIN
from tallystick.contracts.expr.syntax import ExpressionProblem
from tallystick.errors import ExpressionError
from tallystick.model.values import Money, Quantity

MAX_ITEMS: Final = 100_000
"""Most items of a list, and characters of a string, that an expression may build."""
EXACT: Final = Context(
    prec=1_000, Emax=999_999, Emin=-999_999, traps=[Inexact, InvalidOperation, DivisionByZero, Overflow]
)
"""Wide enough for any amount; a result that would have to be rounded (`1.0 / 3.0`) is an error instead."""
_DECIMAL: Final[Mapping[str, Callable[[Decimal, Decimal], Decimal]]] = {
    "+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply, "/": EXACT.divide,
}  # fmt: skip


def exact(op: str, x: Decimal, y: Decimal) -> Decimal:
    """Return `x op y` exactly.

    Raises:
        ExpressionError: division by zero, or a result that would have to be rounded.
    """
    try:
        return _DECIMAL[op](x, y)
    except DivisionByZero:
        raise ExpressionError("division by zero") from None
    except DecimalException as bad:
        if op == "/" and not y:
            raise ExpressionError("division by zero") from None
        name = type(bad).__name__.lower()
        raise ExpressionError(f"the result of `{op}` cannot be written exactly ({name})") from None


def whole(op: str, x: int, y: int) -> int:
    """Return `x op y` as CEL's int64 does: `/` truncates towards zero, `%` has the sign of `x`.

    Raises:
        ExpressionError: division by zero, or a result outside 64 bits.
    """
    if op == "+":
        result = x + y
    elif op == "-":
        result = x - y
    elif op == "*":
        result = x * y
    elif y == 0:
        raise ExpressionError("division by zero")
    else:
        quotient = abs(x) // abs(y)
        if (x < 0) != (y < 0):
            quotient = -quotient
        result = quotient if op == "/" else x - quotient * y
    if INT_MIN <= result <= INT_MAX:
        return result
    raise ExpressionError(f"integer overflow in `{op}`")


def arithmetic(op: str, left: Kind, right: Kind, run_l: Run, run_r: Run, at: int) -> tuple[Kind, Run]:
    """Return kind and closure of `left op right`, op one of `+ - * / %`.

    Raises:
        ExpressionProblem: no such operation on these kinds; CEL converts nothing silently, and neither does this.
    """
    for one, other in ((left, right), (right, left)):
        if one.name == "json":
            known = other if other.name not in ("json", "list", "map") and other.literal is None else DECIMAL
            raise ExpressionProblem(
                "nothing was declared about this value, so it cannot be calculated with", at, declare_fix(known)
            )
        if one.optional:
            raise ExpressionProblem(f"{one} cannot be calculated with", at, "declare it without `optional`")
    pair = (left.name, right.name)
    if pair == ("integer", "integer"):
        return INTEGER, _checked(op, int, int, run_l, run_r, lambda x, y: whole(op, x, y))
    if op != "%" and left.name in NUMBERS and right.name in NUMBERS:
        _unmixed(left, right, at)
        return DECIMAL, _numeric(op, run_l, run_r)
    if op != "%" and (left.name in UNITS or right.name in UNITS):
        found = _with_unit(op, left, right, run_l, run_r, at)
        if found is not None:
            return found
    if pair == ("text", "text") and op == "+":
        return TEXT, _checked(op, str, str, run_l, run_r, _joined)
    if pair == ("list", "list") and op == "+":
        kind = join(left, right)
        if kind is None:
            raise ExpressionProblem(f"{left} and {right} hold different kinds", at)
        return kind, lambda env: _joined(_list(run_l(env)), _list(run_r(env)))
    timed = _TIMES.get((op, *pair))
    if timed is not None:
        kind, function = timed
        return kind, _checked(op, CLASS[left.name], CLASS[right.name], run_l, run_r, function)
    raise ExpressionProblem(f"`{op}` is not defined for {left} and {right}", at)


def negation(kind: Kind, run: Run, at: int) -> tuple[Kind, Run]:
    """Return kind and closure of `-operand`."""
    if kind.name == "integer":
        return INTEGER, _checked_one(int, run, lambda x: whole("-", 0, x))
    if kind.name == "decimal" and not kind.optional:
        return DECIMAL, _checked_one(Decimal, run, lambda x: x.copy_negate())
    if kind.name in UNITS and not kind.optional:
        return kind, lambda env: _scaled(run(env), "*", Decimal(-1))
    if kind.name == "duration":
        return kind, _checked_one(timedelta, run, operator.neg)
    fix = declare_fix(DECIMAL) if kind.name == "json" else None
    raise ExpressionProblem(f"`-` is not defined for {kind}", at, fix)


def _unmixed(left: Kind, right: Kind, at: int) -> None:
    for one, other in ((left, right), (right, left)):
        # An integer literal beside a decimal is that number; an integer variable is not silently made one (CEL).
        if one.name == "integer" and one.literal is None and other.name == "decimal":
            raise ExpressionProblem("an integer and a decimal are not mixed silently", at, "write `decimal(…)`")


def _with_unit(op: str, left: Kind, right: Kind, run_l: Run, run_r: Run, at: int) -> tuple[Kind, Run] | None:
    if left.name == right.name:
        if left.unit and right.unit and left.unit != right.unit:
            raise ExpressionProblem(f"{left} and {right} cannot be combined", at, "convert first")
        kind = left if left.unit else right
        if op in ("+", "-"):
            return kind, lambda env: _added(run_l(env), op, run_r(env))
        if op == "/":
            return DECIMAL, lambda env: _ratio(run_l(env), run_r(env))
        return None
    if left.name in UNITS and right.name in NUMBERS:
        if op in ("*", "/"):
            return left, lambda env: _scaled(run_l(env), op, run_r(env))
        if right.literal is not None and op in ("+", "-"):
            return left, lambda env: _shifted(run_l(env), op, right.literal)
    if left.name in NUMBERS and right.name in UNITS and op == "*":
        return right, lambda env: _scaled(run_r(env), op, run_l(env))
    return None


def unit_of(value: Any) -> str:
    """Return the currency or unit of an amount.

    Raises:
        ExpressionError: not an amount.
    """
    if type(value) is Money:
        return value.currency
    if type(value) is Quantity:
        return value.unit
    raise mismatch("an amount", value)


def _amount(like: Any, amount: Decimal) -> Any:
    return Money(amount, like.currency) if type(like) is Money else Quantity(amount, like.unit)


def _added(x: Any, op: str, y: Any) -> Any:
    if unit_of(x) != unit_of(y) or type(x) is not type(y):
        raise ExpressionError(f"{unit_of(x)} and {unit_of(y)} cannot be combined")
    return _amount(x, exact(op, x.amount, y.amount))


def _shifted(x: Any, op: str, literal: Any) -> Any:
    unit_of(x)
    return _amount(x, exact(op, x.amount, Decimal(literal)))


def _ratio(x: Any, y: Any) -> Decimal:
    if unit_of(x) != unit_of(y) or type(x) is not type(y):
        raise ExpressionError(f"{unit_of(x)} and {unit_of(y)} cannot be combined")
    return exact("/", x.amount, y.amount)


def _scaled(x: Any, op: str, factor: Any) -> Any:
    unit_of(x)
    return _amount(x, exact(op, x.amount, _decimal(factor)))


def _decimal(value: Any) -> Decimal:
    if type(value) is Decimal:
        return value
    if type(value) is int:
        return Decimal(value)
    raise mismatch("an exact number", value)


def _numeric(op: str, run_l: Run, run_r: Run) -> Run:
    return lambda env: exact(op, _decimal(run_l(env)), _decimal(run_r(env)))


def _checked(op: str, cls_l: type, cls_r: type, run_l: Run, run_r: Run, function: Callable[[Any, Any], Any]) -> Run:
    def run(env: Mapping[str, Any]) -> Any:
        x, y = run_l(env), run_r(env)
        if type(x) is cls_l and type(y) is cls_r:
            return function(x, y)
        raise mismatch(f"operands of `{op}`", x, y)

    return run


def _checked_one(cls: type, run_operand: Run, function: Callable[[Any], Any]) -> Run:
    def run(env: Mapping[str, Any]) -> Any:
        x = run_operand(env)
        if type(x) is cls:
            return function(x)
        raise mismatch("an operand of `-`", x)

    return run


def _list(value: Any) -> tuple[Any, ...]:
    if isinstance(value, (list, tuple)):
        return tuple(value)
    raise mismatch("a list", value)


def _joined(x: Any, y: Any) -> Any:
    if len(x) + len(y) > MAX_ITEMS:
        raise ExpressionError(f"`+` would build more than {MAX_ITEMS} characters or items")
    return x + y


def _moved(sign: int) -> Callable[[Any, Any], Any]:
    def move(start: Any, by: timedelta) -> Any:
        try:
            return start + sign * by
        except OverflowError:
            raise ExpressionError("the instant is out of range") from None

    return move


def _date_moved(sign: int) -> Callable[[Any, Any], Any]:
    move = _moved(sign)

    def whole_days(start: Any, by: timedelta) -> Any:
        if by % timedelta(days=1):
            raise ExpressionError("a civil date moves by whole days (24h) only")
        return move(start, by)

    return whole_days


_TIMES: Final[Mapping[tuple[str, str, str], tuple[Kind, Callable[[Any, Any], Any]]]] = {
    ("-", "instant", "instant"): (DURATION, operator.sub),
    ("+", "instant", "duration"): (INSTANT, _moved(1)),
    ("-", "instant", "duration"): (INSTANT, _moved(-1)),
    ("+", "duration", "instant"): (INSTANT, lambda by, start: _moved(1)(start, by)),
    ("+", "duration", "duration"): (DURATION, _moved(1)),
    ("-", "duration", "duration"): (DURATION, _moved(-1)),
    ("-", "date", "date"): (DURATION, operator.sub),
    ("+", "date", "duration"): (DATE, _date_moved(1)),
    ("-", "date", "duration"): (DATE, _date_moved(-1)),
}
