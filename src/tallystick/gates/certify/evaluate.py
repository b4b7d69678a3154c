"""Evaluating a derivation over the receipts a claim refers to: exact, typed, and within bounds.

Only the stated references are read, never the rest of the record: which receipts a derivation should have read is
another check's question. Money is added only to money of its currency; nothing is rounded or converted.
Source: evidence-carrying termination, check 5 (value replay).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext
from typing import Any, Final

from tallystick.contracts.exact import exact
from tallystick.contracts.expr.clock import zone_of
from tallystick.contracts.expr.macros import BUDGET
from tallystick.contracts.terms import FUNCTIONS, operands
from tallystick.contracts.types import Apply, Constant, Contract, Facts, Period, Source, Term, Tool
from tallystick.errors import ExpressionError
from tallystick.gates.certify.exhibits import Dates, Exhibit, period_of
from tallystick.gates.channels import Channels
from tallystick.gates.claim_evidence import records
from tallystick.model.canonical import canonical
from tallystick.model.certificate import value_of
from tallystick.model.exact import tagged
from tallystick.model.pointer import MISSING, join, resolve, resolve_each, split
from tallystick.model.values import EXACT, EntityRef, Money, Quantity, Type, date_of, instant_of
from tallystick.view import ReceiptRecord, View
from tallystick.view.fold_calls import item_outcomes
from tallystick.view.keys import id_text

MAX_STEPS: Final = 1_000_000
"""Most steps of one claim's evaluation: values read, nodes of filtered items, macro steps."""
MAX_TOTAL: Final = 5_000_000
"""Most steps of all claims of one certificate together."""
MAX_VALUES: Final = 100_000
"""Most values a derivation ranges over."""


