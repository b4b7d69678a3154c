"""Derivations: how a claimed value is recomputed from receipts or facts.

`pay_invoice./amount` is what the newest good receipt says there; `sum(list./items/*/amount where item.open == true)` is
taken over all values of a source; `difference(order.total, refund./amount)` over other derivations; anything else is a
CEL expression over the facts of the slot's entity. In a `where`, `item` is what the last `*` of the pointer stands for
(the whole result where there is none), `result` is the whole result, `args` are the arguments of that call, and `task`
the task's inputs. The same texts stand in certificates, which may also state constants: those are read, and refused
because no contract demands one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

from tallystick.contracts.expr import JSON, ExpressionProblem, Kind
from tallystick.contracts.expr.clock import zone_of
from tallystick.contracts.names import Names, Scope, split_source
from tallystick.contracts.problems import Report
from tallystick.contracts.structure import IDENTIFIER
from tallystick.contracts.terms import FUNCTIONS, MAX_DEPTH, MAX_TERMS, MAX_TEXT, OPTION, SETS, facts, size, sources
from tallystick.contracts.types import Apply, Constant, Contract, Derivation, Facts, Slot, Source, Term
from tallystick.contracts.yamltext import Path, Text
from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.pointer import join

_HEAD: Final = re.compile(r"([a-z]+)\s*\(")
_DOTTED: Final = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_:-]*)\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")
_WHERE: Final = re.compile(r"\s+where\s+")
_MEMBER: Final = re.compile(rf"\s*({IDENTIFIER})\s*:(?!:)(.*)", re.DOTALL)
_OPEN, _CLOSE = "([{", ")]}"


def derivation(text: Any, path: Path, names: Names, scope: Mapping[str, Kind]) -> Derivation | None:
    """Return the derivation a contract states, or `None` after reporting what is wrong with it.

    Args:
        text: the text.
        path: where it stands.
        names: what is declared.
        scope: what a CEL expression may read: `task`, and the facts of the slot's entity by its alias.
    """
    if not isinstance(text, str):
        return None
    term = _Reader(text, path, names, scope, constants=False).whole()
    if term is None:
        return None
    if not sources(term) and not any(r[0] != "task" for f in facts(term) for r in f.expr.refs):
        names.report.add(path, "it rests on no receipt, so it would be a constant", "read it from a tool or a fact")
        return None
    mixed = _mixed(term)
    if mixed is not None:
        names.report.add(path, f"it reads {mixed} both as one answer and as all of them", "make it two slots")
        return None
    return Derivation(source=text, term=term)


_READS: Final = {"identity": "newest", "last": "newest", "first": "oldest"}


def _mixed(term: Term) -> str | None:
    """Return a place that a term reads in two ways. A claim refers to receipts, not to which part of it reads which."""
    ways: dict[tuple[str, tuple[str, ...]], str] = {}
    for function, source in sources(term):
        place = (source.tool, source.pointer[: source.pointer.index("*")] if "*" in source.pointer else source.pointer)
        way = _READS.get(function, "all")
        if ways.setdefault(place, way) != way:
            return f"{source.tool}.{join(place[1])}"
    return None


def stated(text: str, contract: Contract, slot: Slot | None) -> Term:
    """Return the term a certificate states for a slot: of the same language, and constants besides.

    Raises:
        InputError: the text is no derivation under this contract.
    """
    if slot is not None and text == slot.derive.source:
        return slot.derive.term
    report = Report(Text(text), None)
    names = Names(
        report=report,
        entities=dict(contract.entities),
        inputs=dict(contract.inputs),
        args={name: tool.args for name, tool in contract.tools.items()},
        tools=tuple(contract.tools),
    )
    scope = names.frozen()
    if slot is not None and slot.entity is not None:
        scope[slot.entity.alias] = names.entity_kind(slot.entity.kind)
    term = _Reader(text, (), names, scope, constants=True).whole()
    if term is None:
        first = report.problems[0]
        raise InputError(first.message, fix=first.fix)
    return term


class _ReportedError(Exception):
    """What is wrong was reported already."""


class _Reader:
    """Reads one text."""

    def __init__(self, text: str, path: Path, names: Names, scope: Mapping[str, Kind], *, constants: bool) -> None:
        self.text = text
        self.path = path
        self.names = names
        self.scope = scope
        self.constants = constants

    def whole(self) -> Term | None:
        """Return the term, or `None` after reporting what is wrong."""
        try:
            return self.read()
        except _ReportedError:
            return None

    def read(self) -> Term:
        if len(self.text) > MAX_TEXT:
            self.bad(f"a derivation of more than {MAX_TEXT} characters", None, 0)
        term = self.term(self.text, 0, 0)
        if size(term) > MAX_TERMS:
            self.bad(f"more than {MAX_TERMS} terms", "split the slot", 0)
        return term

    def bad(self, message: str, fix: str | None, at: int) -> NoReturn:
        self.names.report.add(self.path, message, fix, at=at)
        raise _ReportedError

    def term(self, text: str, start: int, depth: int) -> Term:
        """Return the term of `text`, which begins at offset `start` of the whole."""
        if depth > MAX_DEPTH:
            self.bad(f"nested deeper than {MAX_DEPTH} levels", None, start)
        start += len(text) - len(text.lstrip())
        text = text.strip()
        head = _HEAD.match(text)
        if head is not None and _ends_at(text, head.end() - 1) == len(text) - 1:
            inside, at = text[head.end() : -1], start + head.end()
            parts = list(_split(inside, at))
            if self.ours(head[1], parts):
                return self.call(head[1], parts, start, depth)
            if self.is_source(parts[0][0]):
                self.names.report.unknown(self.path, "aggregate", head[1], FUNCTIONS)
                raise _ReportedError
        if self.is_source(text):
            return self.alone(text, start)
        if self.constants:
            try:
                return Constant(value=jsontext.loads(text))
            except InputError:
                pass  # then it is CEL, or nothing
        dotted = _DOTTED.fullmatch(text)
        if dotted is not None and dotted[1] in self.names.tools and dotted[1] not in self.scope:
            pointer = dotted[2].replace(".", "/")
            self.bad(f"`{text}` names a tool like a fact", f"write `{dotted[1]}./{pointer}`", start)
        expr = self.names.part(text, self.path, self.scope, start, boolean=False)
        if expr is None:
            raise _ReportedError
        return Facts(expr=expr)

    def ours(self, name: str, parts: list[tuple[str, int]]) -> bool:
        """Whether a call is one of this language: `sum` is also a function of CEL."""
        function = FUNCTIONS.get(name)
        if function is None or name == "identity":
            return False
        return name != "sum" or len(parts) > 1 or self.is_source(parts[0][0])

    def alone(self, text: str, start: int) -> Term:
        """A source by itself: the value of the newest receipt."""
        source = self.source(text, start)
        if "*" in source.pointer:
            self.bad("`*` names several places", "wrap it: `sum(…)`, `count(…)`, `list(…)`, `lookup(…)`", start)
        if source.where is not None:
            self.bad("a filter leaves any number of values", "wrap it: `lookup(… where …)`", start)
        return Apply(function="identity", args=(source,))

    def call(self, name: str, parts: list[tuple[str, int]], start: int, depth: int) -> Term:
        function = FUNCTIONS[name]
        option = ""
        if function.takes == "option":
            if len(parts) != 2:
                self.bad(f"`{name}` takes a term and a text in quotes", _OPTIONS[name], start)
            option, parts = self.option(name, parts[1]), parts[:1]
        if not function.least <= len(parts) <= function.most:
            wanted = str(function.least) if function.least == function.most else f"at least {function.least}"
            self.bad(f"`{name}` takes {wanted}, not {len(parts)}", None, start)
        members: list[str] = []
        if function.takes == "members":
            split = [_MEMBER.fullmatch(text) for text, _ in parts]
            if None in split or len({m[1] for m in split if m}) != len(split):
                self.bad("a record has members with different names", "write `record(id: …, total: …)`", start)
            members = [m[1] for m in split if m]
            parts = [(m[2], at + m.start(2)) for m, (_, at) in zip(split, parts, strict=True) if m]
        if len(parts) == 1 and function.takes == "values" and self.is_source(parts[0][0]):
            return Apply(function=name, args=(self.source(*parts[0]),))
        args = tuple(self.term(text, at, depth + 1) for text, at in parts)
        if name in SETS:
            args = tuple(_as_set(t) for t in args)
        if function.takes == "values" and len(args) == 1 and not _is_set(args[0], name):
            self.bad(f"`{name}` takes the values of a source", f"write `{name}(TOOL./POINTER)`", start)
        return Apply(function=name, args=args, names=tuple(members), option=option)

    def option(self, name: str, part: tuple[str, int]) -> str:
        text, at = part
        quoted = re.fullmatch(r"\s*(?:\"([^\"]*)\"|'([^']*)')\s*", text)
        said = "" if quoted is None else quoted[1] or quoted[2] or ""
        if name == "day":
            try:
                zone_of(said, at)
            except ExpressionProblem as wrong:
                self.bad(wrong.message, wrong.fix or _OPTIONS[name], at)
        elif not OPTION.fullmatch(said):
            self.bad(f"`{text.strip()[:60]}` is no time", _OPTIONS[name], at)
        return said

    def source(self, text: str, start: int) -> Source:
        start += len(text) - len(text.lstrip())
        text = text.strip()
        where = _WHERE.search(text)
        found = self.names.source(text if where is None else text[: where.start()], self.path)
        if found is None:
            raise _ReportedError
        tool, pointer = found
        if where is None:
            return Source(tool=tool, pointer=pointer)
        scope: Scope = {**self.names.frozen(), "item": JSON, "result": JSON, "args": self.names.args_kind(tool)}
        expr = self.names.part(text[where.end() :], self.path, scope, start + where.end())
        if expr is None:
            raise _ReportedError
        return Source(tool=tool, pointer=pointer, where=expr)

    def is_source(self, text: str) -> bool:
        # `name./pointer` is never CEL, so an unknown tool is reported as such rather than as bad CEL.
        text = text.strip()
        return (
            split_source(text, self.names.tools) is not None
            or re.match(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*\./", text) is not None
        )


_OPTIONS: Final = {
    "after": 'write `after(order./placed, "14d")`',
    "before": 'write `before(order./due, "14d")`',
    "day": 'write `day(order./placed, "Europe/Paris")`',
}


def _as_set(term: Term) -> Term:
    """A source among sets is the set of its values; `*` or a filter cannot stand alone, so it is written `set(…)`."""
    if isinstance(term, Apply) and term.function == "identity":
        return Apply(function="set", args=term.args)
    return term


def _is_set(term: Term, function: str) -> bool:
    return function == "count" and isinstance(term, Apply) and (term.function in SETS or term.function == "set")


def _ends_at(text: str, opening: int) -> int:
    """Return the offset of the bracket that closes the one at `opening`; -1 where none does."""
    depth = 0
    for at, ch in _outside_quotes(text):
        if at < opening:
            continue
        if ch in _OPEN:
            depth += 1
        elif ch in _CLOSE:
            depth -= 1
            if depth == 0:
                return at
    return -1


def _split(text: str, start: int) -> Iterator[tuple[str, int]]:
    """Yield (part, its offset) between the commas outside brackets and quotes."""
    depth = begin = 0
    for at, ch in _outside_quotes(text):
        if ch in _OPEN:
            depth += 1
        elif ch in _CLOSE:
            depth -= 1
        elif ch == "," and depth == 0:
            yield text[begin:at], start + begin
            begin = at + 1
    yield text[begin:], start + begin


def _outside_quotes(text: str) -> Iterator[tuple[int, str]]:
    quote, at = "", 0
    while at < len(text):
        ch = text[at]
        if quote:
            if ch == "\\":
                at += 1
            elif ch == quote:
                quote = ""
        elif ch in "\"'":
            quote = ch
        else:
            yield at, ch
        at += 1
