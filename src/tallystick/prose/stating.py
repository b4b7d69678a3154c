"""Whether a mention states a value of a declared type, and by which words the text says what the value is of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

from tallystick.contracts.terms import facts, sources
from tallystick.contracts.types import Slot
from tallystick.errors import InputError
from tallystick.model.certificate import lexical
from tallystick.model.values import Money, Quantity, Type, decimal_of, instant_of
from tallystick.prose.mentions import singular
from tallystick.prose.reading import Mention, MonthDay, Reading
from tallystick.prose.words import key_stems, stem

_WORD: Final = re.compile(r"[A-Za-z]+(?:['\u2019][a-z]+)?")
_SILENT: Final = frozenset(
    {
        "get",
        "list",
        "read",
        "fetch",
        "find",
        "lookup",
        "search",
        "look",
        "show",
        "the",
        "of",
        "id",
        "for",
        "in",
        "on",
        "at",
        "to",
        "by",
        "be",
        "from",
        "with",
        "and",
        "or",
        "an",
        "has",
        "have",
    }
)
_FAR: Final = 2_000
"""Characters from a value beyond which no word is its label."""
_PERCENT: Final = frozenset(map(stem, ("percent", "percentage", "pct", "rate")))
_UNITS: Final = {"lb": "pound", "oz": "ounce", "yr": "year", "pt": "point", "kilogram": "kg", "gram": "g",
                 "kilometer": "km", "kilometre": "km", "meter": "m", "metre": "m"}  # fmt: skip


def stems(*names: str) -> frozenset[str]:
    """Return the stems of the words in identifiers like `amount_due` or `invoiceTotal`, without what says nothing."""
    return frozenset(w for name in names for w in key_stems(name) if len(w) > 1 and w not in _SILENT)


def labels_of(slot: Slot) -> frozenset[str]:
    """Return the stems of the words a text would use for a slot: its name, and where the record has the value."""
    names = [slot.name]
    for _, source in sources(slot.derive.term):
        names += [source.tool, *(token for token in source.pointer if token != "*")]
    names += [ref[-1] for part in facts(slot.derive.term) for ref in part.expr.refs if len(ref) > 1]
    return stems(*names) - (stems(slot.entity.kind) if slot.entity is not None else frozenset())


def nearest(text: str, clause: tuple[int, int], at: int, end: int, known: Mapping[str, str]) -> str:
    """Return what the nearest known word in the clause says a value is of, or "".

    Args:
        text: the text.
        clause: bounds of the clause.
        at: where the value starts.
        end: where it ends.
        known: stem → what it stands for.
    """
    best, label = 10**9, ""
    for word in _WORD.finditer(text, max(clause[0], at - _FAR), min(clause[1], end + _FAR)):
        if at <= word.start() < end:
            continue
        found = known.get(stem(word[0]))
        # A word after a value counts a little farther away: `total 420, refund 99`.
        distance = at - word.end() if word.end() <= at else word.start() - end + 1
        if found is not None and distance < best:
            best, label = distance, found
    return label


# ---------------------------------------------------------------- values


def says(mention: Mention, type_: Type, value: Any, slot: frozenset[str], raws: Iterable[Any] = ()) -> bool:
    """Return whether one of the readings of a mention is exactly this value.

    Args:
        mention: what the text says.
        type_: the slot's type.
        value: the typed value.
        slot: the slot's labels: they say what a bare number counts.
        raws: the texts an instant was read from: their local time is as good as the instant.
    """
    return any(_is(r, type_, value, mention, slot, raws) for r in mention.readings)


def _is(reading: Reading, type_: Type, value: Any, mention: Mention, slot: frozenset[str], raws: Iterable[Any]) -> bool:
    said = reading.value
    if isinstance(value, (Money, Quantity)) and reading.kind == "number":
        return said == value.amount
    if isinstance(value, Quantity) and isinstance(said, Quantity):
        return said.amount == value.amount and _unit(said.unit) == _unit(value.unit)
    if isinstance(value, datetime):
        if reading.kind == "instant":
            return said == value
        return reading.kind == "datetime" and any(said == local for local in _local(value, raws))
    if isinstance(value, date):
        if isinstance(said, MonthDay):
            return said == (value.month, value.day)
        return (said.date() if isinstance(said, datetime) else said) == value
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return reading.number is not None and reading.number == value and _counts(reading, mention, type_, slot)
    return type(said) is type(value) and bool(said == value)


def _counts(reading: Reading, mention: Mention, type_: Type, slot: frozenset[str]) -> bool:
    """A bare number states an integer; one with a unit only where the slot's own name says that unit."""
    if reading.kind == "number":
        return True
    if isinstance(reading.value, Quantity):
        return stem(mention.noun or reading.value.unit) in slot
    if reading.kind == "percent":
        return bool(slot & _PERCENT)
    return reading.kind == "money" and type_.name == "decimal"


