"""(i) Allowed interfaces, arguments that fit, and a source for every one of them; a write says what it addresses.

Which entity, which arguments that something owed or kept depends on, which effect class: of a write these are known
before anything runs, or the write is not admitted. Everything else may be dynamic; so may an entity of which nothing is
fixed and which a call before it returns, and one that a read before it is to show is asked for again when it has run.
Source: residual completion, section 3.4, step 1 (i).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tallystick.contracts.arguments import validate_args
from tallystick.contracts.types import Contract, EntityExpr, Tool
from tallystick.gates.residual.planned import Planned
from tallystick.gates.residual.reasons import no
from tallystick.gates.residual.refs import literals_in, names_in, ref_of
from tallystick.gates.residual.sources import Sources
from tallystick.model.decision import Reason
from tallystick.model.pointer import join
from tallystick.model.residual import Residual
from tallystick.model.values import EntityRef

MAX_REASONS = 20
"""Most reasons of one kind about one call."""


def grounding(contract: Contract, residual: Residual, sources: Sources, calls: Sequence[Planned]) -> Iterator[Reason]:
    """Yield what of the calls is not allowed, does not fit, or comes from nowhere."""
    interfaces = frozenset(residual.interfaces)
    fixed = _Fixed(contract, residual)
    minted = _Minted(contract, residual, calls)
    verified = set(verified_entities(residual))
    checked = _Checked()
    for call in calls:
        if call.tool is None or call.name not in interfaces:
            yield no(
                "residual.grounding", f"`{call.id}`: `{call.name}` is none of the tools of the residual contract",
                f"one of those it lists: {_some(residual.interfaces)}", call.id,
            )  # fmt: skip
            continue
        yield from checked.misfits(call.tool, call)
        yield from _sourceless(sources, call.tool, call)
        if call.writes:
            yield from fixed.unidentified(call.tool, call, minted)
            for ref in dict.fromkeys(call.targets):
                if ref not in verified:
                    text = f"`{call.id}`: nothing has shown {ref}"
                    wanted = f"a receipt or a confirmation of {ref}, or a read of it before this call"
                    yield no("residual.grounding", text, wanted, call.id)
        elif call.effect == "read":  # it runs before; whether it really shows them is asked again before the write
            kinds = {rule.kind for rule in call.tool.yields}
            verified.update(ref for ref in call.targets if ref.kind in kinds)


def verified_entities(residual: Residual) -> frozenset[EntityRef]:
    """Return the entities a write may address: seen, chosen, addressed before, named by the task or what it owes."""
    pairs = [(e.kind, e.id) for e in residual.entities]
    pairs.extend((b.kind, b.id) for b in residual.bindings if b.kind and b.source != "statement")
    pairs.extend((kind, name) for kept in residual.kept for kind, name in kept.entities)
    pairs.extend((o.entity[0], o.entity[1]) for o in residual.owed if o.entity)
    pairs.extend((s.entity[0], s.entity[1]) for s in residual.effects if s.entity)
    return frozenset(EntityRef(kind, name) for kind, name in pairs)


def _sourceless(sources: Sources, tool: Tool, call: Planned) -> Iterator[Reason]:
    """Yield the literals, and the names of members, that nobody stated."""
    found = 0
    for arg, value in call.written.items():
        places = [p for p, literal in literals_in(value) if not sources.grounds(tool, arg, p, literal)]
        places.extend((*p, name) for p, name in names_in(value) if not sources.names(tool, arg, p, name))
        for place in places:
            if found == MAX_REASONS:
                return
            found += 1
            text = f"`{call.id}`: nothing recorded states the value at {join((arg, *place))}"
            wanted = "a reference to what says it, or a value that a receipt, a binding or the user states"
            yield no("residual.grounding", text, wanted, call.id)


def _some(names: Sequence[str]) -> str:
    more = ", …" if len(names) > MAX_REASONS else ""
    return ", ".join(names[:MAX_REASONS]) + more


class _Fixed:
    """Which arguments decide which effect a write is: those that name its target, and those that something fixes."""

    def __init__(self, contract: Contract, residual: Residual) -> None:
        self._contract = contract
        self._of_tool: dict[str, set[str]] = {}
        self._of_entity: dict[tuple[str, str], set[str]] = {}
        for entry in residual.effects:
            self._of_tool.setdefault(entry.tool, set()).update(name for name, _ in entry.args)
        for binding in residual.bindings:
            if binding.source != "task" and binding.name:
                self._of_entity.setdefault((binding.kind, binding.id), set()).add(binding.name)

    def unidentified(self, tool: Tool, call: Planned, minted: _Minted) -> Iterator[Reason]:
        """What decides which effect it is has to be known now: nobody can compare what is not."""
        if not call.dynamic:
            return
        exprs = [condition for condition, _ in tool.effect_cases]
        exprs.extend(entity.id for entity in tool.target if not minted.names(tool, call, entity))
        exprs.extend(rule.per[tool.name] for rule in self._contract.exclusive if tool.name in rule.per)
        named = [self._of_tool.get(tool.name), *(self._of_entity.get(ref) for ref in (("", ""), *call.targets))]
        if tool.batch is not None:
            named.append({tool.batch.arg})
        if call.hangs_on(*exprs) or any(names and not call.dynamic.isdisjoint(names) for names in named):
            hangs = ", ".join(sorted(call.dynamic))
            text = f"`{call.id}`: which effect it is hangs on {hangs}, known only when it runs"
            yield no("residual.grounding", text, "a value known now", call.id)


class _Minted:
    """Which entities a write may address by an id that a call before it will return.

    The id is what that call's `yields` say is one; and which entity of that kind it is decides nothing: the contract
    fixes none, no other write of the remainder names one, and the write can undo nothing.
    """

    def __init__(self, contract: Contract, residual: Residual, calls: Sequence[Planned]) -> None:
        self._calls = {call.id: call for call in calls}
        self._for_some = {entry.tool for entry in residual.effects if entry.entity}
        self._fixed = {b.kind for b in residual.bindings if b.kind}
        self._addressed = {ref.kind for call in calls if call.writes for ref in call.targets}
        done = {*(kept.tool for kept in residual.kept), *(call.name for call in calls if call.writes)}
        self._undoing = {n for name in done if name in contract.tools for n in contract.tools[name].undone_by}

    def names(self, tool: Tool, call: Planned, expr: EntityExpr) -> bool:
        """Return whether a target that is not known yet may be left to the call that returns its id."""
        if expr.each or len(expr.id.refs) != 1 or expr.id.source != ".".join(expr.id.refs[0]):
            return False
        ref = ref_of(call.written.get(expr.id.refs[0][-1]))
        source = self._calls.get(ref.source) if ref is not None else None
        if ref is None or source is None or source.tool is None:
            return False
        if tool.name in self._for_some or tool.name in self._undoing or expr.kind in self._fixed | self._addressed:
            return False
        return any(
            rule.kind == expr.kind and rule.id is not None and _is_at(ref.tokens, (*rule.at, *rule.id))
            for rule in source.tool.yields
        )


def _is_at(tokens: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether a pointer is one of those a pattern stands for; `*` is any item."""
    return len(tokens) == len(pattern) and all(
        p == t or (p == "*" and t.isdecimal()) for t, p in zip(tokens, pattern, strict=True)
    )


