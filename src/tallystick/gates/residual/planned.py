"""A call of a proposal, typed: what of it is known before it runs, and what it would change.

What hangs on a live result of another call of the proposal is dynamic: unknown now, and never guessed. Effect class,
targets and effect keys come from the contract by the very rules the view folds calls with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tallystick.contracts.types import Contract, Effect, Expr, Tool
from tallystick.gates.residual.refs import Ref, plain, refs_in
from tallystick.model.values import EntityRef
from tallystick.view import CallRecord, EffectRecord
from tallystick.view.keys import batch_items, effect_keys, effect_of, targets_of, typed_args


@dataclass(slots=True)
class Planned:
    """One call of the remainder.

    Attributes:
        tool: None where the contract does not know it.
        written: the arguments as closed: references and escapes as they stand.
        args: the arguments known now; those that hold a reference to another call are left out.
        dynamic: the arguments left out; typed: `args` with declared types applied.
        effect: fail closed: a write where a dynamic argument decides.
        keys: effect keys, one per batch item; empty where a dynamic argument is part of them, and for what is no write.
    """

    id: str
    name: str
    tool: Tool | None
    written: Mapping[str, Any]
    args: dict[str, Any]
    dynamic: frozenset[str]
    effect: Effect
    typed: Mapping[str, Any] = field(default_factory=dict)
    targets: tuple[EntityRef, ...] = ()
    keys: tuple[str, ...] = ()
    items: tuple[str, ...] | None = None

    @property
    def writes(self) -> bool:
        """Whether it changes state."""
        return self.effect == "write"

    def hangs_on(self, *exprs: Expr | None) -> bool:
        """Return whether an expression reads an argument that is not known now."""
        return bool(self.dynamic) and any(
            ref[0] == "args" and (len(ref) == 1 or ref[1] in self.dynamic)
            for e in exprs
            if e is not None
            for ref in e.refs
        )

    @property
    def open_kinds(self) -> frozenset[str]:
        """Kinds of entities it addresses although nobody knows yet which."""
        exprs = self.tool.target if self.tool is not None and self.dynamic else ()
        return frozenset(expr.kind for expr in exprs if self.hangs_on(expr.id))

    def effects(self) -> list[EffectRecord]:
        """Return the effects it would have, done, as the view would record them: one, or one per batch item."""
        if not self.writes:
            return []
        call = CallRecord(
            id=self.id, seq=0, digest="", tool=self.name, args=self.args, args_text=None, effect="write",
            targets=self.targets, effect_keys=self.keys, native_id=None, turn=None, wish="", idempotency_key=None,
            at=None,
        )  # fmt: skip
        if self.items is None:
            return [EffectRecord(self.keys[0] if self.keys else "", self.name, call, "done")]
        keys = self.keys or ("",) * len(self.items)
        return [
            EffectRecord(key, self.name, call, "done", None, item) for key, item in zip(keys, self.items, strict=True)
        ]


def planned(
    contract: Contract, name: str, tool: str, written: Mapping[str, Any], nodes: Mapping[str, object],
    look: Callable[[Ref], Any],
) -> Planned:  # fmt: skip
    """Return a call of a proposal, typed.

    Args:
        contract: the contract.
        name: the call's id.
        tool: its tool's name.
        written: its arguments, as closed.
        nodes: ids of the proposal's calls; a reference to anything else is looked up now.
        look: what a receipt or the task says at a reference.
    """
    known = contract.tools.get(tool)
    args: dict[str, Any] = {}
    dynamic = set()
    for arg, value in written.items():
        if any(ref.source in nodes for _, ref in refs_in(value)):
            dynamic.add(arg)
        else:
            args[arg] = plain(value, look)
    call = Planned(
        id=name, name=tool, tool=known, written=written, args=args, dynamic=frozenset(dynamic), effect="write"
    )  # fmt: skip
    if known is None:
        return call
    if not call.hangs_on(*(condition for condition, _ in known.effect_cases)):
        call.effect = effect_of(known, args)
    call.typed = typed_args(known, args)
    call.targets = targets_of(known, args)
    if call.writes and not _key_hangs(call, known):
        call.items = batch_items(known, args)
        call.keys = effect_keys(known, args, call.typed)
    return call


def _key_hangs(call: Planned, tool: Tool) -> bool:
    if tool.batch is not None and tool.batch.arg in call.dynamic:
        return True
    if batch_items(tool, call.args) is not None:
        return False
    if tool.once_per:
        return call.hangs_on(*tool.once_per)
    return bool(call.dynamic - {tool.idempotency_arg})
