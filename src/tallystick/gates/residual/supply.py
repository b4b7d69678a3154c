"""What the calls of a remainder give each other: evidence for a later write, and facts that a write makes void."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tallystick.contracts.types import Contract, Requirement, Tool
from tallystick.gates.residual.planned import Planned
from tallystick.gates.residual.reasons import no
from tallystick.gates.scope import entity_refs, scopes_of
from tallystick.model import jsontext
from tallystick.model.decision import Read, Reason
from tallystick.model.proposal import Call
from tallystick.model.residual import json_text
from tallystick.model.values import EntityRef, same
from tallystick.view import View

_PEOPLE: Final = ("approval.", "confirmation.")


def is_of_people(reason: Reason) -> bool:
    """Return whether only people can give what is missing."""
    return reason.code.startswith(_PEOPLE)


class Supply:
    """Which calls of the remainder would answer which read, and where they stand."""

    def __init__(self, calls: Sequence[Planned]) -> None:
        self._by_tool: dict[str, list[int]] = {}
        self._by_arg: dict[tuple[str, str, str], list[int]] = {}
        self._previews: dict[str, list[int]] = {}
        self._calls = calls
        self.at = {call.id: at for at, call in enumerate(calls)}
        self._first: dict[str, int] = {}
        for at, call in enumerate(calls):
            self._first.setdefault(call.name, at)
            if call.effect == "preview":
                self._previews.setdefault(call.name, []).append(at)
            elif call.effect == "read":
                self._by_tool.setdefault(call.name, []).append(at)
                for name, value in call.args.items():
                    if not isinstance(value, (dict, list)):
                        self._by_arg.setdefault((call.name, name, json_text(value)), []).append(at)

    def before(self, planned: Planned, rule: Requirement | None, reason: Reason, at: int) -> bool:
        """Return whether a call before position `at` would give what is missing."""
        if is_of_people(reason):
            return False
        if rule is not None and rule.kind == "previewed":
            return any(i < at and self._same(planned, i, rule.args_equal) for i in self._previews.get(planned.name, ()))
        return any(i < at for read in reason.reads for i in self._reads(read))

    def runs(self, tool: str, at: int) -> bool:
        """Return whether a call of a tool comes before position `at`."""
        return self._first.get(tool, at) < at

    def after(self, reason: Reason, at: int) -> bool:
        """Return whether only a call after position `at` would give it."""
        return any(i > at for read in reason.reads for i in self._reads(read))

    def _reads(self, read: Read) -> Iterator[int]:
        """Yield the calls that are this read, with the arguments it names."""
        args = jsontext.loads(read.args)
        if not args:
            yield from self._by_tool.get(read.tool, ())
            return
        first = next(iter(args))
        for at in self._by_arg.get((read.tool, first, json_text(args[first])), ()):
            mine = self._calls[at].args
            if all(name in mine and same(mine[name], value) for name, value in args.items()):
                yield at

    def _same(self, planned: Planned, at: int, names: Sequence[str]) -> bool:
        other = self._calls[at].args
        return all((n in other) == (n in planned.args) and same(other.get(n), planned.args.get(n)) for n in names)


class Known:
    """What a remainder leaves known of what it changes: a write voids what was read, its own answer comes after it."""

    def __init__(self) -> None:
        self.written: dict[EntityRef, int] = {}  # entity → position of the last write to it
        self._shown: dict[tuple[EntityRef, str], int] = {}
        self._listed: dict[tuple[str, str], int] = {}

    def after(self, call: Planned, at: int) -> None:
        """Take in what a call changes, and what its answer will show."""
        if call.writes:
            self.written.update(dict.fromkeys(call.targets, at))
        if call.tool is None or call.hangs_on(*(expr.id for expr in call.tool.target)):
            return
        for rule in call.tool.yields:
            about = [ref for ref in call.targets if ref.kind == rule.kind]
            for name in rule.fields:
                self._shown.update({(ref, name): at for ref in about})
                if not about:
                    self._listed[rule.kind, name] = at

    def void(self, view: View, contract: Contract, call: Planned, tool: Tool, put: Call) -> Iterator[Reason]:
        """Yield the facts a write asks for that an earlier write of the remainder voids, and nothing shows again."""
        said: set[tuple[EntityRef, str]] = set()
        for scope in scopes_of(view, contract, tool, put, call.typed):
            for alias, name in _facts_of(contract, tool):
                ref = scope.entities.get(alias)
                if ref is None or ref not in self.written or (ref, name) in said:
                    continue
                seen = max(self._shown.get((ref, name), -1), self._listed.get((ref.kind, name), -1))
                if seen < self.written[ref]:
                    said.add((ref, name))
                    text = f"`{call.id}` asks for {name} of {ref}, which an earlier write of the remainder makes void"
                    yield no("residual.dependency", text, f"a call between them that shows {name} of {ref}", call.id)


def _facts_of(contract: Contract, tool: Tool) -> list[tuple[str, str]]:
    """Return the facts that decide whether a call of a tool may run, whatever else holds: (alias, field)."""
    exprs = [rule.expr for rule in tool.requires if rule.kind == "fact" and rule.when is None]
    exprs.extend(rule.when for rule in contract.conditions if tool.name in rule.removes and rule.kind is not None)
    exprs.extend(expr.id for expr in tool.bind)
    return list(dict.fromkeys(pair for expr in exprs if expr is not None for pair in entity_refs(expr.refs)))
