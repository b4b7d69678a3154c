"""Named functions: conversions, strings, sizes, instants. Each says what it takes and returns kind and closure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from tallystick.contracts.expr.arithmetic import MAX_ITEMS, exact, unit_of
from tallystick.contracts.expr.clock import GETTERS, duration_of, duration_text, zone_of
from tallystick.contracts.expr.kinds import (
    BOOLEAN,
    DATE,
    DECIMAL,
    DURATION,
    INSTANT,
    INTEGER,
    TEXT,
    Kind,
)
from tallystick.contracts.expr.operators import Run, mismatch
from tallystick.contracts.expr.parser import INT_MAX, INT_MIN
from tallystick.contracts.expr.regex import Pattern, StepsExceededError
from tallystick.contracts.expr.syntax import ExpressionProblem, Literal, Node
from tallystick.contracts.expr.words import covers, mentions, mentions_any
from tallystick.errors import ExpressionError
from tallystick.model.values import Money, Quantity, Type, date_of, decimal_of, instant_of, plain

Typed = tuple[Kind, Run]
Argument = tuple[Node, Kind, Run]


def _one_of(name: str, argument: Argument, *names: str) -> Run:
    node, kind, run = argument
    if kind.name in names and not kind.optional:
        return run
    what = f"{kind}, which may be null" if kind.optional else str(kind)
    raise ExpressionProblem(f"`{name}` does not take {what}", node.at, f"it takes {' or '.join(names)}")


def _literal_text(name: str, argument: Argument) -> str:
    node = argument[0]
    if isinstance(node, Literal) and isinstance(node.value, str):
        return node.value
    raise ExpressionProblem(f"`{name}` needs a string literal here", node.at)


def _converted(name: str, run: Run, convert: Callable[[Any], Any]) -> Run:
    def converted(env: Mapping[str, Any]) -> Any:
        value = run(env)
        try:
            return convert(value)
        except ExpressionError:
            raise
        except (ValueError, ArithmeticError) as bad:
            raise ExpressionError(f"`{name}`: {bad}") from None

    return converted


def _to_int(value: Any) -> int:
    if type(value) is str:
        digits = value[1:] if value[:1] in ("-", "+") else value
        if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
            raise ExpressionError("`int`: the text is not a whole number")
        value = int(value)
    if type(value) is Decimal:
        if value != value.to_integral_value():
            raise ExpressionError("`int`: the number is not whole")
        value = int(value)
    if type(value) is not int:
        raise mismatch("a number", value)
    if not INT_MIN <= value <= INT_MAX:
        raise ExpressionError("`int`: out of the range of 64-bit integers")
    return value


def _to_text(value: Any) -> str:
    if type(value) is str:
        return value
    if value is True or value is False:
        return "true" if value else "false"
    if type(value) is int:
        return str(value)
    if type(value) is Decimal:
        return plain(value)
    if type(value) is datetime:
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if type(value) is date:
        return value.isoformat()
    if type(value) is timedelta:
        return duration_text(value)
    raise mismatch("a scalar", value)


def _int(args: list[Argument]) -> Typed:
    run = _one_of("int", args[0], "integer", "decimal", "text", "json")
    return INTEGER, _converted("int", run, _to_int)


def _decimal(args: list[Argument]) -> Typed:
    _, kind, run = args[0]
    if kind.name in ("money", "quantity") and not kind.optional:

        def amount(env: Mapping[str, Any]) -> Decimal:
            value = run(env)
            unit_of(value)
            return value.amount  # type: ignore[no-any-return]

        return DECIMAL, amount
    return DECIMAL, _converted("decimal", _one_of("decimal", args[0], "integer", "decimal", "text", "json"), decimal_of)


def _string(args: list[Argument]) -> Typed:
    names = ("text", "integer", "decimal", "boolean", "instant", "date", "duration", "json")
    return TEXT, _converted("string", _one_of("string", args[0], *names), _to_text)


def _money(args: list[Argument]) -> Typed:
    run, unit = (
        _one_of("money", args[0], "integer", "decimal", "text", "json", "money"),
        _literal_text("money", args[1]),
    )
    if not (len(unit) == 3 and unit.isascii() and unit.isupper()):
        raise ExpressionProblem(
            f"`{unit}` is not an ISO 4217 currency code", args[1][0].at, "write three capitals: `EUR`"
        )
    type_ = Type(name="money", unit=unit)
    return Kind(name="money", unit=unit), _converted("money", run, type_.parse)


def _quantity(args: list[Argument]) -> Typed:
    run = _one_of("quantity", args[0], "integer", "decimal", "text", "json")
    unit = _literal_text("quantity", args[1])
    return Kind(name="quantity", unit=unit), _converted("quantity", run, Type(name="quantity", unit=unit).parse)


def _timestamp(args: list[Argument]) -> Typed:
    run = _one_of("timestamp", args[0], "text", "instant", "json")
    return INSTANT, _converted("timestamp", run, lambda v: v if type(v) is datetime else instant_of(v))


def _duration(args: list[Argument]) -> Typed:
    run = _one_of("duration", args[0], "text", "duration", "json")
    return DURATION, _converted("duration", run, lambda v: v if type(v) is timedelta else duration_of(v))


def _date(args: list[Argument]) -> Typed:
    if len(args) == 2:
        zone = zone_of(_literal_text("date", args[1]), args[1][0].at)
        run = _one_of("date", args[0], "instant")

        def day(env: Mapping[str, Any]) -> date:
            value = run(env)
            if type(value) is not datetime:
                raise mismatch("an instant", value)
            return value.astimezone(zone).date()

        return DATE, day
    run = _one_of("date", args[0], "text", "date", "json")
    return DATE, _converted("date", run, lambda v: v if type(v) is date else date_of(v))


def _size(args: list[Argument]) -> Typed:
    run = _one_of("size", args[0], "text", "list", "set", "map", "record", "json")

    def size(env: Mapping[str, Any]) -> int:
        value = run(env)
        if isinstance(value, (str, list, tuple, frozenset, Mapping)):
            return len(value)
        raise mismatch("a string, list or map", value)

    return INTEGER, size


def _sum(args: list[Argument]) -> Typed:
    node, kind, run = args[0]
    item = kind.item
    if (
        kind.name != "list"
        or item is None
        or item.optional
        or item.name not in ("integer", "decimal", "money", "quantity")
    ):
        raise ExpressionProblem(f"`sum` does not take {kind}", node.at, "give it a list of numbers or amounts")
    name, unit = item.name, item.unit

    def total(env: Mapping[str, Any]) -> Any:
        values = run(env)
        if name in ("integer", "decimal"):
            result = Decimal(0)
            for value in values:
                if type(value) not in (int, Decimal):
                    raise mismatch("a number", value)
                result = exact("+", result, Decimal(value))
            return result if name == "decimal" else _to_int(result)
        units = {unit_of(value) for value in values} or {unit or ""}
        if len(units) != 1 or "" in units:
            raise ExpressionError("`sum` of amounts needs one known currency or unit")
        result = Decimal(0)
        for value in values:
            result = exact("+", result, value.amount)
        (only,) = units
        return Money(result, only) if name == "money" else Quantity(result, only)

    return item, total


def _abs(args: list[Argument]) -> Typed:
    run = _one_of("abs", args[0], "integer", "decimal", "money", "quantity", "duration")

    def absolute(env: Mapping[str, Any]) -> Any:
        value = run(env)
        if type(value) is Money:
            return Money(value.amount.copy_abs(), value.currency)
        if type(value) is Quantity:
            return Quantity(value.amount.copy_abs(), value.unit)
        if type(value) is Decimal:
            return value.copy_abs()
        if type(value) is int:
            return _to_int(abs(value))
        if type(value) is timedelta:
            return abs(value)
        raise mismatch("a number", value)

    return args[0][1], absolute


def _text_test(name: str, test: Callable[[str, str], bool]) -> Callable[[list[Argument]], Typed]:
    def build(args: list[Argument]) -> Typed:
        run_x, run_y = (_one_of(name, a, "text", "json") for a in args)

        def run(env: Mapping[str, Any]) -> bool:
            x, y = run_x(env), run_y(env)
            if type(x) is str and type(y) is str:
                return test(x, y)
            raise mismatch("two strings", x, y)

        return BOOLEAN, run

    return build


def _matches(args: list[Argument]) -> Typed:
    run = _one_of("matches", args[0], "text", "json")
    try:
        pattern = Pattern(_literal_text("matches", args[1]))
    except ValueError as bad:
        raise ExpressionProblem(f"not a usable pattern: {bad}", args[1][0].at, "use RE2 syntax") from None

    def matches(env: Mapping[str, Any]) -> bool:
        value = run(env)
        if type(value) is not str:
            raise mismatch("a string", value)
        if len(value) > MAX_ITEMS:
            raise ExpressionError(f"`matches` on more than {MAX_ITEMS} characters")
        try:
            return pattern.search(value)
        except StepsExceededError:
            raise ExpressionError("`matches` would take too long on this text") from None

    return BOOLEAN, matches


def _mentions(args: list[Argument]) -> Typed:
    run_text = _one_of("mentions", args[0], "text", "json")
    run_value = _one_of("mentions", args[1], "text", "integer", "decimal", "money", "quantity", "json", "list")

    def mentioned(env: Mapping[str, Any]) -> bool:
        text, value = run_text(env), run_value(env)
        if type(text) is not str:
            raise mismatch("a string", text)
        if len(text) > MAX_ITEMS:
            raise ExpressionError(f"`mentions` on more than {MAX_ITEMS} characters")
        try:
            return mentions_any(text, value) if isinstance(value, (list, tuple)) else mentions(text, value)
        except TypeError:
            raise mismatch("a text or number to look for", value) from None

    return BOOLEAN, mentioned


def _covers(args: list[Argument]) -> Typed:
    run_text, run_name = (_one_of("covers", a, "text", "json") for a in args)

    def covered(env: Mapping[str, Any]) -> int:
        text, name = run_text(env), run_name(env)
        if type(text) is not str or type(name) is not str:
            raise mismatch("two strings", text, name)
        if len(text) > MAX_ITEMS:
            raise ExpressionError(f"`covers` on more than {MAX_ITEMS} characters")
        return covers(text, name)

    return INTEGER, covered


def _getter(name: str) -> Callable[[list[Argument]], Typed]:
    function = GETTERS[name]

    def build(args: list[Argument]) -> Typed:
        kind = args[0][1]
        if kind.name == "duration" and name in ("getHours", "getMinutes", "getSeconds", "getMilliseconds"):
            if len(args) > 1:
                raise ExpressionProblem("a duration has no zone", args[1][0].at)
            unit = {"getHours": 3600, "getMinutes": 60, "getSeconds": 1}.get(name)
            run_duration = args[0][2]
            return INTEGER, lambda env: _duration_part(run_duration(env), unit)
        run = _one_of(name, args[0], "instant")
        zone = zone_of(_literal_text(name, args[1]), args[1][0].at) if len(args) > 1 else UTC

        def get(env: Mapping[str, Any]) -> int:
            value = run(env)
            if type(value) is not datetime:
                raise mismatch("an instant", value)
            return function(value.astimezone(zone))

        return INTEGER, get

    return build


def _duration_part(value: Any, unit: int | None) -> int:
    if type(value) is not timedelta:
        raise mismatch("a duration", value)
    micro = value // timedelta(microseconds=1)
    sign = -1 if micro < 0 else 1
    if unit is None:
        return sign * (abs(micro) // 1_000 % 1_000)
    return sign * (abs(micro) // (unit * 1_000_000))


Builder = Callable[[list[Argument]], Typed]
FUNCTIONS: Final[Mapping[str, tuple[tuple[int, ...], Builder]]] = {
    "int": ((1,), _int), "decimal": ((1,), _decimal), "string": ((1,), _string), "money": ((2,), _money),
    "quantity": ((2,), _quantity), "timestamp": ((1,), _timestamp), "duration": ((1,), _duration),
    "date": ((1, 2), _date), "size": ((1,), _size), "sum": ((1,), _sum), "abs": ((1,), _abs),
    "matches": ((2,), _matches),
}  # fmt: skip
"""Global functions: numbers of arguments, builder."""
METHODS: Final[Mapping[str, tuple[tuple[int, ...], Builder]]] = {
    "startsWith": ((2,), _text_test("startsWith", str.startswith)),
    "endsWith": ((2,), _text_test("endsWith", str.endswith)),
    "contains": ((2,), _text_test("contains", str.__contains__)),
    "matches": ((2,), _matches),
    "mentions": ((2,), _mentions),
    "covers": ((2,), _covers),
    "size": ((1,), _size),
    **{name: ((1, 2), _getter(name)) for name in GETTERS},
}
"""Receiver functions; the receiver counts as the first argument."""
UNSUPPORTED: Final[Mapping[str, str]] = {
    "double": "there are no binary floats here; write `decimal(…)`",
    "uint": "write `int(…)`",
    "bytes": "compare strings",
    "type": "declare the type instead",
    "dyn": "values nothing was declared about are `json` already",
    "bool": "compare with `== true`",
}
