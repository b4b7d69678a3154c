"""The text channel of a result, beside its structured one: read once, asked about each value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.pointer import MISSING, resolve
from tallystick.model.values import decimal_of, same

_NUMBER: Final = re.compile(r"(?<![\w.,])[+-]?[0-9][0-9.,]*")
_WORD: Final = re.compile(r"[^\W_]+")


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
        self.numbers: dict[Decimal, None] = {}
        if isinstance(self.parsed, (Mapping, list)):
            return
        self.words = frozenset(w.lower() for w in _WORD.findall(text))
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
        if isinstance(stated, bool) or not isinstance(stated, (int, Decimal)) or not self.numbers:
            return None
        if not set(tokens[-1].lower().split("_")) <= self.words or decimal_of(stated) in self.numbers:
            return None
        return ", ".join(map(str, list(self.numbers)[:3]))
