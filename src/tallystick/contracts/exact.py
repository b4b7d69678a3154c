"""Exact values out of JSON: declared types applied to arguments and records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tallystick.model.pointer import resolve, split
from tallystick.model.values import Type


def exact(type_: Type, value: Any, record: Any = None) -> Any:
    """Return the exact value that JSON `value` states under `type_`.

    Args:
        type_: the declared type.
        value: a JSON value as `jsontext.loads` makes it.
        record: what the value sits in; a currency or unit stated by a sibling is read from it.

    Raises:
        ValueError: `value` does not state a value of this type.
    """
    if value is None or (type_.unit_from is None and type_.item is None and not type_.fields):
        return type_.parse(value)
    if type_.name == "record" and isinstance(value, Mapping) and value.keys() <= type_.fields.keys():
        return {name: exact(member, value.get(name), value) for name, member in type_.fields.items()}
    if type_.name == "list" and type_.item is not None and type_.item.fields and isinstance(value, (list, tuple)):
        return tuple(exact(type_.item, item) for item in value)
    source = type_.unit_from or (type_.item.unit_from if type_.item is not None else None)
    if source is None:
        return type_.parse(value)
    unit = resolve(record, split(source))
    if not isinstance(unit, str):
        raise ValueError(f"`{source}` states no currency or unit")
    return type_.parse(value, unit=unit)


def exact_args(types: Mapping[str, Type], args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `args` with the declared `types` applied; undeclared arguments stay JSON, absent ones stay absent.

    Raises:
        ValueError: an argument does not state a value of its type; the message names it.
    """
    if not types:
        return args
    out = dict(args)
    for name, type_ in types.items():
        if name in out:
            try:
                out[name] = exact(type_, out[name], args)
            except ValueError as bad:
                raise ValueError(f"argument `{name}`: {bad}") from None
    return out


def like(type_: Type) -> str:
    """Return a type as a contract names it, with an example where a person would write such a value in another way."""
    example = {"instant": "2026-03-11T15:30:00Z", "date": "2026-03-11"}.get(type_.name)
    return f"{type_}, like `{example}`" if example else str(type_)
