"""Type texts: `money(EUR)`, `money(USD minor)`, `list(id)`, `record(id: id, price: money(EUR))`, `optional date`.

They are words and brackets only, so that they need no quotes inside a YAML flow mapping (a record does).
"""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from tallystick.model.pointer import split
from tallystick.model.values import SCALARS, Type, exponent_of

NAMES: Final = (*SCALARS, "list", "set", "record")
_PLAIN: Final = ("string", "id", "integer", "decimal", "boolean", "instant", "date", "json")
_TOKEN: Final = re.compile(r"\s*(?:(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<other>[^\s,():?]+)|(?P<mark>[,():?]))")
_MAX_DEPTH: Final = 16
_SYNONYMS: Final = {
    "str": "string", "text": "string", "int": "integer", "number": "decimal", "float": "decimal", "double": "decimal",
    "bool": "boolean", "timestamp": "instant", "datetime": "instant", "array": "list", "object": "record",
    "any": "json",
}  # fmt: skip


class TypeProblem(ValueError):  # noqa: N818 - a problem found at load, reported with the others
    """A type text that cannot be read, with what would be right."""

    def __init__(self, message: str, fix: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


def type_of(text: str) -> Type:
    """Return the type `text` states.

    Raises:
        TypeProblem: unknown name, missing or invalid currency or unit, or broken brackets.
    """
    reader = _Reader(text)
    found = reader.type_(0)
    if reader.here is not None:
        raise TypeProblem(f"unexpected `{reader.here}` in the type `{text[:80]}`")
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = []
        at, text = 0, text.rstrip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise TypeProblem(f"`{text[:80]}` is not a type")
            self.tokens.append(found[0].strip())
            at = found.end()
        self.at = 0

    @property
    def here(self) -> str | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self) -> str:
        found = self.here
        if found is None:
            raise TypeProblem(f"the type `{self.text[:80]}` ends too soon", "close its brackets")
        self.at += 1
        return found

    def accept(self, token: str) -> bool:
        if self.here == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise TypeProblem(f"expected `{token}` in the type `{self.text[:80]}`, found `{self.here or 'its end'}`")

    def type_(self, depth: int) -> Type:
        if depth > _MAX_DEPTH:
            raise TypeProblem(f"the type is nested deeper than {_MAX_DEPTH} levels")
        if self.accept("optional"):
            return replace(self.type_(depth + 1), optional=True)
        name = self.take()
        if name in _PLAIN:
            found = Type(name=name)
        elif name in ("money", "quantity"):
            found = self.amount(name)
        elif name in ("list", "set"):
            self.expect("(")
            found = Type(name=name, item=self.type_(depth + 1))
            self.expect(")")
        elif name == "record":
            found = self.record(depth)
        else:
            close = _SYNONYMS.get(name) or next(iter(get_close_matches(name, NAMES, n=1)), None)
            fix = f"did you mean `{close}`?" if close else f"one of {', '.join(NAMES)}"
            raise TypeProblem(f"unknown type `{name[:60]}`", fix)
        if self.here == "?":
            raise TypeProblem(f"`?` says nothing in a type, in `{self.text[:80]}`", f"write `optional {name}`")
        return found

    def record(self, depth: int) -> Type:
        self.expect("(")
        fields: dict[str, Type] = {}
        while not self.accept(")"):
            if fields:
                self.expect(",")
            name = self.take()
            if name in fields:
                raise TypeProblem(f"the record states `{name}` twice")
            self.expect(":")
            fields[name] = self.type_(depth + 1)
        return Type(name="record", fields=fields)

    def amount(self, name: str) -> Type:
        if not self.accept("("):
            if name == "money":
                return Type(name=name)  # each value states its own currency: "32.50 USD"
            raise TypeProblem("a quantity needs its unit", "write `quantity(kg)`, or `quantity(/unit)` for a sibling")
        unit = self.take()
        scale = 0
        unit_from = unit if unit.startswith("/") else None
        if unit_from is not None:
            try:
                split(unit_from)
            except ValueError as bad:
                raise TypeProblem(str(bad)) from None
        elif name == "money" and not re.fullmatch(r"[A-Z]{3}", unit):
            raise TypeProblem(f"`{unit[:60]}` is not an ISO 4217 currency code", "write three capitals: `money(EUR)`")
        self.accept(",")
        if self.here != ")":
            word = self.take()
            if word == "minor" and name == "money" and unit_from is None:
                scale = exponent_of(unit)
            elif word == "scale" and (digits := self.take()).isdigit() and int(digits) <= 30:
                scale = int(digits)
            else:
                raise TypeProblem(
                    f"`{word[:60]}` says nothing about how `{name}` is written",
                    "`money(EUR minor)` for cents, `money(EUR scale 3)` for thousandths",
                )
        self.expect(")")
        return Type(name=name, unit=None if unit_from else unit, unit_from=unit_from, scale=scale)
