"""Declared types as JSON Schema, for the tool through which an agent states what its answer contains.

Amounts are text with their unit (`"420.00 EUR"`), so that no number on the wire has to be exact; a type's wire scale
(`money(EUR minor)`) says how a tool writes it and not how a person does, so it does not appear here.
Source: JSON Schema 2020-12; the subset that function calling with strict schemas takes (every object closed, no
conditionals, no `uniqueItems`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tallystick.model.values import Type

_NUMBER: Final = r"[+-]?[0-9]+(\.[0-9]+)?"
_DATE: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_INSTANT: Final = rf"{_DATE}T[0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,6}})?)?(Z|[+-][0-9]{{2}}:[0-9]{{2}})"
_ANY: Final = ("string", "number", "boolean", "object", "array")


def schema_of(type_: Type, *, strict: bool = False) -> dict[str, Any]:
    """Return the JSON Schema of the values an agent may state for a declared type.

    Args:
        type_: the type.
        strict: leave out what strict function schemas do not take, and list every member of a record as required (one
            that may be absent is then nullable, as it is in the type).
    """
    schema = _schema(type_, strict)
    return _nullable(schema) if type_.optional else schema


def nullable(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema that takes null as well: where a member may be left out and strict schemas know no way to."""
    return _nullable(schema)


def _nullable(schema: Mapping[str, Any]) -> dict[str, Any]:
    named = schema.get("type")
    if named is None:
        return dict(schema)
    types = [named] if isinstance(named, str) else list(named)
    return {**schema, "type": types if "null" in types else [*types, "null"]}


def _schema(type_: Type, strict: bool) -> dict[str, Any]:
    name = type_.name
    if name in ("string", "id"):
        return {"type": "string"}
    if name in ("integer", "boolean"):
        return {"type": name}
    if name == "decimal":
        return _text(_NUMBER)
    if name == "money":
        return _text(f"{_NUMBER} {type_.unit or '[A-Z]{3}'}")
    if name == "quantity":
        return _text(f"{_NUMBER} {re.escape(type_.unit) if type_.unit else '[^ ]+'}")
    if name == "date":
        return {**_text(_DATE), "format": "date"}
    if name == "instant":
        return {**_text(_INSTANT), "format": "date-time"}
    if name in ("list", "set"):
        found: dict[str, Any] = {"type": "array", "items": schema_of(type_.item or Type(name="json"), strict=strict)}
        if name == "set" and not strict:
            found["uniqueItems"] = True
        return found
    if name == "record":
        return {
            "type": "object",
            "properties": {n: schema_of(t, strict=strict) for n, t in type_.fields.items()},
            "required": [n for n, t in type_.fields.items() if strict or not t.optional],
            "additionalProperties": False,
        }
    # `json` is any value; a strict schema takes no open objects or arrays.
    return {"type": [t for t in _ANY if not strict or t not in ("object", "array")]}


def _text(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^{pattern}$"}


def in_words(type_: Type) -> str:
    """Return how a value of a type is written, for a model to read."""
    name, unit = type_.name, type_.unit
    if name == "money":
        return f'an amount of money in {unit}, as text like "420.00 {unit}"' if unit else (
            'an amount of money with its currency, as text like "420.00 EUR"'
        )  # fmt: skip
    if name == "quantity":
        return f'a number of {unit}, as text like "2.5 {unit}"' if unit else (
            'a number with its unit, as text like "2.5 kg"'
        )  # fmt: skip
    if name in ("list", "set"):
        item = in_words(type_.item or Type(name="json"))
        return f"a list, each item {item}" + (", none twice, in any order" if name == "set" else "")
    if name == "record":
        return "a record: " + "; ".join(f"`{n}`: {in_words(t)}" for n, t in type_.fields.items())
    words = {
        "string": "a text, exactly as the record has it",
        "id": "an identifier, exactly as the record has it",
        "integer": "a whole number",
        "decimal": 'a number, as text like "12.50"',
        "boolean": "true or false",
        "instant": 'a point in time with its zone, as text like "2026-03-11T15:30:00Z"',
        "date": 'a day, as text like "2026-03-11"',
    }.get(name, "the value as the record has it")
    return words + (", or null for nothing" if type_.optional else "")
