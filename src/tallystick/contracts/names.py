"""What a contract file has declared so far, and compiling the texts that refer to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tallystick.contracts.expr import (
    INSTANT,
    JSON,
    TEXT,
    Compiled,
    ExpressionProblem,
    Kind,
    compile_expression,
    record_of,
)
from tallystick.contracts.problems import Report, did_you_mean
from tallystick.contracts.structure import DURATION
from tallystick.contracts.types import EntityExpr, EntityType
from tallystick.contracts.typetext import TypeProblem, type_of
from tallystick.contracts.yamltext import Path
from tallystick.model.pointer import join, split
from tallystick.model.values import Type

ROOTS: Final = ("args", "result", "preview", "item", "task", "now", "call", "talk")
"""Names expressions use for something else than an entity; no entity may be called so."""
TALK: Final = Kind(name="record", fields=dict.fromkeys(("user", "last", "shown", "heard"), TEXT))
"""What was said before a call: all the user's words; the user's last message; the agent's words that the user has
answered since; and both together, which is what the user has said or been told."""
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_ENTITY: Final = re.compile(
    r"\s*(?P<each>each\s+)?(?P<kind>[A-Za-z_][A-Za-z0-9_]*)\s*"
    r"(?:\((?P<id>.*)\))?\s*(?:\bas\s+(?P<alias>[A-Za-z_][A-Za-z0-9_]*))?\s*",
    re.DOTALL,
)
Scope = dict[str, Kind]


def seconds(text: str) -> int:
    """Return the seconds that a valid time such as `10m` states."""
    assert re.fullmatch(DURATION, text)
    return int(text[:-1]) * _SECONDS[text[-1]]


def tokens(text: str) -> tuple[str, ...]:
    """Return the tokens of a JSON Pointer that the structure check has accepted."""
    return split(text)


@dataclass(slots=True)
class Names:
    """Declared names, and the report that problems go to.

    Attributes:
        text: the whole value of the file.
        bad: pointers of fields whose structure is wrong; they are reported already and read as absent.
        args: tool → declared types of its arguments.
        strict: tools whose argument names are all known (a schema without additional properties).
    """

    report: Report
    bad: frozenset[str] = frozenset()
    entities: dict[str, EntityType] = field(default_factory=dict)
    inputs: dict[str, Type] = field(default_factory=dict)
    args: dict[str, Mapping[str, Type]] = field(default_factory=dict)
    strict: set[str] = field(default_factory=set)
    tools: tuple[str, ...] = ()

    def clean(self, path: Path) -> bool:
        """Whether nothing at or below `path` has a wrong structure."""
        here = join(path)
        return not any(bad == here or bad.startswith(here + "/") for bad in self.bad)

    def get(self, holder: Mapping[str, Any], name: str, path: Path) -> Any:
        """Return a field, or `None` where it is absent or its structure is wrong."""
        value = holder.get(name)
        return value if value is not None and self.clean((*path, name)) else None

    def items(self, holder: Mapping[str, Any], name: str, path: Path) -> Iterator[tuple[Any, Path]]:
        """Yield the items of a list field (or its single value) whose own structure is right, with their paths."""
        value = holder.get(name)
        if isinstance(value, list):
            for i, item in enumerate(value):
                if self.clean((*path, name, i)):
                    yield item, (*path, name, i)
        elif value is not None and self.clean((*path, name)):
            yield value, (*path, name)

    def members(self, holder: Mapping[str, Any], name: str, path: Path) -> Iterator[tuple[str, Any, Path]]:
        """Yield the members of a mapping field whose own structure is right, with their paths."""
        value = holder.get(name)
        if isinstance(value, Mapping):
            for key, item in value.items():
                if self.clean((*path, name, key)):
                    yield key, item, (*path, name, key)

    def type_(self, text: str, path: Path) -> Type:
        """Return the type a text states; `json` after reporting one that cannot be read."""
        try:
            return type_of(text)
        except TypeProblem as bad:
            self.report.add(path, bad.message, bad.fix)
            return Type(name="json")

    def base(self) -> Scope:
        """Return what expressions judged beside a call may read: the recorded instant and the task's inputs."""
        return {"now": INSTANT, **self.frozen()}

    def frozen(self) -> Scope:
        """Return what the task's template may read: the task's inputs, frozen at the start of a run."""
        return {"task": record_of(self.inputs)} if self.inputs else {}

    def args_kind(self, tool: str) -> Kind:
        """Return the kind of the arguments of a tool; undeclared ones are `json` unless its schema forbids them."""
        return record_of(self.args.get(tool, {}), open_=tool not in self.strict)

    def entity_kind(self, kind: str) -> Kind:
        """Return the kind of an entity's facts."""
        return record_of(self.entities[kind].fields) if kind in self.entities else JSON

    def expr(self, text: Any, path: Path, scope: Mapping[str, Kind], *, boolean: bool = True) -> Compiled | None:
        """Return a compiled expression, or `None` after reporting what is wrong with it."""
        return self.part(text, path, scope, 0, boolean=boolean)

    def part(
        self, text: Any, path: Path, scope: Mapping[str, Kind], start: int, *, boolean: bool = True
    ) -> Compiled | None:
        """As `expr`, for an expression that starts at offset `start` in its field."""
        if not isinstance(text, str):
            return None
        try:
            return compile_expression(text, scope, boolean=boolean)
        except ExpressionProblem as bad:
            self.report.add(path, bad.message, bad.fix, at=start + bad.at)
            return None

    def entity(self, text: Any, path: Path, scope: Mapping[str, Kind], short: str | None = None) -> EntityExpr | None:
        """Return the entity a text names: `invoice(args.invoice_id)`, `each item(args.ids)`, `user(args.to) as payee`.

        Args:
            text: the text.
            path: where it stands.
            scope: what its id may be computed from.
            short: the expression that a kind alone stands for, if it may stand alone.
        """
        if not isinstance(text, str):
            return None
        found = _ENTITY.fullmatch(text)
        if found is None:
            self.report.add(path, f"`{text[:60]}` names no entity", "write `invoice(args.invoice_id)`")
            return None
        kind = found["kind"]
        if kind not in self.entities:
            self.report.unknown(path, "entity", kind, self.entities)
            return None
        alias = found["alias"] or kind
        if found["alias"] and alias in ROOTS:
            self.report.add(path, f"`{alias}` already means something in expressions", "choose another name")
        id_text, start = found["id"], found.start("id")
        if id_text is None:
            if short is None:
                self.report.add(path, f"`{text[:60]}` does not say which {kind}", f"write `{kind}(args.{kind}_id)`")
                return None
            id_text, start = short, 0
        each = found["each"] is not None
        id_expr = self.part(id_text, path, scope, start, boolean=False)
        if id_expr is None:
            return None
        wanted = ("list", "set", "json") if each else ("text", "integer", "json")
        if id_expr.kind.name not in wanted:
            fix = f"write `each {kind}(…)`" if id_expr.kind.name in ("list", "set") else None
            self.report.add(path, f"an id is text or an integer, got {id_expr.kind}", fix, at=start)
        return EntityExpr(kind=kind, id=id_expr, alias=alias, each=each)

    def tool(self, name: Any, path: Path) -> str | None:
        """Return a tool's name, or `None` after reporting that there is no such tool."""
        if not isinstance(name, str):
            return None
        if name not in self.tools:
            self.report.unknown(path, "tool", name, self.tools)
            return None
        return name

    def argument(self, tool: str, name: str, path: Path) -> None:
        """Report an argument that the tool cannot have."""
        known = self.args.get(tool, {})
        if tool in self.strict and name not in known:
            self.report.add(path, f"{tool} has no argument `{name[:60]}`", did_you_mean(name, known))

    def source(self, text: str, path: Path) -> tuple[str, tuple[str, ...]] | None:
        """Return (tool, pointer tokens) of `TOOL./POINTER`, or `None` after reporting what is wrong."""
        found = split_source(text, self.tools)
        if found is None:
            name = text.split("./", 1)[0]
            if "./" in text:
                self.report.unknown(path, "tool", name, self.tools)
            else:
                self.report.add(path, f"`{text[:60]}` is not `TOOL./POINTER`", "write `pay_invoice./receipt_file`")
            return None
        tool, pointer = found
        try:
            return tool, split(pointer)
        except ValueError as bad:
            self.report.add(path, str(bad), at=len(tool) + 1)
            return None


def split_source(text: str, tools: tuple[str, ...]) -> tuple[str, str] | None:
    """Return (tool, pointer) of `TOOL./POINTER`, taking the longest tool name that fits."""
    for tool in sorted(tools, key=len, reverse=True):
        if text.startswith(tool + "./"):
            return tool, text[len(tool) + 1 :]
    return None
