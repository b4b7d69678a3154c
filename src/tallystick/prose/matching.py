"""Whether a fact states the value a mention does: exact, whatever the spelling; never rounded unless said to be."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import ROUND_FLOOR, Decimal
from functools import lru_cache
from typing import Any, Final, Literal

from tallystick.model.values import Quantity
from tallystick.prose.facts import NAME_KEY, Fact
from tallystick.prose.mentions import mentions
from tallystick.prose.reading import Mention, MonthDay, Reading
from tallystick.prose.words import key_stems, stem, stemmed

How = Literal["", "exact", "size", "unit", "text"]
"""exact; the size of a negative number; another unit of time; inside a longer text; "" not at all."""
_SECONDS: Final = {"second": 1, "minut": 60, "hour": 3600, "day": 86400, "week": 604800, "min": 60}
_NOT_MONEY: Final = stemmed(
    {"point", "quantity", "qty", "count", "minute", "hour", "day", "month", "year", "rating", "weight", "stop", "bag",
     "review", "stock", "pct", "percent", "number", "attempt", "night", "passenger", "guest", "room", "lb", "kg"}
)  # fmt: skip
_MONEY: Final = stemmed(
    {"price", "cost", "fee", "amount", "total", "subtotal", "refund", "charge", "credit", "balance", "paid", "pay",
     "discount", "difference", "fare", "rate", "tax", "due", "deposit", "surcharge", "value", "cash", "penalty",
     "compensation", "saving", "clawback", "bonus", "budget", "salary", "revenue", "payment"}
)  # fmt: skip

_SHARES: Final = stemmed({"pct", "percent", "percentage", "rate", "discount", "tax", "share", "ratio"})


@lru_cache(maxsize=32768)
def read(text: str) -> tuple[Mention, ...]:
    """Return the mentions of a text of the record."""
    return mentions(text[:2000])


def is_moneylike(key: str) -> bool:
    """Return whether a field's name may hold an amount of money."""
    stems = key_stems(key)
    return not stems & _NOT_MONEY and bool(stems & _MONEY)


def holds_money(fact: Fact) -> bool:
    """Return whether a field may hold money by its own name, or, where that says nothing, by that of its object."""
    stems = key_stems(fact.key)
    if stems & _NOT_MONEY:
        return False
    if stems & _MONEY:
        return True
    around = next((t for t in reversed(fact.pointer[:-1]) if isinstance(t, str)), "")
    return fact.thing.primary is None and bool(key_stems(around) & _MONEY)


def states(mention: Mention, fact: Fact) -> How:
    """Return how a fact states the value of a mention, or ""."""
    return states_value(mention, fact.value, fact.key)


def states_value(mention: Mention, value: Any, key: str = "") -> How:
    """Return how a JSON scalar under a key states the value of a mention, or ""."""
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, (int, Decimal)):
        return _number(mention, Decimal(value), key)
    if not isinstance(value, str):
        return ""
    if mention.kind in ("id", "code") and any(
        isinstance(r.value, str) and r.value.lower() == value.lower() for r in mention.readings
    ):
        return "exact"
    found = read(value)
    if len(found) == 1 and found[0].start == 0 and found[0].end == len(value):
        return "exact" if agrees(mention, found[0]) else ""
    if len(value) > 20 and any(c.isdigit() for c in key):
        found = (*found, *read(key.replace("_", " ")))  # rules are often filed under what they are for
    if NAME_KEY.search(key) and mention.kind in ("money", "percent", "duration"):
        return ""  # `7-Port Hub` states no seven
    if mention.kind == "money":
        found = tuple(other for other in found if other.kind == "money" or not other.text.isalpha())
    return "text" if any(agrees(mention, other) for other in found) else ""


def _number(mention: Mention, value: Decimal, key: str) -> How:
    stems = key_stems(key)
    if mention.kind in ("date", "month_day", "time", "datetime", "instant", "code", "quoted", "status", "boolean"):
        return ""
    if mention.kind == "id" and not mention.numbers:
        return ""
    if mention.kind == "money" and stems & _NOT_MONEY and not stems & _MONEY:
        return ""
    if mention.kind == "percent":
        if value in mention.numbers and (stems & _SHARES):
            return "exact"
        return "exact" if 0 < abs(value) < 1 and value * 100 in mention.numbers else ""
    if mention.kind == "duration":
        for reading in mention.readings:
            if isinstance(reading.value, timedelta):
                for name, seconds in _SECONDS.items():
                    if stem(name) in stems and value * seconds == Decimal(reading.value.total_seconds()):
                        return "exact" if value in mention.numbers else "unit"
        units = {key_unit for key_unit in _SECONDS if stem(key_unit) in stems}
        return "exact" if value in mention.numbers and not units and not is_moneylike(key) else ""
    if mention.kind == "quantity":
        unit = next((r.value.unit for r in mention.readings if isinstance(r.value, Quantity)), "")
        if value not in mention.numbers:
            return ""
        if is_moneylike(key) and unit not in ("point", "credit"):
            return ""
        return "exact"
    if value in mention.numbers:
        return "exact"
    if -value in mention.numbers:
        return "size"
    if mention.approximate == "about" and any(
        n == value.quantize(Decimal(1), rounding=ROUND_FLOOR) or n == round(value) for n in mention.numbers
    ):
        return "size"
    return ""


def agrees(mention: Mention, other: Mention) -> bool:
    """Return whether two mentions may state the same value."""
    return any(_same(a, b) for a in mention.readings for b in other.readings)


def _same(said: Reading, held: Reading) -> bool:
    one, two = said.value, held.value
    if isinstance(one, MonthDay):
        if isinstance(two, MonthDay):
            return one == two
        return isinstance(two, date) and (two.month, two.day) == (one.month, one.day)
    if said.kind == "date" and isinstance(two, date):
        return (two.date() if isinstance(two, datetime) else two) == one
    if said.kind == "time":
        if isinstance(two, datetime):
            return two.timetz() == one or two.time() == one
        return one == two
    if isinstance(one, datetime):
        return isinstance(two, datetime) and one.replace(tzinfo=None) == two.replace(tzinfo=None)
    if isinstance(one, timedelta):
        return one == two
    if isinstance(one, str):
        return isinstance(two, str) and one.lower() == two.lower() and held.kind in ("id", "code", "quoted", "status")
    if said.kind == "percent" or held.kind == "percent":
        return said.kind == held.kind and one == two
    if isinstance(one, Quantity) and isinstance(two, Quantity):
        return one.amount == two.amount and one.unit == two.unit
    if said.number is None or held.number is None:
        return False
    if {said.kind, held.kind} == {"money", "quantity"}:
        return False
    return said.number == held.number
