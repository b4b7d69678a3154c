"""Copies at the border: what is judged, recorded and dispatched shares no container with a caller or a tool.

Only containers are copied. Strings, numbers and what is no JSON at all stay the very objects they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.model.jsontext import MAX_DEPTH

MAX_NODES: Final = 1_000_000
"""Values one set of arguments or one result may hold. A list that holds one list a few dozen times over is small in
memory and endless as JSON text, so it is counted before anything is written out."""

_LEAVES: Final = frozenset({str, int, bool, float, Decimal, type(None)})


def too_many() -> InputError:
    """Return the error for a value of more than `MAX_NODES` values."""
    return InputError(
        f"more than {MAX_NODES:,} values in one", fix="a smaller value, or the name of a file that has it"
    )


def copied(value: Any) -> Any:
    """Return `value` with every object, list and tuple in it copied.

    Raises:
        InputError: nested deeper than `jsontext.MAX_DEPTH` (or within itself), or more than `MAX_NODES` values.
    """
    return _copied(value, 0, [MAX_NODES])


def _copied(value: Any, depth: int, left: list[int]) -> Any:
    if not isinstance(value, (dict, list, tuple)):
        return value
    if depth > MAX_DEPTH:
        raise InputError(f"nested deeper than {MAX_DEPTH} levels")
    left[0] -= len(value)
    if left[0] < 0:
        raise too_many()
    if isinstance(value, dict):
        return {name: _copied(item, depth + 1, left) for name, item in value.items()}
    items = [_copied(item, depth + 1, left) for item in value]
    return items if isinstance(value, list) else tuple(items)


def within_bounds(value: Any) -> None:
    """Refuse a value of more than `MAX_NODES` values before it is written out.

    Raises:
        InputError: it has more.
    """
    _count(value, 0, [MAX_NODES])


def _count(value: Any, depth: int, left: list[int]) -> None:
    items: Collection[Any]
    if isinstance(value, Mapping):
        items = value.values()
    elif isinstance(value, (list, tuple)):
        items = value
    else:
        return
    left[0] -= len(items)
    if left[0] < 0:
        raise too_many()
    if depth <= MAX_DEPTH:  # what is deeper is refused when it is written
        for item in items:
            if type(item) not in _LEAVES:
                _count(item, depth + 1, left)
