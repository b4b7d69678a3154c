"""(ii) Effects within S that preserve K and B: each is owed or allowed, on the entity and values that are fixed.

Read top to bottom, this is the rule: an effect newly discharges something owed, or the host allowed it; it addresses
what the contract fixes and nothing else of that kind; it states no other value than the one chosen; it undoes nothing
kept and nothing the remainder itself does; and at most one of tools that exclude each other takes effect.
Source: residual completion, section 3.4, step 1 (ii).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tallystick.contracts.types import Contract, Tool
from tallystick.gates.residual.coverage import Coverage
from tallystick.gates.residual.planned import Planned
from tallystick.gates.residual.reasons import no
from tallystick.model import jsontext
from tallystick.model.decision import Reason
from tallystick.model.residual import Admissible, Binding, Residual
from tallystick.model.values import EntityRef, same
from tallystick.view import View
from tallystick.view.keys import exclusion_values, id_text


def effects(
    view: View, contract: Contract, residual: Residual, calls: Sequence[Planned], found: Coverage
) -> Iterator[Reason]:
    """Yield which effects the residual contract does not admit."""
    entries = {(e.tool, e.obligation): e for e in residual.effects}
    undoing = _Undoing(contract, residual)
    excluding = _Excluding(view, contract)
    bound = _Bound(residual)
    for call in calls:
        if not call.writes or call.tool is None:
            continue
        used: list[Admissible] = []
        for effect, owed in found.effects.get(call.id, ()):
            mine = [e for name in owed if (e := entries.get((call.name, name))) is not None]
            allowed = entries.get((call.name, ""))
            if not mine and allowed is None:
                about = effect.item or ", ".join(map(str, call.targets)) or "nothing in particular"
                text = f"`{call.id}`: {call.name} for {about} is not owed, or was done already"
                yield no("residual.effect", text, "only effects that are still owed, or that the host allowed", call.id)
            used.extend(mine or ([allowed] if allowed is not None else []))
        yield from bound.broken(call.tool, call, used)
        yield from undoing.by(call)
        yield from excluding.by(call)


# ---------------------------------------------------------------- B


class _Bound:
    """The accepted choices: which entities of a kind were chosen, and which value of a field."""

    def __init__(self, residual: Residual) -> None:
        self._chosen: dict[str, set[EntityRef]] = {}
        self._values: dict[tuple[str, str], dict[str, list[Binding]]] = {}
        for binding in residual.bindings:
            if binding.kind and binding.source != "statement" and (not binding.name or binding.source == "task"):
                self._chosen.setdefault(binding.kind, set()).add(EntityRef(binding.kind, binding.id))
            if binding.name and binding.source != "task" and binding.value:
                about = self._values.setdefault((binding.kind, binding.id), {})
                about.setdefault(binding.name, []).append(binding)

    def broken(self, tool: Tool, call: Planned, used: Sequence[Admissible]) -> Iterator[Reason]:
        """Yield how a write addresses another entity than the one fixed, or states another value."""
        for entry in used:
            if entry.entity and EntityRef(*entry.entity) not in call.targets and call.targets:
                text = f"`{call.id}`: {call.name} is owed for {EntityRef(*entry.entity)}, not for {call.targets[0]}"
                yield no("residual.effect", text, "the entity that is fixed", call.id)
        fixed = {EntityRef(*entry.entity) for entry in used if entry.entity}
        named = {text for entry in used for _, value in entry.args for text in _ids(jsontext.loads(value))}
        for ref in dict.fromkeys(call.targets):
            chosen = self._chosen.get(ref.kind, set())
            free = not chosen and all(other.kind != ref.kind for other in fixed)
            if not free and ref not in fixed and ref not in chosen and ref.id not in named:
                text = f"`{call.id}`: {ref} is not the {ref.kind} that was chosen, or that it is owed for"
                yield no("residual.effect", text, "the entity that is fixed", call.id)
        for about in (("", ""), *dict.fromkeys(call.targets)):
            for name, stated in self._values.get((about[0], about[1]), {}).items():
                if name in call.args and not any(_agrees(tool, name, call.args[name], b.value) for b in stated):
                    text = f"`{call.id}`: `{name}` is not what the user chose"
                    yield no("residual.effect", text, "the value that was chosen, or a new choice by the user", call.id)


def _ids(value: Any) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value]:
        text = id_text(item)
        if text is not None:
            yield text


def _agrees(tool: Tool, name: str, given: Any, chosen: str) -> bool:
    """Compare an argument with a chosen value: as it is, or as the argument's declared type reads both."""
    value = jsontext.loads(chosen)
    if same(given, value):
        return True
    declared = tool.args.get(name)
    try:
        return declared is not None and declared.name != "json" and bool(declared.parse(given) == declared.parse(value))
    except ValueError:
        return False


# ---------------------------------------------------------------- K stays


class _Undoing:
    """What a later success of a tool unmakes: see `View.undone`. Of a call that names nothing, nobody knows what."""

    def __init__(self, contract: Contract, residual: Residual) -> None:
        self._tools = contract.tools
        self._about: dict[tuple[str, EntityRef], str] = {}  # undoing tool, entity → what it would unmake
        self._of_nothing: dict[str, str] = {}  # the same, of what addresses no entity
        self._of_any: dict[str, str] = {}  # the same, of anything
        for kept in residual.kept:
            self._add(kept.tool, tuple(EntityRef(*pair) for pair in kept.entities), f"call {kept.call}, which is kept")

    def _add(self, tool: str, targets: Sequence[EntityRef], what: str) -> None:
        known = self._tools.get(tool)
        for name in known.undone_by if known is not None else ():
            self._of_any.setdefault(name, what)
            if not targets:
                self._of_nothing.setdefault(name, what)
            for ref in targets:
                self._about.setdefault((name, ref), what)

    def by(self, call: Planned) -> Iterator[Reason]:
        """Yield what a call would undo, of what is kept and of what the remainder did before it."""
        undone = (self._of_nothing if call.targets else self._of_any).get(call.name)
        undone = undone or next((w for ref in call.targets if (w := self._about.get((call.name, ref)))), None)
        if undone is not None:
            text = f"`{call.id}`: {call.name} would undo {undone}"
            yield no("residual.effect", text, "a remainder that undoes nothing", call.id)
        self._add(call.name, call.targets, f"`{call.id}`, a call of the same remainder")


class _Excluding:
    """At most one of several tools takes effect per value, counting what took effect before: see `gates.act`."""

    def __init__(self, view: View, contract: Contract) -> None:
        self._view = view
        self._contract = contract
        self._taken: dict[tuple[str, str], str] = {}

    def by(self, call: Planned) -> Iterator[Reason]:
        """Yield which exclusion a call breaks."""
        if not self._contract.exclusive:
            return
        values = dict(exclusion_values(self._contract, call.name, call.args, call.typed))
        for rule in self._contract.exclusive:
            if call.name in rule.tools and rule.id not in values:
                text = f"`{call.id}`: its arguments do not tell what `{rule.id}` is counted per"
                yield no("residual.effect", text, "the arguments that tell", call.id)
        for name, value in values.items():
            taken = self._taken.get((name, value))
            for effect in self._view.exclusive(name, value):
                if taken is None and effect.status not in ("no_effect", "simulated") and not self._view.undone(effect):
                    taken = f"call {effect.call.id} of {effect.tool}"
            if taken is not None:
                yield no("residual.effect", f"`{call.id}`: `{name}` lets one of its tools take effect, and {taken} did",
                         "a remainder without it", call.id)  # fmt: skip
            self._taken[name, value] = f"`{call.id}`"
