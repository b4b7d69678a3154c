"""Shapes: one description of a field that both checks a value and writes its JSON Schema, so the two cannot differ."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

from tallystick.contracts.problems import Report, did_you_mean
from tallystick.contracts.yamltext import Path

Json = dict[str, Any]


class Shape(Protocol):
    """Something a field may be."""

    def schema(self) -> Json:
        """Return its JSON Schema (draft 2020-12)."""

    def check(self, value: Any, path: Path, report: Report) -> None:
        """Record in `report` how `value` is not of this shape."""


def shown(value: Any) -> str:
    """Return a value for a message, shortened."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return f"`{value[:60]}`"
    if value is None:
        return "nothing"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


@dataclass(frozen=True, kw_only=True)
class Words:
    """A string; with `pattern`, all of it matches (`hint` says what that means); with `one_of`, it is one of them."""

    doc: str = ""
    pattern: str = ""
    hint: str = ""
    one_of: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()

    def schema(self) -> Json:
        """Return its JSON Schema."""
        out: Json = {"type": "string"}
        if self.doc:
            out["description"] = self.doc
        if self.pattern:
            out["pattern"] = f"^(?:{self.pattern})$"
        if self.one_of:
            out["enum"] = list(self.one_of)
        if self.examples:
            out["examples"] = list(self.examples)
        return out

    def check(self, value: Any, path: Path, report: Report) -> None:
        """Record how `value` is not such a string."""
        if not isinstance(value, str):
            number = isinstance(value, (int, Decimal)) and not isinstance(value, bool)
            fix = f'write `"{value}"` in quotes' if number else self.hint or None
            report.add(path, f"expected text, got {shown(value)}", fix)
        elif self.one_of and value not in self.one_of:
            report.add(path, f"`{value[:60]}` is not allowed here", did_you_mean(value, self.one_of))
        elif self.pattern and not re.fullmatch(self.pattern, value):
            report.add(path, f"`{value[:60]}` is not allowed here", self.hint or None)


@dataclass(frozen=True, kw_only=True)
class Flag:
    """True or false."""

    doc: str = ""

    def schema(self) -> Json:
        """Return its JSON Schema."""
        return {"type": "boolean", "description": self.doc}

    def check(self, value: Any, path: Path, report: Report) -> None:
        """Record how `value` is not a boolean."""
        if not isinstance(value, bool):
            report.add(path, f"expected true or false, got {shown(value)}", "write `true` or `false`")


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A whole number of at least `minimum`."""

    doc: str = ""
    minimum: int = 0

    def schema(self) -> Json:
        """Return its JSON Schema."""
        return {"type": "integer", "minimum": self.minimum, "description": self.doc}

    def check(self, value: Any, path: Path, report: Report) -> None:
        """Record how `value` is not such a number."""
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole and not (isinstance(value, Decimal) and value == value.to_integral_value()):
            report.add(path, f"expected a whole number, got {shown(value)}")
        elif value < self.minimum:
            report.add(path, f"expected at least {self.minimum}, got {shown(value)}")


@dataclass(frozen=True, kw_only=True)
class AnyJson:
    """Any JSON object (`mapping`), or any value at all."""

    doc: str = ""
    mapping: bool = True

    def schema(self) -> Json:
        """Return its JSON Schema."""
        return {"type": "object", "description": self.doc} if self.mapping else {"description": self.doc}

    def check(self, value: Any, path: Path, report: Report) -> None:
        """Record that `value` is not an object where one is needed."""
        if self.mapping and not isinstance(value, Mapping):
            report.add(path, f"expected a mapping, got {shown(value)}")


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A list of items."""

    item: Shape
    doc: str = ""
    minimum: int = 0

    def schema(self) -> Json:
        """Return its JSON Schema."""
        out: Json = {"type": "array", "items": self.item.schema()}
        if self.minimum:
            out["minItems"] = self.minimum
        if self.doc:
            out["description"] = self.doc
        return out

    def check(self, value: Any, path: Path, report: Report) -> None:
        """Record how `value` is not such a list."""
        if not isinstance(value, list):
            report.add(path, f"expected a list, got {shown(value)}", "write it as `[…]`")
            return
        if len(value) < self.minimum:
            report.add(path, "the list is empty", "leave the field out, or fill it")
        for i, item in enumerate(value):
            self.item.check(item, (*path, i), report)


