"""Exact values: money, quantities, instants, civil dates, entities. No binary float anywhere.

Declared types (`money(EUR)`, `quantity(kg)`, `instant`, `date`, `id`, …) turn what a receipt says into these values and
compare them exactly. A type either yields a value or raises `ValueError`; it never rounds and never guesses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Context, Decimal, InvalidOperation, localcontext
from typing import Any, Final, NamedTuple

EXACT: Final = Context(prec=10_000, Emax=999_999, Emin=-999_999)
"""Arithmetic context wide enough that sums of amounts and the product of two never round (4,000 digits each)."""


class EntityRef(NamedTuple):
    """An entity: an opaque id string with a kind. `EntityRef("order", "42")` and `("order_uuid", "42")` differ."""

    kind: str
    id: str

    def __str__(self) -> str:
        return f"{self.kind}({self.id})"


@dataclass(frozen=True, slots=True)
class Money:
    """An exact amount in major units of an ISO 4217 currency. Equal only where amount and currency are equal."""

    amount: Decimal
    currency: str

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Money):
            return NotImplemented
        return self.currency == other.currency and self.amount == other.amount

    def __hash__(self) -> int:
        return hash((self.currency, self.amount))

    def __str__(self) -> str:
        return f"{plain(self.amount)} {self.currency}"


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact number with a unit. Units are compared as written; nothing is converted."""

    amount: Decimal
    unit: str

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self.unit == other.unit and self.amount == other.amount

    def __hash__(self) -> int:
        return hash((self.unit, self.amount))

    def __str__(self) -> str:
        return f"{plain(self.amount)} {self.unit}"


def plain(number: Decimal) -> str:
    """Return `number` without exponent, digit for digit (`Decimal("1E+3")` → `1000`)."""
    return format(number, "f")


# ISO 4217 minor-unit exponents that are not 2 (the list the standard publishes; everything else is 2).
_EXPONENTS: Final[Mapping[str, int]] = {
    **dict.fromkeys(
        ("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF",
         "XOF", "XPF"), 0),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
    "CLF": 4, "UYW": 4,
}  # fmt: skip


def exponent_of(currency: str) -> int:
    """Return the ISO 4217 minor-unit exponent of `currency` (EUR 2, JPY 0, KWD 3)."""
    return _EXPONENTS.get(currency, 2)


_DECIMAL: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_GROUPED: Final = re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+\.[0-9]+|[+-]?[0-9]{1,3}(,[0-9]{3}){2,}")
_CURRENCY: Final = re.compile(r"[A-Z]{3}")


def decimal_of(value: Any) -> Decimal:
    """Return the exact decimal that a JSON number or a plain decimal string states.

    A string may group thousands with commas only where that reading is the only one (`1,299.00`, `1,299,000`);
    `1,299` and `1.299,00` are refused. A float is read through its shortest repr, as JSON would have written it.

    Raises:
        ValueError: not a number, ambiguous, or not finite.
    """
    if isinstance(value, str):
        return _decimal_of_text(value)
    if isinstance(value, bool):
        raise ValueError("a boolean is not a number")
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"`{value}` is not a finite number")
        return value
    if isinstance(value, float):
        number = Decimal(float.__repr__(value))
        if not number.is_finite():
            raise ValueError(f"`{value}` is not a finite number")
        return number
    raise ValueError(f"a {type(value).__name__} is not a number")


def _decimal_of_text(value: str) -> Decimal:
    text = value.strip()
    if len(text) > 4_000:
        raise ValueError("a number of more than 4000 characters")
    if _DECIMAL.fullmatch(text):
        return Decimal(text)
    if _GROUPED.fullmatch(text):
        return Decimal(text.replace(",", ""))
    raise ValueError(f"`{value[:60]}` is not one unambiguous decimal number")


_INSTANT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.([0-9]+))?)?([Zz]|[+-][0-9]{2}:[0-9]{2})?"
)