class _Checked:
    """Arguments checked by the tool's schema and declared types, apart from those that are not known yet."""

    def __init__(self) -> None:
        self._without: dict[tuple[str, frozenset[str]], Tool] = {}

    def misfits(self, tool: Tool, call: Planned) -> Iterator[Reason]:
        """Yield how a call's arguments do not fit its tool."""
        if call.dynamic:
            key = (call.name, call.dynamic)
            if key not in self._without:
                self._without[key] = _without(tool, call.dynamic)
            tool, args = self._without[key], {**call.args, **dict.fromkeys(call.dynamic)}
            problems = validate_args(tool, args)
        else:
            problems = validate_args(tool, call.args, call.typed)
        for problem in problems[:MAX_REASONS]:
            yield no(
                "residual.grounding", f"`{call.id}`: {problem.message}", problem.fix or "arguments that fit", call.id
            )


def _without(tool: Tool, names: frozenset[str]) -> Tool:
    """Return a tool whose arguments of these names may be anything: their live values are judged when they run."""
    schema = tool.args_schema
    if schema is not None and isinstance(schema.get("properties"), dict):
        free = {name: ({} if name in names else stated) for name, stated in schema["properties"].items()}
        schema = {**schema, "properties": free}
    return replace(tool, args={n: t for n, t in tool.args.items() if n not in names}, args_schema=schema)