class NotDerivableError(Exception):
    """The stated derivation gives no value; `code` and `message` say why."""

    def __init__(self, message: str, code: str = "claim.not_derivable") -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class Evaluation:
    """The evaluation of one claim's derivation.

    Attributes:
        conflicts: where the two channels of a result that was read say different things.
    """

    def __init__(self, view: View, contract: Contract, exhibit: Exhibit, *, steps: int = MAX_STEPS) -> None:
        self.view = view
        self.contract = contract
        self.exhibit = exhibit
        self.steps = [steps]
        self.conflicts: list[tuple[ReceiptRecord, str]] = []
        self._channels: dict[str, Channels] = {}

    def value(self, term: Term, wanted: Type) -> Any:
        """Return the value of a term as one of type `wanted`.

        Raises:
            NotDerivableError: the references do not give exactly one such value, or not within bounds.
        """
        self._spend(1)
        if isinstance(term, Constant):
            return _constant(term, wanted)
        if isinstance(term, Facts):
            return self._facts(term, wanted)
        if isinstance(term, Source):
            term = Apply(function="identity", args=(term,))
        try:
            inner = operands(term, wanted)
            first = term.args[0]
            if FUNCTIONS[term.function].takes == "values" and isinstance(first, Source):
                return _AGGREGATES[term.function](self._values(first, term.function, inner[0]), wanted)
            values = [self.value(arg, type_) for arg, type_ in zip(term.args, inner, strict=True)]
            return _COMBINED[term.function](values, wanted, term)
        except (ValueError, TypeError, IndexError, ArithmeticError, OverflowError) as bad:
            raise NotDerivableError(str(bad) or "nothing is there") from None

    def _spend(self, steps: int) -> None:
        self.steps[0] -= steps
        if self.steps[0] < 0:
            raise NotDerivableError("it takes too many steps", "derivation.bounds")

    # ------------------------------------------------------------------ sources

    def _values(self, source: Source, function: str, kind: Type) -> list[Any]:
        values: list[Any] = []
        for receipt in self.exhibit.of(source):
            for raw, record, tokens in self._read(source, receipt):
                self._spend(1)
                if len(values) >= MAX_VALUES:
                    raise NotDerivableError(f"more than {MAX_VALUES} values", "derivation.bounds")
                if raw is MISSING:
                    raise NotDerivableError(f"nothing that could count stands at `{_short(join(tokens))}`")
                if function != "count":
                    self._agreeing(receipt, source, tokens, raw, kind)
                try:
                    values.append(raw if function == "count" else exact(kind, raw, record))
                except ValueError as bad:
                    raise NotDerivableError(f"the receipt's value is not a {kind}: {bad}") from None
        return values

    def _read(self, source: Source, receipt: ReceiptRecord) -> Iterator[tuple[Any, Any, tuple[str, ...]]]:
        """Yield (raw value, the record it sits in, its place), of the scope and the period, and as the filter says.

        Where an item has no such value it is `MISSING`: to pass the item over would be to say that there is none.
        """
        scope, tool = self.exhibit.scope, self.contract.tools[source.tool]
        stars = [i for i, token in enumerate(source.pointer) if token == "*"]
        depth = stars[-1] + 1 if stars else 0
        within = records(self.contract, receipt, scope) if scope is not None else None
        done = _done_items(tool, receipt, source.pointer)
        dated = self._dated(receipt)
        for pointer, raw in resolve_each(receipt.value, source.pointer, gaps=bool(stars)):
            tokens = split(pointer)
            if within is not None and not any(overlap(tokens, r.tokens) for r in within):
                continue
            if raw is MISSING and (len(tokens) < depth or source.pointer[len(tokens) : len(tokens) + 1] == ("*",)):
                yield raw, None, tokens  # nobody can tell the items there
                continue
            item = resolve(receipt.value, tokens[:depth])
            if (done is not None and not done(item)) or (dated is not None and not dated(item)):
                continue
            if source.where is not None and not self._holds(source, receipt, item):
                continue
            yield raw, resolve(receipt.value, tokens[:-1]) if tokens else None, tokens

    def _holds(self, source: Source, receipt: ReceiptRecord, item: Any) -> bool:
        where, call = source.where, receipt.call
        assert where is not None
        assert call is not None
        self._spend(_cost(where.source, item, receipt.value if any(r[0] == "result" for r in where.refs) else None))
        env = {"item": item, "args": call.args, "result": receipt.value, "task": self.view.task.bindings,
               BUDGET: self.steps}  # fmt: skip
        try:
            return where.evaluate(env) is True
        except ExpressionError as bad:
            self._spend(0)
            raise NotDerivableError(f"its filter fails: {bad.message}") from None

    def _dated(self, receipt: ReceiptRecord) -> Callable[[Any], bool] | None:
        """Return the test whether an item lies in the claim's period, where the slot has one."""
        period, dates = period_of(self.exhibit.slot), self.exhibit.dates
        if period is None or dates is None:
            return None
        return lambda item: in_period(period, dates, receipt, item)

    def _agreeing(self, receipt: ReceiptRecord, source: Source, tokens: tuple[str, ...], raw: Any, kind: Type) -> None:
        # Where the type says how the structured channel is to be read (minor units), the text need not repeat it so.
        if receipt.body.structured is None or not receipt.text or not tokens or kind.scale:
            return
        channels = self._channels.get(receipt.id)
        if channels is None:
            channels = self._channels[receipt.id] = Channels(receipt.text)
            self._spend(len(receipt.text) // 16)
        other = channels.otherwise(tokens, raw, alone="*" not in source.pointer)
        if other is not None:
            self.conflicts.append((receipt, f"the structured result says {_short(raw)}, its text {_short(other)}"))

    # ------------------------------------------------------------------ facts

    def _facts(self, term: Facts, wanted: Type) -> Any:
        """Evaluate CEL over what the references state of the claim's entity."""
        slot, scope = self.exhibit.slot, self.exhibit.scope
        env: dict[str, Any] = {"task": self.view.task.bindings, BUDGET: self.steps}
        if slot is not None and slot.entity is not None and scope is not None:
            known: dict[str, Any] = {}
            for cited in self.exhibit.cited:
                if cited.receipt is None or cited.tokens is None:
                    continue
                for name, raw, record in facts_at(self.contract, cited.receipt, cited.tokens, scope):
                    value = self._fact(scope, name, raw, record)
                    if name in known and known[name] != value:
                        raise NotDerivableError(f"the references state {name} of {scope} in two ways")
                    known[name] = value
            env[slot.entity.alias] = known
        self._spend(len(term.expr.source))
        try:
            value = term.expr.evaluate(env)
        except ExpressionError as bad:
            self._spend(0)
            raise NotDerivableError(f"`{term.expr.source}`: {bad.message}") from None
        try:
            return wanted.parse(value)
        except ValueError as bad:
            raise NotDerivableError(f"`{term.expr.source}` gives no {wanted}: {bad}") from None

    def _fact(self, scope: EntityRef, name: str, raw: Any, record: Any) -> Any:
        kind = self.contract.entities.get(scope.kind)
        declared = kind.fields.get(name) if kind is not None else None
        try:
            return raw if declared is None else exact(declared, raw, record)
        except ValueError as bad:
            raise NotDerivableError(f"{name} of {scope}: {bad}", "evidence.invalid") from None


def facts_at(
    contract: Contract, receipt: ReceiptRecord, tokens: tuple[str, ...], scope: EntityRef
) -> Iterator[tuple[str, Any, Any]]:
    """Yield (field, raw value, record) for the facts about `scope` that a declared yield reads at that very place."""
    call = receipt.call
    tool = contract.tools.get(call.tool) if call is not None else None
    for rule in tool.yields if tool is not None else ():
        depth = len(rule.at)
        if rule.kind != scope.kind or len(tokens) < depth or not _matches(rule.at, tokens):
            continue
        names = [name for name, place in rule.fields.items() if place == tokens[depth:]]
        record = resolve(receipt.value, tokens[:depth])
        assert call is not None
        stated = call.args.get(rule.id_arg, MISSING) if rule.id_arg is not None else resolve(record, rule.id or ())
        raw = resolve(receipt.value, tokens)
        if names and raw is not MISSING and stated is not MISSING and id_text(stated) == scope.id:
            yield from ((name, raw, record) for name in names)


def _matches(pattern: tuple[str, ...], tokens: tuple[str, ...]) -> bool:
    return all(want in ("*", have) for want, have in zip(pattern, tokens, strict=False))


def overlap(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    """Return whether one of two places holds the other."""
    shared = min(len(left), len(right))
    return left[:shared] == right[:shared]


def in_period(period: Period, dates: Dates, receipt: ReceiptRecord, item: Any) -> bool:
    """Return whether an item (or the call, where an argument is the date) is dated within a period.

    Raises:
        NotDerivableError: it has no date that can be read.
    """
    call = receipt.call
    if period.arg is not None:
        stated = call.args.get(period.arg, MISSING) if call is not None else MISSING
    else:
        stated = resolve(item, period.at)
    try:
        if stated is MISSING:
            raise ValueError("it has no date")
        day = date_of(stated) if period.zone is None else instant_of(stated).astimezone(zone_of(period.zone, 0)).date()
    except (ValueError, OverflowError) as bad:
        raise NotDerivableError(f"the period cannot be told: {bad}") from None
    return dates[0] <= day <= dates[1]


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


def _cost(expression: str, item: Any, result: Any) -> int:
    """Return the steps one test of a filter is charged: what it may have to look through."""
    factor = 16 if any(word in expression for word in ("matches", "mentions", "covers")) else 1
    return 1 + factor * (_size(item) + (_size(result) if result is not None else 0))


def _size(value: Any) -> int:
    total, stack = 0, [value]
    while stack and total <= MAX_STEPS:
        here = stack.pop()
        total += 1
        if isinstance(here, str):
            total += len(here) // 16
        elif isinstance(here, Mapping):
            stack.extend(here.values())
        elif isinstance(here, (list, tuple)):
            stack.extend(here)
    return total


def _constant(term: Constant, wanted: Type) -> Any:
    try:
        return value_of(wanted, term.value)
    except ValueError:
        pass
    try:
        return exact(wanted, term.value)
    except ValueError as bad:
        raise NotDerivableError(f"the constant is no {wanted}: {bad}") from None


# ---------------------------------------------------------------- aggregates over the values of a source


def _identity(values: Sequence[Any], _: Type) -> Any:
    if len(values) != 1:
        raise ValueError("nothing is there" if not values else f"{len(values)} values are there")
    return values[0]


def unit_of(value: Any) -> Any:
    """Return the currency or unit of an amount, None of anything else."""
    return getattr(value, "currency", getattr(value, "unit", None))


def _sum(values: Sequence[Any], kind: Type) -> Any:
    if not values:
        if kind.name == "money" and kind.unit is not None:
            return Money(Decimal(0), kind.unit)
        if kind.name == "quantity" and kind.unit is not None:
            return Quantity(Decimal(0), kind.unit)
        if kind.name in ("integer", "decimal"):
            return _number(Decimal(0), kind)
        raise ValueError("a sum of nothing has no unit")
    _one_unit(values)
    with localcontext(EXACT):
        total = sum((Decimal(getattr(v, "amount", v)) for v in values), Decimal(0))
    return _rebuilt(values[0], total, kind)


def _one_unit(values: Sequence[Any]) -> None:
    units = {unit_of(v) for v in values}
    if len(units) > 1:
        raise ValueError(f"different units: {', '.join(sorted(map(str, units)))}")


def _rebuilt(like: Any, amount: Decimal, kind: Type) -> Any:
    if isinstance(like, Money):
        return Money(amount, like.currency)
    if isinstance(like, Quantity):
        return Quantity(amount, like.unit)
    return _number(amount, kind)


def _number(amount: Decimal, kind: Type) -> Any:
    return kind.parse(amount) if kind.name == "integer" else amount


def _extreme(choose: Callable[..., Any]) -> Callable[[Sequence[Any], Type], Any]:
    def chosen(values: Sequence[Any], _: Type) -> Any:
        _one_unit(values)
        return choose(values, key=lambda v: getattr(v, "amount", v))

    return chosen


def _set(values: Sequence[Any], kind: Type) -> frozenset[Any]:
    found = frozenset(values)
    if (kind.item is None or kind.item.name == "json") and len({canonical(tagged(v)) for v in values}) != len(found):
        raise ValueError("values that only look alike, like 1 and true")
    return found


_AGGREGATES: Final[dict[str, Callable[[Sequence[Any], Type], Any]]] = {
    "identity": _identity,
    "lookup": _identity,
    "sum": _sum,
    "count": lambda values, kind: _number(Decimal(len(values)), kind) if kind.name == "integer" else len(values),
    "min": _extreme(min),
    "max": _extreme(max),
    "list": lambda values, _: tuple(values),
    "set": _set,
    "first": lambda values, _: values[0],
    "last": lambda values, _: values[-1],
}


# ---------------------------------------------------------------- functions over other terms


def _difference(values: Sequence[Any], kind: Type, _: Apply) -> Any:
    _one_unit(values)
    left, right = (Decimal(getattr(v, "amount", v)) for v in values)
    return _rebuilt(values[0], EXACT.subtract(left, right), kind)


def _moved(sign: int) -> Callable[[Sequence[Any], Type, Apply], Any]:
    def moved(values: Sequence[Any], _: Type, term: Apply) -> Any:
        seconds = int(term.option[:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[term.option[-1]]
        return values[0] + timedelta(seconds=sign * seconds)

    return moved


def _day(values: Sequence[Any], _: Type, term: Apply) -> date:
    instant: datetime = values[0]
    return instant.astimezone(UTC if term.option == "UTC" else zone_of(term.option, 0)).date()


_COMBINED: Final[dict[str, Callable[[Sequence[Any], Type, Apply], Any]]] = {
    "sum": lambda values, kind, _: _sum(values, kind),
    "min": lambda values, kind, _: _extreme(min)(values, kind),
    "max": lambda values, kind, _: _extreme(max)(values, kind),
    "count": lambda values, _, __: len(values[0]),
    "difference": _difference,
    "union": lambda values, _, __: frozenset().union(*values),
    "intersect": lambda values, _, __: frozenset.intersection(*values),
    "minus": lambda values, _, __: values[0] - values[1],
    "days": lambda values, _, __: (values[1] - values[0]).days,
    "after": _moved(1),
    "before": _moved(-1),
    "day": _day,
    "record": lambda values, _, term: dict(zip(term.names, values, strict=True)),
}


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."
