"""A contract before it is text: what is known about each tool, with remarks where a person should look."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from tallystick.contracts.expr.syntax import KEYWORDS, RESERVED
from tallystick.contracts.names import ROOTS
from tallystick.contracts.structure import IDENTIFIER, TOOL_NAME

_OTHERWISE: Final = {"item": "article", "task": "job", "call": "conversation", "result": "outcome"}
"""Kinds that expressions use for something else, and what such a thing is called instead."""
_PLURALS: Final = (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"), ("s", ""))


def identifier(text: str) -> str | None:
    """Return `text` as a name that expressions can use, or None where nothing of it is left."""
    name = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_")
    if not name:
        return None
    name = name if not name[0].isdigit() else f"n{name}"
    return f"{name}_" if name in KEYWORDS or name in RESERVED else name


def is_identifier(text: str) -> bool:
    """Return whether expressions can use `text` as it is."""
    return re.fullmatch(IDENTIFIER, text) is not None and text not in KEYWORDS and text not in RESERVED


def is_tool_name(text: str) -> bool:
    """Return whether a contract can mention a tool of that name."""
    return re.fullmatch(TOOL_NAME, text) is not None


def is_sayable(text: str) -> bool:
    """Return whether a text is Unicode: no lone surrogate, which no file can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def kind_name(text: str) -> str | None:
    """Return the name of a kind of entity made from `text`, clear of the words expressions use otherwise."""
    name = identifier(text.lower())
    if name is None:
        return None
    name = _OTHERWISE.get(name, name)
    return f"{name}_record" if name in ROOTS else name


def singular(word: str) -> str:
    """Return an English plural's singular, by its ending."""
    for ending, instead in _PLURALS:
        if word.endswith(ending) and len(word) > len(ending) + 1 and not word.endswith("ss"):
            return word[: -len(ending)] + instead
    return word


def field_name(text: str) -> str | None:
    """Return the name of an entity's field made from `text`; `id` and `at` are taken."""
    name = identifier(text)
    return f"{name}_" if name in ("id", "at") else name


@dataclass(kw_only=True)
class Line:
    """A value with an optional remark."""

    value: Any
    remark: str = ""


@dataclass(kw_only=True)
class YieldSheet:
    """What one place of a result says about one kind of entity; pointers as text."""

    kind: str
    id: str
    at: str = ""
    fields: dict[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class RuleSheet:
    """One requirement: its fields in order, and a remark. `in_force` false writes it as a remark only."""

    fields: dict[str, Any]
    remark: str = ""
    in_force: bool = True

    @property
    def id(self) -> str:
        """Its name in reasons."""
        return str(self.fields["id"])


@dataclass(kw_only=True)
class ToolSheet:
    """One tool: its fields in the order they are written, yields and requirements apart."""

    name: str
    writes: bool
    intro: str = ""
    lines: dict[str, Line] = field(default_factory=dict)
    yields: list[YieldSheet] = field(default_factory=list)
    requires: list[RuleSheet] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def put(self, name: str, value: Any, remark: str = "") -> None:
        """Set a field; nothing is written for an empty value."""
        if value in (None, "", [], {}):
            self.lines.pop(name, None)
        else:
            self.lines[name] = Line(value=value, remark=remark)

    def value(self, name: str) -> Any:
        """Return a field's value, or None."""
        line = self.lines.get(name)
        return None if line is None else line.value


@dataclass(kw_only=True)
class Sheet:
    """A whole contract before it is text."""

    name: str
    intro: list[str] = field(default_factory=list)
    entities: dict[str, dict[str, Line]] = field(default_factory=dict)
    tools: dict[str, ToolSheet] = field(default_factory=dict)
    exclusive: list[RuleSheet] = field(default_factory=list)

    def ordered(self) -> Iterable[ToolSheet]:
        """Return the tools, reads first."""
        return sorted(self.tools.values(), key=lambda t: t.writes)


def contract_name(text: str) -> str:
    """Return `name/1` made from any text."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()[:60].strip("-")
    return f"{name or 'draft'}/1"


def as_mapping(sheet: Sheet) -> dict[str, Any]:
    """Return what the sheet says as the plain values a contract is built from; what is not in force is left out."""
    tools: dict[str, Any] = {}
    for tool in sheet.ordered():
        entry = {name: line.value for name, line in tool.lines.items()}
        by_kind: dict[str, list[dict[str, str]]] = {}
        for rule in tool.yields:
            at = {"at": rule.at} if rule.at else {}
            by_kind.setdefault(rule.kind, []).append({**at, "id": rule.id, **rule.fields})
        if by_kind:
            entry["yields"] = {kind: rules[0] if len(rules) == 1 else rules for kind, rules in by_kind.items()}
        live = [rule.fields for rule in tool.requires if rule.in_force]
        if live:
            entry["requires"] = live
        tools[tool.name] = entry
    value: dict[str, Any] = {"contract": sheet.name, "tools": tools}
    if sheet.entities:
        value["entities"] = {k: {n: line.value for n, line in fields.items()} for k, fields in sheet.entities.items()}
    apart = [rule.fields for rule in sheet.exclusive if rule.in_force]
    return {**value, "exclusive": apart} if apart else value