@dataclass(frozen=True, kw_only=True)
class Fields:
    """A mapping with known fields; others are refused, or are of shape `rest` with names matching `names`.

    Attributes:
        known: field name → shape.
        required: fields that must be there.
        one_of: exactly one of these must be there.
        needs: field → at least one of these must be there too.
        rest: shape of further fields; `None` refuses them.
        names: pattern of further field names, `hint` says what it means.
    """

    known: Mapping[str, Shape] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rest: Shape | None = None
    names: str = ""
    hint: str = ""
    doc: str = ""

    def schema(self) -> Json:
        """Return its JSON Schema."""
        out: Json = {"type": "object"}
        if self.doc:
            out["description"] = self.doc
        if self.known:
            out["properties"] = {name: shape.schema() for name, shape in self.known.items()}
        if self.rest is None:
            out["additionalProperties"] = False
        elif self.names:
            known = "".join(f"(?!{name}$)" for name in self.known)
            out["patternProperties"] = {f"^{known}(?:{self.names})$": self.rest.schema()}
            out["additionalProperties"] = False
        else:
            out["additionalProperties"] = self.rest.schema()
        if self.required:
            out["required"] = list(self.required)
        if self.one_of:
            out["oneOf"] = [{"required": [name]} for name in self.one_of]
        if self.needs:
            out["dependentSchemas"] = {
                name: {"anyOf": [{"required": [one]} for one in others]} for name, others in self.needs.items()
            }
        return out

    def check(self, value: Any, path: Path, report: Report) -> None:
        """Record how `value` is not such a mapping."""
        if not isinstance(value, Mapping):
            report.add(path, f"expected a mapping, got {shown(value)}")
            return
        for name, item in value.items():
            shape = self.known.get(name)
            if shape is None and self.rest is None:
                fix = did_you_mean(name, (k for k in self.known if k not in value))
                report.add((*path, name), f"unknown field `{name[:60]}`", fix, key=True)
            elif shape is None and self.names and not re.fullmatch(self.names, name):
                report.add((*path, name), f"`{name[:60]}` is not allowed as a name here", self.hint or None, key=True)
            else:
                (shape or self.rest).check(item, (*path, name), report)  # type: ignore[union-attr]  # one is there
        for name in self.required:
            if name not in value:
                shape = self.known.get(name)
                says = getattr(shape, "hint", "") or getattr(shape, "doc", "")
                report.add(path, f"`{name}` is missing", f"add `{name}: …`, {says}" if says else None)
        found = [name for name in self.one_of if name in value]
        if self.one_of and len(found) != 1:
            names = ", ".join(f"`{name}`" for name in (found or self.one_of))
            report.add(path, f"only one of {names} may stand here" if found else f"one of {names} is missing")
        for name, others in self.needs.items():
            if name in value and not any(other in value for other in others):
                report.add((*path, name), f"`{name}` belongs to {' or '.join(f'`{o}`' for o in others)}", key=True)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One of several shapes, told apart by what the value is: text, a list or a mapping."""

    text: Shape | None = None
    listing: Shape | None = None
    mapping: Shape | None = None

    def schema(self) -> Json:
        """Return its JSON Schema."""
        return {"anyOf": [s.schema() for s in (self.text, self.listing, self.mapping) if s is not None]}

    def check(self, value: Any, path: Path, report: Report) -> None:
        """Record how `value` is none of them."""
        shape = self.mapping if isinstance(value, Mapping) else self.listing if isinstance(value, list) else self.text
        if shape is not None:
            shape.check(value, path, report)
        else:
            wanted = [n for n, s in (("text", self.text), ("a list", self.listing), ("a mapping", self.mapping)) if s]
            report.add(path, f"expected {' or '.join(wanted)}, got {shown(value)}")


@dataclass(frozen=True, kw_only=True)
class Named:
    """A shape kept under `$defs` in the schema."""

    name: str
    shape: Shape

    def schema(self) -> Json:
        """Return a reference to it."""
        return {"$ref": f"#/$defs/{self.name}"}

    def check(self, value: Any, path: Path, report: Report) -> None:
        """Record how `value` is not of that shape."""
        self.shape.check(value, path, report)
