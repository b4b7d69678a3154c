"""Values as they are stated, typed and comparable: what the oracle compares, without the verifier's code."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from tallystick.model.values import Type


def stated(type_: Type, value: Any) -> Any:
    """Return what a lexical value states under a type.

    Raises:
        ValueError: it states no value of the type.
    """
    if type_.name == "integer" and isinstance(value, str):
        return int(value)
    if type_.name in ("list", "set") and type_.item is not None and isinstance(value, (list, tuple)):
        items = [stated(type_.item, v) for v in value]
        return frozenset(items) if type_.name == "set" else tuple(items)
    if type_.name == "record" and isinstance(value, Mapping):
        return {name: stated(kind, value.get(name)) for name, kind in type_.fields.items()}
    return type_.parse(value)


def lexical_bindings(bindings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a task's bindings as a world reads them: civil dates as text, lists as lists."""
    return {name: _plain(value) for name, value in bindings.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value
