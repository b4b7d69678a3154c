"""What a piece of text may mean: a mention, with every exact value it can be read as."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Literal, NamedTuple

from tallystick.model.values import Money, Quantity

Kind = Literal[
    "money", "number", "percent", "ordinal", "date", "month_day", "time", "datetime", "instant", "duration",
    "quantity", "id", "code", "quoted", "boolean", "status",
]  # fmt: skip
"""What kind of value a reading is.

money: `Money`. number, percent, ordinal: `Decimal` (`40%` is 40). date: civil `date`. month_day: `MonthDay`, a date
without a year. time: `time` of day. datetime: local, without a zone. instant: in UTC. duration: `timedelta`. quantity:
`Quantity`, the unit in the singular. id, code (a word in capitals), quoted, status: text. boolean: `bool`.
"""


class MonthDay(NamedTuple):
    """A day of a year that was not said."""

    month: int
    day: int


Value = Decimal | Money | Quantity | date | datetime | time | timedelta | MonthDay | str | bool


@dataclass(frozen=True, slots=True)
class Reading:
    """One exact value a mention may state."""

    kind: Kind
    value: Value

    @property
    def number(self) -> Decimal | None:
        """The bare number of an amount, quantity, percentage, ordinal or number, else None."""
        if isinstance(self.value, Decimal):
            return self.value
        return self.value.amount if isinstance(self.value, (Money, Quantity)) else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Mention:
    """A value that a text mentions.

    Attributes:
        start: offset of its first character.
        end: offset after its last.
        text: the characters between.
        readings: all exact values it may state, the most usual first. More than one is an ambiguity: whoever needs
            one value must find that only one of them fits.
        noun: for a number, the word counted (`3 nights`: `night`), in lower case and singular, or "".
        edge: whether it is an end of a range (`June 10-14`), or "".
        approximate: said to be about so much, at least or at most so much.
        negated: for a status or boolean, said not to hold.
    """

    start: int
    end: int
    text: str
    readings: tuple[Reading, ...]
    noun: str = ""
    edge: Literal["", "low", "high"] = ""
    approximate: Literal["", "about", "least", "most"] = ""
    negated: bool = False

    @property
    def kind(self) -> Kind:
        """Kind of the most usual reading."""
        return self.readings[0].kind

    @property
    def numbers(self) -> tuple[Decimal, ...]:
        """The bare numbers among the readings, without repetition."""
        return tuple(dict.fromkeys(n for r in self.readings if (n := r.number) is not None))

    def values(self, kind: Kind) -> tuple[Value, ...]:
        """Return the values of one kind among the readings."""
        return tuple(r.value for r in self.readings if r.kind == kind)