def _unit(name: str) -> str:
    known = singular(name.lower())
    return _UNITS.get(known, known)


def _local(value: datetime, raws: Iterable[Any]) -> Iterator[datetime]:
    for raw in raws:
        try:
            if isinstance(raw, str) and instant_of(raw) == value:
                yield datetime.fromisoformat(raw.upper()).replace(tzinfo=None)
        except ValueError:
            continue


def could_say(mention: Mention, type_: Type, slot: frozenset[str]) -> bool:
    """Return whether a mention could state some value of a type."""
    return any(_could(r, type_, mention, slot) for r in mention.readings)


def _could(reading: Reading, type_: Type, mention: Mention, slot: frozenset[str]) -> bool:
    name = type_.name
    if name == "money":
        return reading.kind == "money"
    if name == "quantity":
        return isinstance(reading.value, Quantity) and (
            type_.unit is None or _unit(reading.value.unit) == _unit(type_.unit)
        )
    if name in ("integer", "decimal"):
        return reading.number is not None and _counts(reading, mention, type_, slot)
    if name == "date":
        return reading.kind in ("date", "month_day", "datetime", "instant")
    if name == "instant":
        return reading.kind in ("datetime", "instant")
    return False


def claimable(mention: Mention, type_: Type, slot: frozenset[str]) -> Any:
    """Return what a mention says as an answer would state it, or None where no one value can be named."""
    fitting = [r for r in mention.readings if _could(r, type_, mention, slot)]
    if type_.name in ("money", "quantity") and type_.unit is not None:
        fitting = [r for r in fitting if _unit_of(r.value) == type_.unit] or fitting
    for reading in fitting:
        said = reading.value
        if isinstance(said, MonthDay) or (isinstance(said, datetime) and said.tzinfo is None):
            continue
        if type_.name == "date" and isinstance(said, datetime):
            said = said.date()
        if type_.name in ("integer", "decimal"):
            number = reading.number
            assert number is not None
            if type_.name == "integer":
                return int(number) if number == number.to_integral_value() else None
            said = number
        if type_.name == "quantity" and isinstance(said, Quantity):
            said = Quantity(said.amount, type_.unit or said.unit)
        return stated(said)
    return None


def _unit_of(value: Any) -> Any:
    return getattr(value, "currency", getattr(value, "unit", None))


def stated(value: Any) -> Any:
    """Return a typed value as an answer states it: exact JSON, whole numbers as numbers."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, int):
        return value
    if isinstance(value, (list, tuple)):
        return [stated(v) for v in value]
    if isinstance(value, (set, frozenset)):
        return sorted((stated(v) for v in value), key=repr)
    if isinstance(value, Mapping):
        return {k: stated(v) for k, v in value.items()}
    return lexical(value)


def folded(text: str) -> str:
    """Return a text as words compare: lower case, `_` and `-` as blanks."""
    return re.sub(r"[_\-]", " ", text).casefold()


def number_in(value: Any) -> Decimal | None:
    """Return the number a JSON value is or spells, or None."""
    try:
        return decimal_of(value.split()[0] if isinstance(value, str) and value.split() else value)
    except (ValueError, InputError, ArithmeticError):
        return None