def instant_of(value: Any) -> datetime:
    """Return the UTC instant an RFC 3339 text states (seconds may be left out, as ISO 8601 allows).

    Raises:
        ValueError: not RFC 3339, without a zone (a local time is not an instant), finer than a microsecond (it would
            have to be rounded), or outside the years 1 to 9999.
    """
    if not isinstance(value, str):
        raise ValueError(f"a {type(value).__name__} is not an instant")
    found = _INSTANT.fullmatch(value)
    if found is None:
        raise ValueError(f"`{value[:60]}` is not an RFC 3339 instant")
    if found[4] is None:
        raise ValueError(f"`{value[:60]}` has no time zone, so it is not an instant")
    if found[3] and found[3][6:].strip("0"):
        raise ValueError(f"`{value[:60]}` is finer than a microsecond, which is not kept exactly")
    try:
        return datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"`{value[:60]}` is not an RFC 3339 instant") from None


_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def date_of(value: Any) -> date:
    """Return the civil date an ISO 8601 `YYYY-MM-DD` text states. It has no zone and is never converted.

    Raises:
        ValueError: any other shape.
    """
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        raise ValueError(f"`{str(value)[:60]}` is not a civil date like 2026-03-11")
    return date.fromisoformat(value)


SCALARS: Final = ("string", "id", "integer", "decimal", "boolean", "money", "quantity", "instant", "date", "json")
"""Type names without items. `json` is untyped: equality only, no arithmetic, no order."""
CONTAINERS: Final = ("list", "set", "record")


@dataclass(frozen=True, kw_only=True, slots=True)
class Type:
    """A declared type.

    Attributes:
        name: one of `SCALARS` or `CONTAINERS`.
        unit: currency of `money`, unit of `quantity`; `None` for `money` whose currency a sibling field states.
        unit_from: for `money`/`quantity`: JSON Pointer, relative to the record the value sits in, that states it.
        scale: digits the written integer is shifted by (`money(EUR, minor)` has 2, milliunits have 3); 0 is major.
        item: type of the items of `list` and `set`.
        fields: types of the members of `record`.
        optional: a JSON null (or an absent member) is allowed and stands for "stated to be nothing".
    """

    name: str
    unit: str | None = None
    unit_from: str | None = None
    scale: int = 0
    item: Type | None = None
    fields: Mapping[str, Type] = field(default_factory=dict)
    optional: bool = False

    def parse(self, value: Any, *, unit: str | None = None) -> Any:
        """Return the exact value that JSON `value` states under this type.

        Args:
            value: a JSON value as `jsontext.loads` makes it.
            unit: the currency or unit read through `unit_from`, where the type needs one.

        Raises:
            ValueError: `value` does not state a value of this type.
        """
        if value is None:
            if self.optional:
                return None
            raise ValueError(f"null is not a {self}")
        return _PARSERS[self.name](self, value, unit)

    def __str__(self) -> str:
        if self.name in ("money", "quantity"):
            inside = self.unit or self.unit_from or "?"
            return f"{self.name}({inside}{f', scale {self.scale}' if self.scale else ''})"
        if self.item is not None:
            return f"{self.name}({self.item})"
        if self.fields:
            members = (f"{name}: {'optional ' if t.optional else ''}{t}" for name, t in self.fields.items())
            return f"{self.name}({', '.join(members)})"
        return self.name


def _parse_text(_: Type, value: Any, __: str | None) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected a string, got {_kind(value)}")
    return value


def _parse_id(_: Type, value: Any, __: str | None) -> str:
    # Ids are opaque; an integer id is its digits. Anything else (1.0, true) is another id or none.
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"expected an id (a string or an integer), got {_kind(value)}")


def _parse_integer(_: Type, value: Any, __: str | None) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    raise ValueError(f"expected an integer, got {_kind(value)}")


def _parse_decimal(_: Type, value: Any, __: str | None) -> Decimal:
    return decimal_of(value)


def _parse_boolean(_: Type, value: Any, __: str | None) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError(f"expected true or false, got {_kind(value)}")


