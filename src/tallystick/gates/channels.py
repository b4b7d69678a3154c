"""The text channel of a result, beside its structured one: read once, asked about each value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from tallystick.contracts.expr.clock import zone_of
from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.pointer import MISSING, resolve
from tallystick.model.values import decimal_of, instant_of, same

_NUMBER: Final = re.compile(r"(?<![\w.,])[+-]?[0-9][0-9.,]*")
_WORD: Final = re.compile(r"[^\W_]+")
_CLOCK: Final = re.compile(r"(?<![\d:])(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\s*([AaPp])\.?[Mm]\b\.?)?(?![\d:])", re.ASCII)
_ZONE: Final = re.compile(r"\b(?:UTC|[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_+-]+){1,2})\b", re.ASCII)


class Channels:
    """What the text of a result says. A JSON text is compared place by place.

    Prose counts only where it uses the field's name and holds numbers, none of which is the stated one.
    """

    def __init__(self, text: str) -> None:
        try:
            self.parsed: Any = jsontext.loads(text)
        except InputError:
            self.parsed = None
        self.words: frozenset[str] = frozenset()
        self.clock: tuple[str, str] | None = None
        self.numbers: dict[Decimal, None] = {}
        if isinstance(self.parsed, (Mapping, list)):
            return
        self.words = frozenset(w.lower() for w in _WORD.findall(text))
        clocks, zones = list(_CLOCK.finditer(text)), {z.group() for z in _ZONE.finditer(text)}
        if len(clocks) == 1 and len(zones) == 1:
            self.clock = (clocks[0].group(), zones.pop())
        for match in _NUMBER.finditer(text):
            try:
                self.numbers[decimal_of(match.group().rstrip(".,"))] = None
            except ValueError:
                continue

    def otherwise(self, tokens: tuple[str, ...], stated: Any, *, alone: bool) -> Any:
        """Return what the text says at a place instead of `stated`, or None where it says that, or nothing.

        Args:
            tokens: the place in the structured result.
            stated: what stands there.
            alone: the value is no member of a list, so its name at the top of the text is about it too.
        """
        if isinstance(self.parsed, (Mapping, list)):
            found = resolve(self.parsed, tokens)
            if found is MISSING and alone:
                found = resolve(self.parsed, tokens[-1:])
            return None if found is MISSING or same(found, stated) else found
        if not set(tokens[-1].lower().split("_")) <= self.words:
            return None
        if isinstance(stated, str):
            return self._other_time(stated)
        if isinstance(stated, bool) or not isinstance(stated, (int, Decimal)) or not self.numbers:
            return None
        if decimal_of(stated) in self.numbers:
            return None
        return ", ".join(map(str, list(self.numbers)[:3]))

    def _other_time(self, stated: str) -> str | None:
        """A text with one clock time and one zone states another instant where that zone's clocks show another time."""
        if self.clock is None:
            return None
        said, zone = self.clock
        match = _CLOCK.fullmatch(said)
        assert match is not None
        hour, half = int(match[1]), (match[4] or "").lower()
        if half:
            hour = hour % 12 + (12 if half == "p" else 0)
        try:
            there = instant_of(stated).astimezone(zone_of(zone, 0))
        except (ValueError, OverflowError):  # no instant, or no zone of that name
            return None
        same_time = (hour, int(match[2])) == (there.hour, there.minute)
        if same_time and (match[3] is None or int(match[3]) == there.second):
            return None
        return f"{said} ({zone})"
