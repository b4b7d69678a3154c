"""JSON Lines with damage: torn, glued or unreadable lines are recorded, and what is whole in them is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.model.trace import TraceDamage
from tallystick.traces.exact import loads

MAX_ATTEMPTS: Final = 64
"""Places in a broken line at which a whole record is looked for."""


def values(lines: Iterable[bytes]) -> Iterator[tuple[int, list[Any], list[TraceDamage]]]:
    """Yield (1-based line number, JSON values in the line, damage) for every line that is not blank."""
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text:
            continue
        try:
            yield number, [loads(text)], []
        except InputError as bad:
            found, code = _salvaged(text)
            what = bad.message if not found else f"{bad.message}; {len(found)} whole record(s) in it were kept"
            yield number, found, [TraceDamage(code=code, message=what, where=f"line {number}")]


def _salvaged(text: bytes) -> tuple[list[Any], str]:
    """Return the whole objects at the end of a torn line, or all of them where records were glued together."""
    starts: list[int] = []
    at = text.find(b'{"')
    while at != -1 and len(starts) < MAX_ATTEMPTS:
        starts.append(at)
        at = text.find(b'{"', at + 1)
    # A torn write leaves a prefix of one record, then a whole one: the longest whole suffix that is a record.
    for start in starts:
        if start == 0:
            continue
        value = _whole(text[start:])
        if isinstance(value, dict) and _looks_like_a_record(value):
            before = _whole(text[:start])
            glued = isinstance(before, dict)
            return ([before, value] if glued else [value]), "line.glued" if glued else "line.torn"
    return [], "line.unreadable"


def _whole(text: bytes) -> Any:
    try:
        return loads(text)
    except InputError:
        return None


def _looks_like_a_record(value: dict[str, Any]) -> bool:
    return any(key in value for key in ("role", "messages", "conversation", "choices", "request", "body", "type"))
