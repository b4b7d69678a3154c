"""What the expressions of one call may read: its typed arguments, and the entities it names with their facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from tallystick.contracts.types import Contract, EntityExpr, Ref, Tool
from tallystick.errors import ExpressionError
from tallystick.model.proposal import Call
from tallystick.model.values import EntityRef
from tallystick.view import Talk, View
from tallystick.view.keys import id_text, typed_args

_NO_ENTITY: Final = frozenset({"args", "result", "preview", "item", "task", "now", "call", "talk"})


@dataclass(slots=True)
class Scope:
    """The names of one call. A batch has one scope per item, so that evidence about one item never serves another.

    Attributes:
        args: the arguments with declared types applied.
        entities: alias → the entity it stands for; facts are readable under the alias in `env`.
        unnamed: kinds of entities the call addresses but does not name, as far as the record tells.
    """

    view: View
    contract: Contract
    tool: Tool
    call: Call
    args: Mapping[str, Any]
    entities: dict[str, EntityRef] = field(default_factory=dict)
    env: dict[str, Any] = field(default_factory=dict)
    unnamed: set[str] = field(default_factory=set)

    def bind(self, expr: EntityExpr, item: int = 0, *, trusting: bool = False) -> None:
        """Name the entity of `expr` in this scope; for `each` the one of `item`.

        `trusting`: a fact that leads to it counts as last observed, even if a later write may have changed it.
        """
        named = named_by(expr, self.env) if trusting or self._reliable(expr) else ()
        ref = named[min(item, len(named) - 1)] if named else None
        if ref is None:
            self.unnamed.add(expr.kind)
            return
        self.entities[expr.alias] = ref
        self.env[expr.alias] = {name: fact.value for name, fact in self.view.facts(ref).items() if fact.problem is None}

    def _reliable(self, expr: EntityExpr) -> bool:
        """An entity reached through a fact is only as well known as that fact."""
        for alias, name in entity_refs(expr.id.refs):
            ref = self.entities.get(alias)
            fact = self.view.facts(ref).get(name) if ref is not None else None
            if ref is None or fact is None or fact.observed_seq < self.view.last_write(ref):
                return False
        return True


@lru_cache(maxsize=4_096)
def entity_refs(refs: tuple[Ref, ...]) -> tuple[tuple[str, str], ...]:
    """Return (alias, field) for every fact an expression reads."""
    return tuple((ref[0], ref[1]) for ref in refs if len(ref) >= 2 and ref[0] not in _NO_ENTITY)


def named_by(expr: EntityExpr, env: Mapping[str, Any]) -> tuple[EntityRef | None, ...]:
    """Return what an entity expression names, one per item; None for what cannot be an id or cannot be evaluated."""
    try:
        value = expr.id.evaluate(env)
    except ExpressionError:
        return (None,)
    if not expr.each:
        return (_entity(expr.kind, value),)
    if not isinstance(value, (list, tuple)):
        return (None,)
    return tuple(_entity(expr.kind, item) for item in value)


def _entity(kind: str, value: Any) -> EntityRef | None:
    text = id_text(value)
    return EntityRef(kind, text) if text is not None else None


def scopes_of(
    view: View, contract: Contract, tool: Tool, call: Call, typed: Mapping[str, Any] | None = None
) -> Iterator[Scope]:
    """Yield the scopes in which the requirements of `call` are judged: one, or one per item of a batch.

    `typed` is `typed_args(tool, call.args)`, where the caller has it already.
    """
    args = typed_args(tool, call.args) if typed is None else typed
    env = {"args": args, "task": view.task.bindings, "now": call.now, "talk": Talk(view)}
    declared = (*tool.target, *tool.bind)
    each = [expr for expr in declared if expr.each]
    items = max(len(named_by(expr, env)) for expr in each) if each else 1
    for item in range(max(items, 1)):
        scope = Scope(view, contract, tool, call, args, env=dict(env))
        for expr in declared:
            scope.bind(expr, item)
        yield scope


def scope_of(view: View, contract: Contract, tool: Tool, call: Call) -> Scope:
    """Return the scope of a call that is no batch (of a batch, that of its first item)."""
    return next(scopes_of(view, contract, tool, call))