def _parse_money(type_: Type, value: Any, unit: str | None) -> Money:
    currency = unit or type_.unit
    amount: Any = value
    if isinstance(value, Money):
        if currency and value.currency != currency:
            raise ValueError(f"expected {currency}, got {value.currency}")
        return value
    if isinstance(value, str):
        # "32.50 USD" and "USD 32.50" state their own currency; it must be the declared one.
        words = value.split()
        if len(words) == 2:
            stated = [w for w in words if _CURRENCY.fullmatch(w)]
            if len(stated) == 1:
                amount = words[1] if words[0] == stated[0] else words[0]
                if currency and stated[0] != currency:
                    raise ValueError(f"expected {currency}, got {stated[0]}")
                currency = stated[0]
                return Money(decimal_of(amount), currency)
    if currency is None:
        raise ValueError("an amount without a currency is not money")
    number = decimal_of(amount)
    if type_.scale:
        if number != number.to_integral_value():
            raise ValueError(f"`{value}` is not a whole number of minor units")
        with localcontext(EXACT):
            number = number.scaleb(-type_.scale)
    return Money(number, currency)


def _parse_quantity(type_: Type, value: Any, unit: str | None) -> Quantity:
    if isinstance(value, Quantity):
        return value
    stated = unit or type_.unit
    if isinstance(value, str) and len(words := value.split()) == 2 and stated in (None, words[1]):
        # A text that names its unit is in that unit, whatever scale bare numbers are written in.
        return Quantity(decimal_of(words[0]), words[1])
    if stated is None:
        raise ValueError("a quantity without a unit")
    number = decimal_of(value)
    if type_.scale:
        with localcontext(EXACT):
            number = number.scaleb(-type_.scale)
    return Quantity(number, stated)


def _parse_instant(_: Type, value: Any, __: str | None) -> datetime:
    return value if isinstance(value, datetime) else instant_of(value)


def _parse_date(_: Type, value: Any, __: str | None) -> date:
    return value if type(value) is date else date_of(value)


def _parse_json(_: Type, value: Any, __: str | None) -> Any:
    return value


def _parse_list(type_: Type, value: Any, unit: str | None) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"expected a list, got {_kind(value)}")
    item = type_.item or Type(name="json")
    return tuple(item.parse(v, unit=unit) for v in value)


def _parse_set(type_: Type, value: Any, unit: str | None) -> frozenset[Any]:
    items = _parse_list(type_, sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value, unit)
    try:
        found = frozenset(items)
    except TypeError:
        raise ValueError("items of a set must be scalars") from None
    if len(found) != len(items):
        raise ValueError("a set states one item twice")
    return found


def _parse_record(type_: Type, value: Any, _: str | None) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"expected a record, got {_kind(value)}")
    unknown = [k for k in value if k not in type_.fields]
    if unknown:
        raise ValueError(f"unknown member `{unknown[0]}`")
    return {k: t.parse(value.get(k)) for k, t in type_.fields.items()}


_PARSERS: Final = {
    "string": _parse_text, "id": _parse_id, "integer": _parse_integer, "decimal": _parse_decimal,
    "boolean": _parse_boolean, "money": _parse_money, "quantity": _parse_quantity, "instant": _parse_instant,
    "date": _parse_date, "json": _parse_json, "list": _parse_list, "set": _parse_set, "record": _parse_record,
}  # fmt: skip


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", int: "an integer", bool: "a boolean"}
    return names.get(type(value), f"a {type(value).__name__.lower()}")


def same(left: Any, right: Any) -> bool:
    """Return whether two values are the same value: numbers by exact value, never across kinds, lists item by item.

    `1` and `Decimal("1.0")` are the same number; `True` and `1` are not the same value; a string never equals a number.
    """
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    numbers = (int, Decimal, float)
    if isinstance(left, numbers) and isinstance(right, numbers):
        try:
            return decimal_of(left) == decimal_of(right)
        except (ValueError, InvalidOperation):
            return False
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(v, right[k]) for k, v in left.items())
    return type(left) is type(right) and bool(left == right)
