"""Ground: what of the reached state is fixed (B, K) and what a continuation may rest on (E).

Everything here has the support of a recorded event: a receipt, a host's typed event, the frozen task. An agent's words
support nothing; a replica's receipt supports nothing.
Source: residual completion, section 3.2, step 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tallystick.contracts.task import task_text
from tallystick.contracts.types import Contract, Task
from tallystick.gates.undone import WITHDRAWN
from tallystick.model import jsontext
from tallystick.model.residual import Binding, Entity, Evidence, Kept, json_text
from tallystick.model.values import EntityRef
from tallystick.view import EffectRecord, View
from tallystick.view.keys import id_text


@dataclass(frozen=True, kw_only=True, slots=True)
class Grounded:
    """What the record fixes: bindings (B), kept effects (K), entities and receipts (E), the user's messages."""

    bindings: tuple[Binding, ...] = ()
    kept: tuple[Kept, ...] = ()
    entities: tuple[Entity, ...] = ()
    receipts: tuple[Evidence, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def fixed(self) -> bool:
        """Whether anything real is fixed: an effect, a choice, or a task's input that names an entity seen."""
        real = {(e.kind, e.id) for e in self.entities}
        return bool(self.kept) or any(b.source != "task" or (b.kind, b.id) in real for b in self.bindings)


def ground(view: View, contract: Contract) -> Grounded:
    """Return what the record fixes. Deterministic, from the view alone."""
    entities = tuple(_entities(view))
    return Grounded(
        bindings=tuple(_bindings(view, contract)),
        kept=tuple(kept_effects(view)),
        entities=entities,
        receipts=tuple(
            Evidence(receipt=r.id, tool=r.call.tool, support=r.digest)
            for r in view.receipts
            if r.good and r.call is not None and view.index.receipt_by_id.get(r.id) is r
        ),
        words=tuple(view.digest_at(seq) or "" for seq, _ in view.heard),
    )


# ---------------------------------------------------------------- K


def kept_effects(view: View) -> Iterator[Kept]:
    """Yield the realised effects that stand, oldest first: seen by a live receipt, or settled by a principal."""
    for call in view.calls.values():
        for effect in view.effects_of_call(call.id):
            if effect.status in ("done", "partial") and not view.undone(effect):
                yield _kept(effect)


def _kept(effect: EffectRecord) -> Kept:
    call, receipt = effect.call, effect.receipt
    return Kept(
        tool=effect.tool,
        call=call.id,
        key=effect.key,
        entities=[[ref.kind, ref.id] for ref in call.targets],
        item=effect.item or "",
        receipt=receipt.id if receipt is not None else "",
        support=receipt.digest if receipt is not None else call.settled_by or call.digest,
    )


# ---------------------------------------------------------------- E


def _entities(view: View) -> Iterator[Entity]:
    for kind, ids in view.index.kinds.items():
        for ref in ids.values():
            newest = max(view.facts(ref).values(), key=lambda fact: fact.seq, default=None)
            yield Entity(kind=kind, id=ref.id, support=newest.digest if newest is not None else _shown_by(view, ref))


def _shown_by(view: View, ref: EntityRef) -> str:
    """Return the first good receipt that speaks of an entity; of one with no field known, none is the newest."""
    for tool in view.contract.tools:
        for receipt in view.receipts_about(tool, ref):
            if receipt.good:
                return receipt.digest
    return ""


# ---------------------------------------------------------------- B


def _bindings(view: View, contract: Contract) -> Iterator[Binding]:
    yield from _of_the_task(view, contract)
    yield from (binding for _, binding in newest_choices(view))


def newest_choices(view: View) -> list[tuple[int, Binding]]:
    """Return (seq, what the user chose or stated), oldest first; of one field of one entity, the newest word counts."""
    said: list[tuple[int, Binding]] = []
    for ref, choices in view.index.confirmed.items():
        for name, choice in choices.items():
            if not choice.body.guessed:
                binding = Binding(
                    kind=ref.kind, id=ref.id, name=name, value=choice.body.value, source="confirmation",
                    support=choice.digest,
                )  # fmt: skip
                said.append((choice.seq, binding))
    for seq, body in view.stated:
        if body.field != WITHDRAWN:
            kind, of = body.entity if len(body.entity) == 2 else ("", "")
            binding = Binding(
                kind=kind, id=of, name=body.field, value=body.value, source="statement",
                support=view.digest_at(seq) or "",
            )  # fmt: skip
            said.append((seq, binding))
    found: dict[tuple[str, ...], tuple[int, Binding]] = {}
    for seq, binding in sorted(said, key=lambda pair: pair[0]):
        # What is stated about no entity in particular may be true of several.
        key = (binding.kind, binding.id, binding.name) if binding.kind else ("", "", binding.name, binding.value)
        found[key] = (seq, binding)
    return sorted(found.values(), key=lambda pair: pair[0])


def _of_the_task(view: View, contract: Contract) -> Iterator[Binding]:
    kinds = _kinds_of_inputs(contract)
    for name, value in task_inputs(view.task).items():
        for item in value if isinstance(value, list) and name in kinds else (value,):
            stated = id_text(item)
            known = view.kinds_of(stated) if stated is not None and name not in kinds else ()
            kind = known[0].kind if len(known) == 1 else kinds.get(name, "")
            yield Binding(
                kind=kind if stated is not None else "",
                id=stated if kind and stated is not None else "",
                name=name,
                value=json_text(item),
                source="task",
                support=view.digest_at(1) or "",
            )


def task_inputs(task: Task) -> Mapping[str, Any]:
    """Return the task's inputs as JSON values: what `$from: task` points into."""
    stated: Mapping[str, Any] = jsontext.loads(task_text(task))["bindings"]
    return stated


def _kinds_of_inputs(contract: Contract) -> dict[str, str]:
    """Return input name → kind of the entity it names, as the task's own templates say."""
    found: dict[str, str] = {}
    for expr, each in (*((r.entity, r.each) for r in contract.owes), *((s.entity, None) for s in contract.answer)):
        if expr is None or len(expr.id.refs) != 1:
            continue
        ref = expr.id.refs[0]
        if ref == ("item",) and each is not None:
            found.setdefault(each, expr.kind)
        elif len(ref) == 2 and ref[0] == "task":
            found.setdefault(ref[1], expr.kind)
    return found
