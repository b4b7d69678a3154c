"""Static kinds: what the checker knows about a value before the expression runs.

A kind comes from a declared type (`model.values.Type`) or from an operator's result. `json` is what nothing was
declared about: it can be compared for equality and looked into, but not ordered or calculated with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Final

from tallystick.model.values import Type


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """What the checker knows about a value.

    Attributes:
        name: text, integer, decimal, boolean, money, quantity, instant, duration, date, null, list, set, map, record,
            json.
        unit: currency or unit; `None` where it is only known when the expression runs.
        item: kind of the items of a list or set, or of the values of a map; `None` for an empty literal.
        fields: members of a record.
        open: a record may have members that were not declared; they are `json`.
        optional: the value may be null (or a member absent).
        literal: the value itself, for a literal number; it takes the unit of what it meets.
    """

    name: str
    unit: str | None = None
    item: Kind | None = None
    fields: Mapping[str, Kind] = field(default_factory=dict)
    open: bool = False
    optional: bool = False
    literal: Any = None

    def __str__(self) -> str:
        text = self.name
        if self.name in ("money", "quantity"):
            text = f"{self.name}({self.unit or '?'})"
        elif self.name in ("list", "set", "map") and self.item is not None:
            text = f"{self.name}({self.item})"
        return f"optional {text}" if self.optional else text

    @property
    def required(self) -> Kind:
        """The same kind, without null."""
        return replace(self, optional=False) if self.optional else self


TEXT: Final = Kind(name="text")
INTEGER: Final = Kind(name="integer")
DECIMAL: Final = Kind(name="decimal")
BOOLEAN: Final = Kind(name="boolean")
INSTANT: Final = Kind(name="instant")
DURATION: Final = Kind(name="duration")
DATE: Final = Kind(name="date")
NULL: Final = Kind(name="null")
JSON: Final = Kind(name="json")
OPEN_RECORD: Final = Kind(name="record", open=True)

_NAMES: Final = {"string": "text", "id": "text"}


def kind_of(type_: Type) -> Kind:
    """Return the kind of values that `type_` yields."""
    return Kind(
        name=_NAMES.get(type_.name, type_.name),
        unit=type_.unit,
        item=kind_of(type_.item) if type_.item is not None else JSON if type_.name in ("list", "set") else None,
        fields={name: kind_of(member) for name, member in type_.fields.items()},
        optional=type_.optional,
    )


def record_of(types: Mapping[str, Type], *, open_: bool = False) -> Kind:
    """Return the kind of a record whose members have `types`; further members are `json` where `open_`."""
    return Kind(name="record", fields={name: kind_of(t) for name, t in types.items()}, open=open_)


def literal_kind(value: Any) -> Kind:
    """Return the kind of a literal."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        return Kind(name="integer", literal=value)
    if isinstance(value, Decimal):
        return Kind(name="decimal", literal=value)
    return TEXT


def join(left: Kind, right: Kind) -> Kind | None:
    """Return the kind that covers both, or `None` where no kind but `json` would."""
    if left.name == "null":
        return replace(right, optional=True)
    if right.name == "null":
        return replace(left, optional=True)
    optional = left.optional or right.optional
    if left.name == right.name:
        if left.name in ("money", "quantity"):
            if left.unit and right.unit and left.unit != right.unit:
                return None
            return Kind(name=left.name, unit=left.unit if left.unit == right.unit else None, optional=optional)
        if left.name in ("list", "set", "map"):
            if left.item is None or right.item is None:
                return replace(left, item=left.item or right.item, optional=optional)
            item = join(left.item, right.item)
            return None if item is None else Kind(name=left.name, item=item, optional=optional)
        if left.name == "record" and left != right:
            return None
        return replace(left, optional=optional, literal=None)
    if "json" in (left.name, right.name):
        return JSON
    return None
