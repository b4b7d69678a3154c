"""Synthesis corruption (F7): the right evidence, and a value that is a little off but of the right type."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from tallystick.model.values import Type


def corrupted(type_: Type, value: Any) -> Any:
    """Return another value of the same type, in lexical form, close to `value`."""
    if type_.name in ("money", "quantity"):
        amount, unit = str(value).split()
        return f"{Decimal(amount) + Decimal('0.9')} {unit}"
    if type_.name == "integer":
        return str(int(value) + 1)
    if type_.name == "date":
        return (date.fromisoformat(value) + timedelta(days=1)).isoformat()
    if type_.name == "instant":
        return str(value).replace(":15:", ":45:")
    if type_.name in ("string", "id"):
        return f"{value}0"
    if type_.name in ("list", "set"):
        return value[:-1] if value else ["none-of-them"]
    if type_.name == "record":
        name = next(k for k, t in type_.fields.items() if t.name == "integer")
        return {**value, name: str(int(value[name]) + 1)}
    raise NotImplementedError(type_.name)
